// The picture: each box a part of the tree, as wide as its number of points; the root on top.
import { $, called, grouped, hueOf, inert, isCalm, isDark, soon } from "./dom.js";
import { listenToPointer } from "./pointer.js";

const ROW = 30, LEAST = 2, NAMED = 70, SINGLE = 14, OVERLAP = 0.5, MOST_NAMES = 60, LEAST_OF_NAME = 3;
const FONT = "12.5px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";

export class Icicle {
  // `app` has source, how, colouring; it is told what is chosen and what is in focus.
  constructor(app) {
    this.app = app;
    this.canvas = $("tree");
    this.pen = this.canvas.getContext("2d", { alpha: false });
    this.view = { x: 0, w: 1, y: 0 };
    this.have = { left: 0, right: 0, smallest: Infinity, boxes: [], records: [], operation: -1 };
    this.names = new Map();
    this.hits = [];
    this.chosen = this.hovered = null;
    this.turn = 0;
    this.frame = 0;
    this.frames = 0;
    this.load = soon(() => this.fetch(), 60);
    this.loadNames = soon(() => this.fetchNames(), 90);
    this.settled = soon(() => app.path.follow(), 400);
    listenToPointer(this);
    new ResizeObserver(() => this.fit()).observe(this.canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    this.restyle();
    this.fit();
  }

  // Geometry

  fit() {
    const box = this.canvas.parentElement.getBoundingClientRect(), scale = devicePixelRatio || 1;
    this.width = Math.max(1, box.width);
    this.height = Math.max(1, box.height);
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.scale = scale;
    this.request();
    if (this.points) this.load();
  }

  restyle() {
    const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
    this.dark = isDark();
    this.colours = Object.fromEntries(["front", "back", "dim", "line", "accent", "hit", "empty"].map(name => [name, colour(`--${name}`)]));
    this.fills = new Map();
    this.request();
  }

  toX(position) {
    return (position - this.view.x) / this.view.w * this.width;
  }

  get smallest() {
    return Math.max(1, Math.floor(LEAST * this.view.w / this.width));
  }

  // Fetching: what is in view and somewhat beside it, down to what is wide enough to be seen.

  get isCovered() {
    const { have, view } = this;
    return have.left <= Math.max(0, view.x) && have.right >= Math.min(this.points, view.x + view.w)
      && have.smallest <= this.smallest && have.smallest * 3 >= this.smallest;
  }

  async fetch(anchor = null) {
    const turn = ++this.turn, { view, app } = this, how = app.how;
    const left = Math.max(0, Math.floor(view.x - OVERLAP * view.w));
    const right = Math.min(this.points, Math.ceil(view.x + (1 + OVERLAP) * view.w)), smallest = this.smallest;
    let found;
    try {
      found = anchor === null
        ? await app.source.boxes(left, right, smallest, how)
        : await app.source.boxes(left - anchor.position, right - anchor.position, smallest, how, anchor.first);
    } catch (error) {
      app.failed(error);
      return;
    }
    if (turn !== this.turn) return;
    if (anchor !== null) {
      const shift = found.left - left;
      this.view.x += shift;
      if (this.goal) { this.goal.x += shift; if (this.from) this.from.x += shift; }
    }
    const records = this.have.operation === found.operation && anchor === null ? this.have.records : [];
    this.have = {
      left: found.left, right: found.left + (right - left), smallest, boxes: found.boxes, records, operation: found.operation, how,
    };
    this.setPoints(found.points);
    app.drawnWith(found);
    this.keepChosen();
    this.request();
    this.loadNames();
    if (this.width / view.w >= SINGLE) this.fetchRecords(turn);
  }

  setPoints(points) {
    const whole = this.points !== undefined && this.view.x === 0 && this.view.w === this.points;
    this.points = points;
    if (whole) { this.view.w = points; if (this.goal) this.goal.w = points; }
  }

  async fetchRecords(turn) {
    const left = Math.max(0, Math.floor(this.view.x)), right = Math.min(this.points, Math.ceil(this.view.x + this.view.w));
    if (right - left > 500) return;
    const records = await this.app.source.recordsBetween(left, right, this.app.how).catch(() => []);
    if (turn !== this.turn) return;
    this.have.records = this.bounded(records);
    this.request();
  }

  // Single records as boxes, with boundaries of clusters around them: `edges` as boxes have them.
  bounded(records) {
    return records.map((record, i) => {
      const above = this.have.boxes.find(b => b.level === record.level - 1 && b.start <= record.position && record.position < b.start + b.size);
      const left = records[i - 1], right = records[i + 1];
      const edges = (left?.of !== record.of) | (right?.of !== record.of) << 1 | (!above || above.of !== record.of) << 2;
      return {
        start: record.position, size: 1, level: record.level, height: 0, cluster: record.cluster, of: record.of, edges, record, first: record.id, order: 0, main: null,
      };
    });
  }

  async fetchNames() {
    if (this.naming) return;
    const wanted = this.have.boxes.filter(box => {
      const left = Math.max(0, this.toX(box.start)), right = Math.min(this.width, this.toX(box.start + box.size));
      return right - left > NAMED && !this.names.has(nameKey(box));
    }).sort((a, b) => a.level - b.level || b.size - a.size).slice(0, MOST_NAMES);
    if (!wanted.length) return;
    this.naming = true;
    try {
      const found = await this.app.source.names(wanted);
      wanted.forEach((box, i) => this.names.set(nameKey(box), found[i]));
    } catch {
      return;
    } finally {
      this.naming = false;
    }
    if (this.names.size > 5000) this.names = new Map([...this.names].slice(-2500));
    this.request();
    this.loadNames();
  }

  // After a change: fetch anew, with what one looks at where it is.
  refresh() {
    const { chosen, view } = this;
    const visible = this.have.boxes.filter(b => b.start + b.size > view.x && b.start < view.x + view.w);
    const held = chosen && visible.find(b => b.first === chosen.first && b.order === chosen.order)
      ? chosen : visible.find(b => b.start >= view.x) ?? visible[0];
    if (!held || (view.x === 0 && view.w === this.points)) return this.fetch();
    return this.fetch({ first: held.first, position: held.start });
  }

  keepChosen() {
    if (!this.chosen) return;
    const same = this.have.boxes.find(b => b.first === this.chosen.first && b.order === this.chosen.order);
    if (same) this.chosen = same;
  }

  // Names: top levels show a record, because words that tell a tenth of all from the rest are rare
  // ones; so do boxes of a few records. A name that the box above has already is not repeated.

  nameOf(box) {
    if (box.record) return called(box.record, 200);
    const name = this.names.get(nameKey(box));
    if (!name) return "";
    if (box.size * 12 < this.points && name.words) return name.words;
    const exemplar = called(name.exemplar, 200);
    return exemplar && (box.size > 3 ? `e.g. ${exemplar}` : exemplar);
  }

  // Drawing

  request() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  fill(box) {
    const colouring = this.app.colouring;
    let hue = 0, part = 0, kind = "plain";
    if (colouring === "clusters" && box.cluster !== null) { kind = "cluster"; hue = Math.round(hueOf(box.cluster)); }
    if (colouring === "classes" && box.main) {
      const place = this.app.topClasses.get(box.main[0]);
      kind = place === undefined ? "other" : "class";
      hue = place === undefined ? 0 : place * 36 + 10;
      part = Math.round(4 * box.main[1] / box.size);
    }
    if (colouring === "heights") { kind = "height"; part = Math.round(12 * Math.sqrt(box.height / (this.top || 1))); }
    const key = `${kind} ${hue} ${part}`;
    if (!this.fills.has(key)) {
      this.fills.set(key, {
        plain: this.colours.empty, other: `hsl(0 0% ${this.dark ? 34 : 76}%)`,
        cluster: `hsl(${hue} ${this.dark ? "38% 32%" : "58% 82%"})`,
        class: `hsl(${hue} ${15 * part}% ${this.dark ? 36 : 82 - 3 * part}%)`,
        height: `hsl(${210 - 14 * part} ${this.dark ? 34 : 52}% ${this.dark ? 24 + part : 90 - 2 * part}%)`,
      }[kind]);
    }
    return this.fills.get(key);
  }

  draw() {
    const { pen, view, width, height, colours, scale } = this, lines = [], marks = [];
    this.frames++;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = colours.back;
    pen.fillRect(0, 0, width, height);
    if (!this.points) return;
    this.top = this.have.boxes[0]?.height ?? 1;
    const factor = width / view.w, labels = [];
    const drawBox = box => {
      const left = (box.start - view.x) * factor, right = left + box.size * factor, top = (box.level - view.y) * ROW;
      if (right < 0 || left > width || top > height || top + ROW < 0 || right - left < 1) return;
      const x = Math.max(left, 0), w = Math.min(right, width) - x, gap = w > 3 ? 1 : 0;
      pen.fillStyle = this.fill(box);
      pen.fillRect(x, top, w - gap, ROW - 1);
      if (box.edges && w > 1.5) lines.push([box, left, right, top]);
      if (w > 38) labels.push([box, x, w, top]);
      if (this.isSame(box, this.chosen) || this.isSame(box, this.hovered)) marks.push([box, x, w - gap, top]);
    };
    for (const box of this.have.boxes) drawBox(box);
    for (const single of this.singles) drawBox(single);
    this.drawBoundaries(lines);
    for (const [box, x, w, top] of marks) {
      pen.strokeStyle = this.isSame(box, this.chosen) ? colours.accent : colours.front;
      pen.lineWidth = 2.5;
      pen.strokeRect(x + 1.25, top + 1.25, Math.max(1, w - 2.5), ROW - 3.5);
    }
    this.drawHits(factor);
    this.drawLabels(labels);
    const isHidden = this.app.colouring === "clusters" && !lines.length && this.have.how === this.app.how && this.have.boxes.length > 0;
    if ($("small").hidden === isHidden) $("small").hidden = !isHidden;
  }

  isSame(box, other) {
    return other !== null && box.first === other.first && box.order === other.order;
  }

  // Where clusters begin, at their left and right ends, and on top of them.
  drawBoundaries(lines) {
    const { pen } = this;
    for (const [{ edges, cluster }, left, right, top] of lines) {
      const x = Math.max(left, 0), end = Math.min(right, this.width), isShown = cluster === this.app.shownCluster;
      const thick = isShown ? 4 : 2;
      pen.fillStyle = isShown ? this.colours.accent : this.colours.front;
      if (edges & 4) pen.fillRect(x, top - thick / 2, end - x, thick);
      if (edges & 1 && left >= 0 && right - left > 3) pen.fillRect(left - .4 * thick, top - thick / 2, .8 * thick, ROW);
      if (edges & 2 && right <= this.width && right - left > 3) pen.fillRect(right - .4 * thick, top - thick / 2, .8 * thick, ROW);
    }
  }

  drawHits(factor) {
    const { pen, view } = this;
    pen.fillStyle = this.colours.hit;
    for (const position of this.hits) {
      const x = (position - view.x) * factor;
      if (x + factor < 0 || x > this.width) continue;
      pen.fillRect(x, 0, Math.max(2, factor - 1), 6);
      const single = this.singles.find(record => record.start === position);
      if (!single) continue;
      pen.strokeStyle = this.colours.hit;
      pen.lineWidth = 3;
      pen.strokeRect(x + 1.5, (single.level - view.y) * ROW + 1.5, Math.max(1, factor - 4), ROW - 4);
    }
  }

  drawLabels(labels) {
    const { pen } = this, shown = new Map();
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.fillStyle = this.colours.front;
    labels.sort((a, b) => a[0].level - b[0].level);
    for (const [box, x, w, top] of labels) {
      const name = this.nameOf(box), above = shown.get(box.level - 1);
      let row = shown.get(box.level);
      if (!row) shown.set(box.level, row = []);
      const repeated = name && above?.some(([start, end, other]) => other === name && box.start >= start && box.start < end);
      if (name) row.push([box.start, box.start + box.size, name]);
      const isFirst = box.edges & 4 && box.edges & 1;
      const count = box.size > 1 ? `${grouped(box.size)}  ` : "";
      const number = isFirst && w > 60 ? `#${box.cluster}  ` : "";
      pen.fillText(this.shortened(box, number + count, repeated && !isFirst ? "" : name, Math.floor(w - 9)), x + 5, top + ROW / 2);
    }
  }

  // As much of a name as there is room for, after numbers, which are never cut. Measuring is slow: the
  // answer is kept with the box.
  shortened(box, numbers, name, room) {
    const known = box.label, text = numbers + name;
    if (known && known.text === text && known.room === room) return known.shown;
    let shown = text;
    if (text.length * 12 > room && this.pen.measureText(text).width > room) {
      let low = 0, high = Math.min(text.length, Math.ceil(room / 2));
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1;
      }
      shown = low >= numbers.length + LEAST_OF_NAME ? text.slice(0, low) + "…" : low >= numbers.trimEnd().length ? numbers : "";
    }
    box.label = { text, room, shown };
    return shown;
  }

  // Moving

  clamp(view) {
    const w = Math.min(this.points, Math.max(Math.min(4, this.points), view.w));
    return { w, x: Math.max(0, Math.min(this.points - w, view.x)), y: Math.max(0, Math.min(24, view.y)) };
  }

  jump(view) {
    this.goal = null;
    this.view = this.clamp(view);
    this.request();
    if (!this.isCovered) this.load();
  }

  moveTo(target) {
    const goal = this.goal = this.clamp(target), from = this.from = { ...this.view }, begin = performance.now();
    if (isCalm()) { this.jump(goal); return; }
    const step = now => {
      if (this.goal !== goal) return;
      const t = Math.min(1, Math.max(0, (now - begin) / 260)), s = t * t * (3 - 2 * t);
      // Widths change by factors, not by differences.
      const w = from.w * (goal.w / from.w) ** s;
      const part = from.w === goal.w ? s : (from.w - w) / (from.w - goal.w);
      this.view = { w, x: from.x + (goal.x - from.x) * part, y: from.y + (goal.y - from.y) * s };
      if (t < 1) { this.draw(); requestAnimationFrame(step); }
      else { this.jump(goal); this.load(); }
    };
    requestAnimationFrame(step);
  }

  show({ start, size, level }) {
    const margin = size === this.points ? 0 : Math.max(1, .04 * size);
    this.moveTo({ x: start - margin, w: size + 2 * margin, y: this.topFor(level) });
  }

  // A cluster, with something of what is beside it.
  showSpan(start, span) {
    const level = this.have.boxes.find(b => b.start >= start && b.start + b.size <= start + span)?.level ?? 0;
    const room = Math.max(span * .6, 2);
    this.moveTo({ x: start - room, w: span + 2 * room, y: this.topFor(level) });
    this.chosen = null;
  }

  // One record, marked, with others of its cluster.
  mark(position, span) {
    const w = Math.min(this.points, Math.max(24, span * 1.5));
    this.hits = [position];
    this.moveTo({ x: position - w / 2, w, y: 0 });
  }

  topFor(level) {
    return level + 3 < Math.floor(this.height / ROW) ? 0 : level - 2;
  }

  zoom(factor, at = this.width / 2) {
    const { view } = this, w = Math.max(Math.min(4, this.points), Math.min(this.points, view.w * factor));
    this.jump({ w, x: view.x + (view.w - w) * at / this.width, y: view.y });
    this.settled();
  }

  // What is where

  at(x, y) {
    const position = this.view.x + x / this.width * this.view.w, level = Math.floor(y / ROW + this.view.y);
    const inside = box => box.level === level && position >= box.start && position < box.start + box.size;
    const box = this.have.boxes.find(inside);
    if (box) return box;
    return this.singles.find(r => r.level === level && Math.floor(position) === r.start) ?? null;
  }

  // Single records, if there is room to draw them.
  get singles() {
    return this.width / this.view.w < SINGLE ? [] : this.have.records;
  }

  choose(box) {
    this.chosen = box;
    this.request();
    this.app.chose(box);
  }

  // The next box in a direction, for arrow keys.
  beside(key) {
    const { chosen } = this, boxes = [...this.have.boxes, ...this.singles];
    if (!chosen) return boxes.find(b => b.level === 0) ?? null;
    const middle = chosen.start + chosen.size / 2;
    const row = level => boxes.filter(b => b.level === level);
    if (key === "ArrowUp") return row(chosen.level - 1).find(b => b.start <= chosen.start && b.start + b.size >= chosen.start + chosen.size) ?? null;
    if (key === "ArrowDown") {
      const below = row(chosen.level + 1).filter(b => b.start >= chosen.start && b.start + b.size <= chosen.start + chosen.size);
      return below.sort((a, b) => b.size - a.size)[0] ?? null;
    }
    const others = row(chosen.level).filter(b => key === "ArrowLeft" ? b.start < chosen.start : b.start > chosen.start);
    return others.sort((a, b) => Math.abs(a.start + a.size / 2 - middle) - Math.abs(b.start + b.size / 2 - middle))[0] ?? null;
  }

  // How many rows a pixel is, for who drags the picture up; none if all rows are there.
  get rowsPerPixel() {
    const rows = 2 + this.have.boxes.reduce((most, b) => Math.max(most, b.level), 0);
    return rows * ROW > this.height ? 1 / ROW : 0;
  }

  hover(box, x = 0, y = 0) {
    const tip = $("tip");
    if (box === null) tip.hidden = true;
    else {
      const name = this.nameOf(box), cluster = box.cluster === null ? "several clusters" : `cluster ${box.cluster}`;
      tip.textContent = inert(`${grouped(box.size)} · ${cluster}${name ? " · " + name : ""}`, 160);
      tip.hidden = false;
      tip.style.transform = `translate(${Math.max(4, Math.min(x + 12, this.width - 330))}px, ${Math.min(y + 16, this.height - 40)}px)`;
    }
    if (box === this.hovered) return;
    this.hovered = box;
    this.request();
  }
}

function nameKey(box) {
  return `${box.first}.${box.order}`;
}
