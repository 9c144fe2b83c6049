// Search: a counted list of records, with their clusters; marks in the picture.
import { $, button, counted, element, grouped, say, soon } from "./dom.js";
import { asCsv, copy, download } from "./csv.js";
import { RECORD_ROW, recordRow } from "./records.js";
import { Rows } from "./rows.js";

export class Search {
  constructor(app, pane) {
    this.app = app;
    this.query = "";
    this.note = element("p", { id: "found", role: "status" }, "Type in the field above, or press /.");
    this.tools = element("div", { class: "tools", hidden: true },
      button("Copy as CSV", () => this.export("copy")), button("Download CSV", () => this.export("download")));
    pane.append(this.note, this.tools);
    this.rows = new Rows(pane, RECORD_ROW, (skip, limit) => this.fetch(skip, limit), record => recordRow(app, record, { withCluster: true }), "Records found");
    const typed = soon(() => this.run(), 180);
    $("search").addEventListener("input", typed);
    $("searching").addEventListener("submit", event => { event.preventDefault(); this.run(); this.focusFirst(); });
    $("search").addEventListener("keydown", event => {
      if (event.key === "Escape") { $("search").value = ""; this.run(); app.icicle.canvas.focus(); event.preventDefault(); event.stopPropagation(); }
      if (event.key === "ArrowDown") { this.focusFirst(); event.preventDefault(); }
    });
  }

  focusFirst() {
    this.rows.ready.then(() => this.rows.drawn.get(0)?.querySelector("button")?.focus());
  }

  async fetch(skip, limit) {
    const { app, query } = this;
    if (!query || !app.how) return { total: 0, rows: [] };
    try {
      const found = await app.source.search(query, app.how, skip, limit);
      if (query !== this.query) return { total: 0, rows: [] };
      this.tell(found);
      if (skip === 0) { app.icicle.hits = found.rows.map(r => r.position).filter(p => p !== null); app.icicle.request(); }
      return found;
    } catch (error) {
      app.failed(error);
      return { total: 0, rows: [] };
    }
  }

  tell({ total, more, searched, of }) {
    document.body.dataset.searches = Number(document.body.dataset.searches ?? 0) + 1;
    const n = `${counted(total, "record")}${more ? " and more" : ""} found`;
    const among = searched < of ? `, searching ${grouped(searched)} of ${counted(of, "record")}: the others are not in this page` : total ? "" : ` among all ${grouped(of)}`;
    this.note.textContent = (total ? n : searched < of ? "No record found" : "No record found") + among;
    this.tools.hidden = !total;
  }

  run() {
    const query = $("search").value.trim();
    if (query === this.query) return;
    this.query = query;
    if (!query) {
      this.note.textContent = "Type in the field above, or press /.";
      this.tools.hidden = true;
      this.app.icicle.hits = [];
      this.app.icicle.request();
    } else this.app.showPane("search");
    this.rows.clear();
  }

  refresh() {
    if (this.query) this.rows.refresh();
  }

  async export(how) {
    try {
      const records = await this.app.source.everyHit(this.query, this.app.how), text = asCsv(records);
      if (how === "copy") await copy(text); else download(text, "found.csv");
      say(`${counted(records.length, "record")} ${how === "copy" ? "copied" : "downloaded"}`);
    } catch (error) {
      say(error.message, true);
    }
  }
}
