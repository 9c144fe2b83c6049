"use strict";
(async () => {
const packed = Uint8Array.from(atob(document.getElementById("data").textContent), c => c.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
const data = await new Response(stream).json();
const { sizes, heights, ids, texts, words, mix } = data, classes = data.classes || [];
const said = data.said || [];
const n = sizes.length, parents = new Int32Array(n).fill(-1);
const children = Array.from({ length: n }, () => []);
for (let i = 1; i < n; i++) { parents[i] = data.pairs[(i - 1) >> 1]; children[parents[i]].push(i); }
const start = new Float64Array(n), level = new Int32Array(n);
for (let i = 0; i < n; i++) {
  let place = start[i];
  // The larger part on the left: what matters most is seen first.
  children[i].sort((a, b) => sizes[b] - sizes[a] || a - b);
  for (const child of children[i]) { start[child] = place; level[child] = level[i] + 1; place += sizes[child]; }
}
const $ = id => document.getElementById(id), canvas = $("tree"), pen = canvas.getContext("2d");
const ROW = 30, number = new Intl.NumberFormat("en");
let focus = 0, chosen = 0, hover = -1, view = { x: 0, w: sizes[0], y: 0 }, goal = view, moving = 0;
let hits = new Uint8Array(n), hitList = [], hitAt = -1, width = 0, height = 0, dark = false;

function leafText(i) { return (texts && texts[i]) || `point ${ids[i]}`; }
function firstLeaf(i) { while (children[i].length) i = children[i][0]; return i; }
function name(i) {
  if (!children[i].length) return leafText(i);
  if (words && words[i]) return words[i];
  if (i === 0) return "all points";
  if (texts) return leafText(firstLeaf(i));
  return mix && mix[i][1] > sizes[i] / 2 ? classes[mix[i][0]] : `${number.format(sizes[i])} points`;
}
// Nodes of a chain may all have the same name: it is shown once, at the top, where the next ones
// are right below it.
function repeats(i) { return i > 0 && children[i].length > 0 && name(i) === name(parents[i]); }
const marked = new Set(said.flatMap(pair => pair.slice(0, 2)));
function within(i, k) { return start[k] >= start[i] && start[k] < start[i] + sizes[i] && level[k] >= level[i]; }
function hueOf(k) { return (k * 137.508 + 20) % 360; }
function colour(i) {
  if (mix) {
    const pure = mix[i][1] / sizes[i];
    return `hsl(${hueOf(mix[i][0])} ${Math.round(12 + 58 * pure)}% ${dark ? 34 : 80 - 12 * pure}%)`;
  }
  const tall = heights[0] ? heights[i] / heights[0] : 0;
  return `hsl(${205 - 165 * tall} ${dark ? 32 : 52}% ${dark ? 26 + 12 * tall : 88 - 18 * tall}%)`;
}
function toX(at) { return (at - view.x) / view.w * width; }

function draw() {
  const style = getComputedStyle(document.documentElement);
  const front = style.getPropertyValue("--front"), hit = style.getPropertyValue("--hit");
  const back = style.getPropertyValue("--back"), accent = style.getPropertyValue("--accent");
  pen.fillStyle = back; pen.fillRect(0, 0, width, height);
  pen.font = "12.5px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"; pen.textBaseline = "middle";
  const waiting = [0];
  while (waiting.length) {
    const i = waiting.pop(), left = toX(start[i]), right = toX(start[i] + sizes[i]);
    const top = (level[i] - view.y) * ROW;
    if (right < 0 || left > width || right - left < .6 || top > height) continue;
    for (const child of children[i]) waiting.push(child);
    if (top + ROW < 0) continue;
    const x = Math.max(left, 0), w = Math.min(right, width) - x, gap = w > 3 ? 1 : 0;
    pen.fillStyle = hits[i] === 2 ? hit : colour(i);
    pen.fillRect(x, top, w - gap, ROW - 1);
    if (marked.has(i)) {
      pen.fillStyle = accent; pen.beginPath();
      pen.arc(x + w - gap - Math.min(7, w / 2), top + 7, 3, 0, 7); pen.fill();
    }
    if (hits[i] === 1) { pen.fillStyle = hit; pen.fillRect(x, top + ROW - 4, w - gap, 3); }
    if (i === chosen || i === hover) {
      pen.strokeStyle = i === chosen ? accent : front; pen.lineWidth = 2;
      pen.strokeRect(x + 1, top + 1, Math.max(1, w - gap - 2), ROW - 3);
    }
    if (w > 38) {
      pen.save(); pen.beginPath(); pen.rect(x + 5, top, w - 10, ROW); pen.clip();
      pen.fillStyle = hits[i] === 2 ? back : front;
      const count = sizes[i] > 1 ? number.format(sizes[i]) + "  " : "";
      const hidden = top >= ROW / 2 && repeats(i) && x === Math.max(toX(start[parents[i]]), 0);
      pen.fillText(count + (hidden ? "" : name(i)), x + 6, top + ROW / 2); pen.restore();
    }
  }
}
function moveTo(target) {
  goal = target; cancelAnimationFrame(moving);
  const from = { ...view }, begin = performance.now();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  (function step(now) {
    const t = calm ? 1 : Math.min(1, (now - begin) / 280), s = t * t * (3 - 2 * t);
    // Widths change by factors, not by differences.
    view.w = from.w * Math.pow(target.w / from.w, s);
    const share = from.w === target.w ? s : (from.w - view.w) / (from.w - target.w);
    view.x = from.x + (target.x - from.x) * share; view.y = from.y + (target.y - from.y) * s;
    draw();
    if (t < 1) moving = requestAnimationFrame(step); else { view = { ...target }; draw(); }
  })(begin);
}
function go(i, remember = true) {
  focus = chosen = i;
  moveTo({ x: start[i], w: sizes[i], y: Math.max(0, level[i] - 1) });
  showPath(); showPanel(i);
  if (remember) history.pushState({ node: i }, "", "#" + i);
}
function choose(i) {
  chosen = i; showPanel(i);
  const top = (level[i] - goal.y) * ROW;
  if (start[i] < goal.x || start[i] + sizes[i] > goal.x + goal.w || top < 0 || top + ROW > height) go(i);
  else draw();
}
function element(kind, text, parent) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}
function showPath() {
  const path = [];
  for (let i = focus; i >= 0; i = parents[i]) if (i === focus || !repeats(i)) path.push(i);
  if (path.length > 1 && name(path[1]) === name(focus)) path.splice(1, 1);
  const nav = $("path"); nav.replaceChildren();
  const shown = path.reverse(), cut = shown.length > 9;
  shown.forEach((i, k) => {
    if (cut && k > 1 && k < shown.length - 6) { if (k === 2) element("span", "…", nav); return; }
    if (k) element("span", "›", nav).className = "dim";
    const button = element("button", name(i), nav);
    button.title = `${number.format(sizes[i])} points`; button.dataset.node = i;
    button.onclick = () => go(i);
  });
}
function leavesBelow(i, most) {
  // The largest parts first, in turn, so that every part of a cluster has its say.
  const found = [], queue = [i];
  while (queue.length && found.length < most) {
    queue.sort((a, b) => sizes[b] - sizes[a]);
    const k = queue.shift();
    if (children[k].length) queue.push(...children[k]); else found.push(k);
    if (queue.length > 60) { while (queue.length && found.length < most) found.push(firstLeaf(queue.shift())); }
  }
  return found;
}
function showPanel(i) {
  const panel = $("panel"); panel.replaceChildren(); panel.scrollTop = 0;
  element("h2", name(i), panel);
  const list = element("dl", undefined, panel);
  const fact = (what, value) => { element("dt", what, list); element("dd", value, list); };
  fact("points", number.format(sizes[i]));
  fact("share of all", (100 * sizes[i] / sizes[0]).toPrecision(3) + " %");
  fact("height", heights[i]); fact("level", level[i]);
  if (!children[i].length) fact(sizes[i] > 1 ? "smallest id" : "id", ids[i]);
  if (children[i].length) fact("parts", children[i].map(c => number.format(sizes[c])).join(" + "));
  if (mix) {
    element("h3", "Classes", panel);
    const bars = element("ul", undefined, panel);
    let rest = sizes[i];
    for (let k = 0; k < mix[i].length; k += 2) {
      const [own, count] = [mix[i][k], mix[i][k + 1]]; rest -= count;
      bar(bars, classes[own], count, sizes[i], `hsl(${hueOf(own)} 60% 55%)`);
    }
    if (rest > 0) bar(bars, "others", rest, sizes[i], "gray");
  }
  showSaid(i, panel);
  element("h3", texts ? (children[i].length ? "Examples" : "Text") : "Points", panel);
  const some = element("ul", undefined, panel);
  for (const leaf of leavesBelow(i, 12)) {
    const item = element("li", undefined, some);
    element("bdi", leafText(leaf), item);  // text from right to left leaves the count in place
    if (sizes[leaf] > 1) item.append(`  (${number.format(sizes[leaf])})`);
  }
  document.body.dataset.chosen = i; document.body.dataset.focus = focus;
}
function showSaid(i, panel) {
  const own = said.filter(pair => within(i, pair[0]) || within(i, pair[1]));
  if (!own.length) return;
  element("h3", "Corrections", panel);
  const list = element("ul", undefined, panel);
  for (const [, , same, one, other] of own.slice(0, 12)) {
    const item = element("li", undefined, list);
    element("bdi", one, item);
    element("b", same ? " belongs with " : " does not belong with ", item);
    element("bdi", other, item);
  }
  if (own.length > 12) element("li", `and ${number.format(own.length - 12)} more`, list);
  element("p", "Clusters follow corrections; the tree does not.", panel).className = "dim";
}
function bar(list, text, count, total, fill) {
  const item = element("li", undefined, list); item.className = "bar";
  const part = element("b", undefined, element("i", undefined, item));
  part.style.width = 100 * count / total + "%"; part.style.background = fill;
  element("span", text, item).title = text;
  element("span", number.format(count), item).style.flex = "0 0 auto";
}
function at(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, row = Math.floor((event.clientY - box.top) / ROW + view.y);
  const place = view.x + x / width * view.w;
  let i = 0;
  while (level[i] < row) {
    const next = children[i].find(c => place >= start[c] && place < start[c] + sizes[c]);
    if (next === undefined) return -1;
    i = next;
  }
  return row < 0 ? -1 : i;
}
canvas.onclick = event => { const i = at(event); if (i >= 0) i === focus && i > 0 ? go(parents[i]) : go(i); };
canvas.onmousemove = event => {
  const i = at(event); if (i === hover) return;
  hover = i; canvas.title = i < 0 ? "" : `${number.format(sizes[i])}: ${name(i)}`; draw();
};
canvas.onmouseleave = () => { hover = -1; draw(); };
document.onkeydown = event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === $("search")) {
    if (event.key === "Escape") { $("search").value = ""; find(); canvas.focus(); event.preventDefault(); }
    if (event.key === "Enter") { nextHit(event.shiftKey ? -1 : 1); event.preventDefault(); }
    return;
  }
  if (event.target.tagName === "BUTTON" && event.key === "Enter") return;
  const up = parents[chosen], sibling = up < 0 ? [] : children[up];
  const actions = {
    ArrowUp: () => up >= 0 && choose(up),
    ArrowDown: () => children[chosen].length && choose(children[chosen][0]),
    ArrowLeft: () => sibling.length && choose(sibling[0]),
    ArrowRight: () => sibling.length && choose(sibling[sibling.length - 1]),
    Enter: () => go(chosen),
    Escape: () => go(parents[focus] < 0 ? 0 : parents[focus]),
    Backspace: () => go(parents[focus] < 0 ? 0 : parents[focus]),
    Home: () => go(0),
    "/": () => $("search").focus(),
  };
  if (actions[event.key]) { actions[event.key](); event.preventDefault(); }
};
function find() {
  const wanted = $("search").value.trim().toLowerCase();
  hits = new Uint8Array(n); hitList = []; hitAt = -1; let points = 0;
  if (wanted) {
    for (let i = 0; i < n; i++) {
      if (children[i].length || !leafText(i).toLowerCase().includes(wanted)) continue;
      hits[i] = 2; hitList.push(i); points += sizes[i];
      for (let k = parents[i]; k >= 0 && !hits[k]; k = parents[k]) hits[k] = 1;
    }
    hitList.sort((a, b) => start[a] - start[b]);
  }
  $("found").textContent = wanted ? (hitList.length ? `${number.format(points)} points found` : "nothing found") : "";
  draw();
}
function nextHit(step) {
  if (!hitList.length) return;
  hitAt = (hitAt + step + hitList.length) % hitList.length;
  const i = hitList[hitAt]; let around = i;
  while (parents[around] >= 0 && sizes[around] < 12) around = parents[around];
  go(around); chosen = i; showPanel(i); draw();
}
$("search").oninput = find;
window.onpopstate = event => go(event.state ? event.state.node : 0, false);
function fit() {
  const box = canvas.parentElement.getBoundingClientRect(), scale = devicePixelRatio || 1;
  width = Math.max(1, box.width); height = Math.max(1, box.height);
  canvas.width = width * scale; canvas.height = height * scale;
  pen.setTransform(scale, 0, 0, scale, 0, 0); draw();
}
const scheme = matchMedia("(prefers-color-scheme: dark)");
dark = scheme.matches; scheme.onchange = () => { dark = scheme.matches; draw(); };
new ResizeObserver(fit).observe(canvas.parentElement);
$("title").textContent = document.title = data.title;
$("summary").textContent = `${number.format(data.points)} points, ${number.format(n)} nodes shown`
  + (data.n_said ? `, ${number.format(data.n_said)} correction${data.n_said > 1 ? "s" : ""}` : "");
if (!texts) $("search").placeholder = "Search in point ids";
const wanted = Number(location.hash.slice(1));
fit(); go(Number.isInteger(wanted) && wanted > 0 && wanted < n ? wanted : 0, false);
document.body.dataset.ready = "yes";
})().catch(error => {
  document.getElementById("panel").textContent =
    `This page could not be shown (${error.message}). A current browser is needed.`;
});
