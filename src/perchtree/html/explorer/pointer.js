// The picture by mouse, pen and fingers: a click opens a box, all else moves the picture.

export function listenToPointer(icicle) {
  const { canvas } = icicle, fingers = new Map();
  let down = null, apart = 0;
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    if (fingers.size === 1) down = { x: event.clientX, y: event.clientY, view: { ...icicle.view }, moved: false };
    else if (fingers.size === 2) { apart = distance([...fingers.values()]); down.moved = true; }
  });
  canvas.addEventListener("pointermove", event => {
    const box = canvas.getBoundingClientRect();
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      const now = distance([...fingers.values()]), [a, b] = fingers.values();
      icicle.zoom(apart / now, (a.clientX + b.clientX) / 2 - box.left);
      apart = now;
    } else if (down && fingers.size === 1) {
      const dx = event.clientX - down.x, dy = event.clientY - down.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) down.moved = true;
      if (down.moved) icicle.jump({ w: down.view.w, x: down.view.x - dx / icicle.width * down.view.w, y: down.view.y - dy * icicle.rowsPerPixel });
    } else icicle.hover(icicle.at(event.clientX - box.left, event.clientY - box.top), event.clientX - box.left, event.clientY - box.top);
  });
  const up = event => {
    const was = down, box = canvas.getBoundingClientRect();
    fingers.delete(event.pointerId);
    if (fingers.size) return;
    down = null;
    if (was?.moved) icicle.settled();
    if (event.type === "pointerup" && was && !was.moved) {
      const found = icicle.at(event.clientX - box.left, event.clientY - box.top);
      if (found) { icicle.choose(found); icicle.app.path.open(found); }
    }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => icicle.hover(null));
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      icicle.jump({ ...icicle.view, x: icicle.view.x + (event.deltaX || event.deltaY) / icicle.width * icicle.view.w });
      icicle.settled();
    } else icicle.zoom(1.0015 ** Math.max(-240, Math.min(240, event.deltaY)), event.clientX - box.left);
  }, { passive: false });
}

function distance([a, b]) {
  return Math.max(10, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY));
}
