// The same as the picture, as a table: the parts of one box, the largest first.
import { $, button, called, counted, element, grouped, inert, quoted, share, short } from "./dom.js";

const MOST_PARTS = 100;

export class TableView {
  constructor(app) {
    this.app = app;
    this.view = $("table-view");
    this.turn = 0;
  }

  async show(focus) {
    const { app } = this, turn = ++this.turn;
    if (!focus) return;
    const right = focus.start + focus.size, smallest = Math.max(1, Math.floor(focus.size / 4000));
    let found, boxes;
    try {
      found = await app.source.boxes(focus.start, right, smallest, app.how);
      boxes = found.boxes.filter(b => b.level === focus.level + 1 && b.start >= focus.start && b.start + b.size <= right)
        .sort((a, b) => b.size - a.size);
      const names = await app.source.names(boxes.slice(0, MOST_PARTS));
      boxes = boxes.slice(0, MOST_PARTS).map((box, i) => ({ ...box, ...names[i] }));
    } catch (error) {
      app.failed(error);
      return;
    }
    if (turn !== this.turn) return;
    const body = element("tbody"), told = boxes.reduce((sum, b) => sum + b.size, 0);
    for (const box of boxes) {
      const name = box.size * 12 < app.points && box.words ? box.words : called(box.exemplar, 160);
      const open = button("", () => app.focusOn(box), { class: "link" });
      open.append(quoted(name || counted(box.size, "record"), 160));
      const cluster = box.cluster === null ? "several" : button(`#${box.cluster}`, () => app.showCluster(box.of), { class: "chip" });
      body.append(element("tr", {}, element("th", { scope: "row" }, open), element("td", {}, grouped(box.size)),
        element("td", {}, share(box.size, focus.size)), element("td", {}, short(box.height)), element("td", {}, cluster)));
    }
    const rest = focus.size - told, head = ["Part", "Records", "Share", "Height", "Cluster"];
    this.view.replaceChildren(
      element("table", {}, element("caption", {}, `Parts of ${focus.level ? "this part" : "the whole tree"}: ${counted(focus.size, "record")}, level ${focus.level}`),
        element("thead", {}, element("tr", {}, ...head.map(text => element("th", { scope: "col" }, text)))), body),
      rest > 0 ? element("p", { class: "dim" }, `and ${counted(rest, "record")} in smaller parts or alone: the list beside has all of them`) : "",
      focus.level ? button("Up one level", () => app.up()) : "");
    if (inert(document.activeElement?.id) === "table-view") this.view.focus();
  }
}
