// Rows of records, and those that are selected: to copy, download, compare or correct.
import { $, button, called, counted, element, inert, quoted, say, soon } from "./dom.js";
import { asCsv, copy, download } from "./csv.js";
import { compared, marked } from "./words.js";

export class Selection {
  constructor(app) {
    this.app = app;
    this.chosen = new Map();
  }

  has(record) {
    return this.chosen.has(record.id);
  }

  toggle(record, isChosen) {
    if (isChosen) this.chosen.set(record.id, record); else this.chosen.delete(record.id);
    this.show();
  }

  clear() {
    this.chosen.clear();
    for (const box of document.querySelectorAll("input.pick")) box.checked = false;
    this.show();
  }

  show() {
    const bar = $("selection"), records = [...this.chosen.values()], { app } = this;
    bar.hidden = records.length === 0;
    bar.replaceChildren();
    if (!records.length) return;
    bar.append(element("b", {}, `${counted(records.length, "record")} selected`),
      button("Copy as CSV", () => this.copy()), button("Download CSV", () => download(asCsv(records), "records.csv")));
    if (app.canWrite) {
      if (records.length === 2) bar.append(button("Compare", () => this.compare(records)),
        button("Same", () => app.correct("together", ...records)), button("Not the same", () => app.correct("apart", ...records)));
      bar.append(button("Remove", () => app.remove(records), { class: "danger" }));
    } else if (records.length === 2) bar.append(button("Compare", () => this.compare(records)));
    bar.append(button("Clear", () => this.clear()));
    if (!app.source.isLive && records.length === 2) bar.append(element("span", { class: "dim" },
      "This page is a file and cannot keep whether they are the same: ", element("code", {}, "perch correct"), " can, and the page of ", element("code", {}, "perch serve"), "."));
    if (app.canWrite && records.length === 1) bar.append(element("span", { class: "dim" }, "select a second one to say whether they are the same"));
  }

  async copy() {
    try {
      await copy(asCsv([...this.chosen.values()]));
      say(`${counted(this.chosen.size, "record")} copied`);
    } catch (error) {
      say(error.message, true);
    }
  }

  compare([a, b]) {
    const dialog = $("dialog"), [left, right] = compared(called(a, 4000), called(b, 4000));
    const side = (record, pieces) => element("div", { class: "side" },
      element("h3", {}, quoted(record.key ?? "", 100)), element("p", {}, marked(pieces)), element("p", { class: "dim" }, `cluster ${record.cluster}`));
    dialog.replaceChildren(element("h2", { id: "dialog-title" }, "Two records"),
      element("div", { class: "pair" }, side(a, left), side(b, right)),
      element("form", { method: "dialog", class: "tools" }, ...(this.app.canWrite
        ? [element("button", { value: "together" }, "Same"), element("button", { value: "apart" }, "Not the same")] : []),
      element("button", { value: "" }, "Close")));
    dialog.addEventListener("close", () => { if (dialog.returnValue) this.app.correct(dialog.returnValue, a, b); }, { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  }
}

export const RECORD_ROW = 72;

// A row: a box to select it, its text, key, cluster and confidence.
export function recordRow(app, record, { withCluster = false } = {}) {
  if (record.missing) return element("div", {}, element("span", { class: "dim" }, "a record that is not in this page"));
  const box = element("input", {
    type: "checkbox", class: "pick", checked: app.selection.has(record), "aria-label": `select ${called(record, 60)}`,
    onchange: event => app.selection.toggle(record, event.target.checked),
  });
  const name = button("", () => app.showRecord(record), { class: "record", title: called(record, 2000) });
  name.append(quoted(called(record, 300)));
  const facts = element("span", { class: "facts dim" }, quoted(record.key ?? "", 60));
  if (record.class !== null && record.class !== undefined) facts.append(" · class ", quoted(record.class, 40));
  if (record.confidence !== null) facts.append(` · confidence ${record.confidence.toFixed(2)}`);
  const side = element("span", { class: "side" });
  if (withCluster && record.cluster !== null) {
    const chip = button(`#${record.cluster}`, () => app.showCluster(record.of ?? record.id), { class: "chip", title: "show this cluster" });
    chip.style.borderColor = app.swatch(record.cluster);
    side.append(chip);
  }
  return element("div", { class: "entry" }, box, element("span", { class: "what" }, name, facts), side);
}
