// A long list of which only the visible rows are drawn, and only their pages fetched.
import { element, keepingFocus } from "./dom.js";

const PAGE = 50, SPARE = 6;

export class Rows {
  // `fetchPage(skip, limit)` gives { total, rows }; `draw(row, place)` an element. The rows scroll by
  // themselves, or with everything in `holder` if that scrolls.
  constructor(holder, height, fetchPage, draw, label, { scrolls = false } = {}) {
    this.height = height;
    this.fetchPage = fetchPage;
    this.draw = draw;
    this.space = element("div", { class: "space", role: "list", "aria-label": label });
    this.holder = scrolls ? holder : element("div", { class: "rows" }, this.space);
    holder.append(scrolls ? this.space : this.holder);
    this.scrolls = scrolls;
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.holder.addEventListener("scroll", () => this.request(), { passive: true, signal });
    this.space.addEventListener("keydown", event => this.move(event), { signal });
    this.watcher = new ResizeObserver(() => this.request());
    this.watcher.observe(this.holder);
    this.clear();
  }

  // Other rows take the place of these.
  end() {
    this.stop.abort();
    this.watcher.disconnect();
    this.space.remove();
    this.turn++;
  }

  // How far one has scrolled below the top of the list.
  get scrolled() {
    return this.holder.scrollTop - (this.scrolls ? this.space.offsetTop : 0);
  }

  set scrolled(top) {
    this.holder.scrollTop = top + (this.scrolls ? this.space.offsetTop : 0);
  }

  clear() {
    this.pages = new Map();
    this.asked = new Set();
    this.drawn = new Map();
    this.total = 0;
    this.turn = (this.turn ?? 0) + 1;
    this.space.replaceChildren();
    this.space.style.height = "0";
    if (!this.scrolls) this.holder.scrollTop = 0;
    this.ready = this.load(0);
    return this.ready;
  }

  // Fetch the visible rows anew, and leave everything where it is meanwhile.
  async refresh() {
    const turn = this.turn = this.turn + 1;
    const [first, last] = this.visible();
    const pages = new Map();
    let total = this.total;
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(first, last - 1) / PAGE); page++) {
      const found = await this.fetchPage(page * PAGE, PAGE);
      if (turn !== this.turn) return;
      pages.set(page, found.rows);
      total = found.total;
    }
    this.pages = pages;
    this.asked = new Set(pages.keys());
    this.drawn.clear();
    this.setTotal(total);
    const held = document.activeElement?.closest(".row"), place = this.space.contains(held) ? Number(held.dataset.place) : -1;
    if (place < 0) { this.replace(); return; }
    keepingFocus(held, () => { this.replace(); return this.drawn.get(place) ?? held; });
  }

  replace() {
    this.space.replaceChildren();
    this.render();
  }

  setTotal(total) {
    this.total = total;
    this.space.style.height = `${Math.min(total * this.height, 15_000_000)}px`;
  }

  async load(page) {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    const turn = this.turn;
    try {
      const found = await this.fetchPage(page * PAGE, PAGE);
      if (turn !== this.turn) return;
      this.pages.set(page, found.rows);
      this.setTotal(found.total);
      this.render();
    } catch (error) {
      if (turn === this.turn) this.asked.delete(page);
      throw error;
    }
  }

  get scale() {  // browsers end at some millions of pixels: very long lists scroll faster
    return Math.max(1, this.total * this.height / 15_000_000);
  }

  visible() {
    const top = Math.max(0, this.scrolled) * this.scale;
    const first = Math.max(0, Math.floor(top / this.height) - SPARE);
    const last = Math.ceil((top + this.holder.clientHeight) / this.height) + SPARE;
    return [Math.min(first, Math.max(0, this.total - 1)), Math.min(this.total, last)];
  }

  request() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.render(); });
  }

  render() {
    const [first, last] = this.visible();
    for (const [place, item] of this.drawn) {
      if (place < first || place >= last) {
        if (item.contains(document.activeElement)) continue;
        item.remove();
        this.drawn.delete(place);
      }
    }
    for (let place = first; place < last; place++) {
      const rows = this.pages.get(Math.floor(place / PAGE));
      if (!rows) { this.load(Math.floor(place / PAGE)).catch(() => {}); continue; }
      const row = rows[place % PAGE];
      if (!row || this.drawn.has(place)) continue;
      const item = this.draw(row, place);
      item.classList.add("row");
      item.setAttribute("role", "listitem");
      item.setAttribute("aria-setsize", this.total);
      item.setAttribute("aria-posinset", place + 1);
      item.dataset.place = place;
      this.drawn.set(place, item);
      this.space.append(item);
    }
    const shift = this.scale > 1 ? Math.max(0, this.scrolled) * (1 - this.scale) : 0;
    for (const [place, item] of this.drawn) item.style.top = `${place * this.height + shift}px`;
  }

  // Arrow keys go from row to row.
  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const item = event.target.closest(".row");
    if (!step || !item || event.target.matches("input[type=text]")) return;
    event.preventDefault();
    event.stopPropagation();
    const place = Math.max(0, Math.min(this.total - 1, Number(item.dataset.place) + step));
    const top = place * this.height / this.scale, bottom = this.holder.clientHeight - this.height;
    if (top < this.scrolled) this.scrolled = top;
    else if (top > this.scrolled + bottom) this.scrolled = top - bottom;
    this.render();
    const kind = event.target.matches("input") ? "input" : "button";
    this.drawn.get(place)?.querySelector(kind)?.focus({ preventScroll: true });
  }
}
