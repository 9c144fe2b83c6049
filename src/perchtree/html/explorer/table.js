// The same as the list and the picture, as tables: all clusters, or the parts of one box.
import { $, button, called, counted, element, grouped, quoted, share, short } from "./dom.js";
import { ClusterTable } from "./clustertable.js";

const MOST_PARTS = 100;
const HEAD = ["Part", "Records", "Share", "Height", "Cluster"];

export class TableView {
  constructor(app) {
    this.app = app;
    this.view = $("table-view");
    this.kind = "clusters";
    this.clusters = new ClusterTable(app);
    this.turn = 0;
  }

  async show(focus = this.app.path.focus) {
    const turn = ++this.turn;
    if (!focus) return;
    let parts;
    try {
      parts = await (this.kind === "clusters" ? this.clusters.parts() : this.parts(focus));
    } catch (error) {
      this.app.failed(error);
      return;
    }
    if (turn !== this.turn) return;
    const kinds = [["clusters", "Clusters"], ["parts", "Parts of the tree"]].map(([kind, text]) =>
      button(text, () => { this.kind = kind; this.show(); }, { id: `table-${kind}`, "aria-pressed": String(kind === this.kind) }));
    const focused = document.activeElement?.id;
    this.view.replaceChildren(element("div", { class: "tools", role: "group", "aria-label": "What the table shows" }, ...kinds), ...parts);
    if (focused && document.activeElement?.id !== focused) ($(focused) ?? this.view).focus({ preventScroll: true });
  }

  // The parts of a box, the largest first.
  async parts(focus) {
    const { app } = this, right = focus.start + focus.size;
    const found = await app.source.boxes(focus.start, right, Math.max(1, Math.floor(focus.size / 4000)), app.how);
    const boxes = found.boxes.filter(b => b.level === focus.level + 1 && b.start >= focus.start && b.start + b.size <= right)
      .sort((a, b) => b.size - a.size).slice(0, MOST_PARTS);
    const names = await app.source.names(boxes), rest = focus.size - boxes.reduce((sum, b) => sum + b.size, 0);
    return [
      element("table", {}, element("caption", {}, `Parts of ${focus.level ? "this part" : "the whole tree"}: ${counted(focus.size, "record")}, level ${focus.level}`),
        element("thead", {}, element("tr", {}, ...HEAD.map(text => element("th", { scope: "col" }, text)))),
        element("tbody", {}, ...boxes.map((box, i) => this.row(box, names[i], focus)))),
      rest > 0 ? element("p", { class: "dim" }, `and ${counted(rest, "record")} in smaller parts or alone: `, button("Details", () => { app.details.box(focus); app.showPane("details"); }, { class: "link" }), " lists all of them") : "",
      focus.level ? button("Up one level", () => app.path.up(), { id: "table-up" }) : "",
    ];
  }

  row(box, named, focus) {
    const { app } = this, name = box.size * 12 < app.points && named.words ? named.words : called(named.exemplar, 160);
    const open = button("", () => app.path.focusOn(box), { class: "link" });
    open.append(quoted(name || counted(box.size, "record"), 160));
    const cluster = box.cluster === null ? "several" : button(`#${box.cluster}`, () => app.showCluster(box.of), { class: "chip" });
    return element("tr", {}, element("th", { scope: "row" }, open), element("td", {}, grouped(box.size)),
      element("td", {}, share(box.size, focus.size)), element("td", {}, short(box.height)), element("td", {}, cluster));
  }
}
