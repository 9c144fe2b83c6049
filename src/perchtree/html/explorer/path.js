// Where one is: the boxes from the whole tree down to the one in focus, also kept in the address.
import { $, button, counted, element, inert, keepingFocus } from "./dom.js";

const MOST_SHOWN = 7, IN_VIEW = 0.8;

export class Path {
  constructor(app) {
    this.app = app;
    this.focus = null;
  }

  open(box) {
    const { focus } = this;
    if (focus && box.first === focus.first && box.order === focus.order && box.level > 0) return this.up();
    return this.focusOn(box, false);
  }

  focusOn(box, choose = true) {
    const { app } = this;
    if (choose) { app.icicle.chosen = box; app.chose(box); }
    app.icicle.show(box);
    this.set(box);
    this.remember();
  }

  // Another focus; the picture stays.
  set(box) {
    this.focus = box;
    document.body.dataset.focus = `${box.first}.${box.order}`;
    if (!$("table-view").hidden) this.app.table.show(box);
    return this.show();
  }

  async up() {
    const path = await this.app.source.path(this.focus.first, this.focus.order), above = path.at(this.focus.order > 0 ? -2 : -1) ?? path[0];
    if (above) this.focusOn(above.cluster === undefined ? { ...above, cluster: null } : above);
  }

  async home() {
    const [root] = await this.app.source.path(this.focus?.first ?? 0, 1);
    if (root) this.focusOn({ ...root, cluster: null });
  }

  // The smallest box that has all of a cluster.
  async around({ of, start, span }) {
    const path = await this.app.source.path(of, 1).catch(() => []);
    const found = path.filter(box => box.start <= start && box.start + box.size >= start + span).at(-1) ?? path[0];
    if (found) await this.set({ ...found, cluster: null });
  }

  // After the picture was moved by hand: the smallest box that fills it.
  follow() {
    const { view, have } = this.app.icicle;
    const fills = box => Math.min(box.start + box.size, view.x + view.w) - Math.max(box.start, view.x) >= IN_VIEW * view.w;
    const found = have.boxes.filter(fills).sort((a, b) => b.level - a.level)[0];
    if (found && (found.first !== this.focus?.first || found.order !== this.focus?.order)) this.set(found);
  }

  // After a change: the box may have grown, or be gone; then what is left around its first record.
  async refresh() {
    if (!this.focus) return;
    const around = await this.app.source.path(this.focus.first, Math.max(1, this.focus.order)).catch(() => null);
    const found = around?.at(-1) ?? this.app.icicle.have.boxes.find(b => b.level === 0);
    if (!found) return;
    this.focus = { ...found, cluster: null };
    await this.show();  // boxes above it may have grown, too
  }

  async show() {
    const { focus, app } = this;
    if (!focus) return;
    const path = await app.source.path(focus.first, Math.max(1, focus.order)).catch(() => []);
    const named = await app.source.names(path).catch(() => path.map(() => ({})));
    if (focus !== this.focus) return;
    const parts = [];
    path.forEach((box, i) => {
      app.icicle.names.set(`${box.first}.${box.order}`, named[i]);
      const name = i ? app.icicle.nameOf(box) || counted(box.size, "record") : "all records";
      // A chain of one name is shown once, by its last box.
      if (parts.length && parts.at(-1).name === name) parts.pop();
      parts.push({ box, name });
    });
    const shown = parts.length > MOST_SHOWN ? [parts[0], null, ...parts.slice(2 - MOST_SHOWN)] : parts;
    const made = shown.flatMap((part, i) => {
      const arrow = i ? [element("span", { class: "dim", "aria-hidden": "true" }, "›")] : [];
      if (!part) return [...arrow, element("span", { class: "dim" }, "…")];
      const step = button("", () => this.focusOn({ ...part.box, cluster: null }), { title: `${inert(part.name, 200)} (${counted(part.box.size, "record")})` });
      step.append(element("bdi", {}, inert(part.name, 60)));
      if (i === shown.length - 1) step.setAttribute("aria-current", "true");
      return [...arrow, step];
    });
    keepingFocus($("path"), () => { $("path").replaceChildren(...made); return $("path"); });
  }

  // The address has what is shown, by numbers: no texts, no keys, no token.

  fromAddress() {
    const found = new URLSearchParams(location.hash.slice(1));
    const [first, order] = (found.get("box") ?? "").split(".").map(Number);
    return {
      how: this.app.choosing.parsed(found.get("by"), Number(found.get("value"))),
      box: Number.isInteger(first) && Number.isInteger(order) && found.has("box") ? { first, order } : null,
      cluster: /^\d+$/.test(found.get("cluster") ?? "") ? Number(found.get("cluster")) : null,
    };
  }

  remember() {
    const { how, details: { shown } } = this.app, parts = new URLSearchParams({ by: how.by, value: String(how.value) });
    if (this.focus && this.focus.level > 0) parts.set("box", `${this.focus.first}.${this.focus.order}`);
    if (shown?.kind === "cluster") parts.set("cluster", String(shown.of));
    if (`#${parts}` !== location.hash) history.pushState(null, "", `#${parts}`);
  }

  async restore() {
    const { app } = this, { how, box, cluster } = this.fromAddress(), wanted = how ?? app.choosing.usual;
    if (wanted.by !== app.how.by || wanted.value !== app.how.value) await app.choosing.set(wanted, false);
    const path = await app.source.path(box?.first ?? app.icicle.have.boxes[0]?.first ?? 0, box?.order ?? 1).catch(() => []);
    const found = box ? path.at(-1) : path[0], isOther = this.focus?.first !== found?.first || this.focus?.order !== found?.order;
    if (found && (isOther || !box)) app.icicle.show(found);
    if (found) this.set({ ...found, cluster: null });
    if (cluster !== null && app.details.shown?.of !== cluster) await app.inspect(cluster);
  }
}
