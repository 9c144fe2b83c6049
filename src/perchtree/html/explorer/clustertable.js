// All clusters as a table, page by page, in the order and with the filter of the list beside it.
import { button, called, counted, element, grouped, quoted, say } from "./dom.js";
import { asTable, download } from "./csv.js";

const PER_PAGE = 50, MOST_TOLD = 1000;
const COLUMNS = [["Cluster", "number", "newest"], ["Records", "size", "small"], ["Confidence", "sure", "doubt"], ["Keywords"], ["A typical record"]];
const FALLING = ["newest", "size", "sure"];

export class ClusterTable {
  constructor(app) {
    this.app = app;
    this.skip = 0;
  }

  async parts() {
    const { app } = this, { wanted } = app.list;
    const fetch = skip => app.source.clusters(app.how, { ...wanted, skip, limit: PER_PAGE });
    let found = await fetch(this.skip);
    if (!found.rows.length && this.skip) found = await fetch(this.skip = 0);  // there are fewer now
    const body = element("tbody", {}, ...found.rows.map(row => this.row(row)));
    const last = this.skip + found.rows.length, go = by => { this.skip += by; return app.table.show(); };
    const told = `${grouped(Math.min(this.skip + 1, last))} to ${grouped(last)} of ${app.list.told(found)}`;
    return [
      element("table", { class: "wide" }, element("caption", { role: "status" }, told), element("thead", {}, element("tr", {}, ...COLUMNS.map(c => this.heading(...c)))), body),
      element("div", { class: "tools" },
        button("Previous", () => go(-PER_PAGE), { id: "table-before", disabled: this.skip === 0 }), button("Next", () => go(PER_PAGE), { id: "table-after", disabled: last >= found.total }),
        button(found.total > MOST_TOLD ? `Download the first ${grouped(MOST_TOLD)} as CSV` : "Download CSV", () => this.download(), { id: "table-download" })),
    ];
  }

  heading(name, sort, other) {
    if (!sort) return element("th", { scope: "col" }, name);
    const { list } = this.app, now = list.wanted.sort, mine = [sort, other].includes(now);
    const press = () => { this.skip = 0; list.sortBy(now === sort ? other : sort); };
    return element("th", { scope: "col", "aria-sort": mine ? (FALLING.includes(now) ? "descending" : "ascending") : "none" },
      button(name + (mine ? (FALLING.includes(now) ? " ▾" : " ▴") : ""), press, { class: "link", id: `sort-${sort}` }));
  }

  row(cluster) {
    const { app } = this;
    const chip = button(`#${cluster.number}`, () => app.showCluster(cluster.of), { class: "chip", title: "show this cluster" });
    chip.style.borderColor = app.swatch(cluster.number);
    return element("tr", {}, element("th", { scope: "row" }, chip), element("td", {}, grouped(cluster.size)), element("td", {}, cluster.cohesion?.toFixed(2) ?? ""),
      element("td", { class: "prose" }, quoted(cluster.words, 120)), element("td", { class: "prose" }, quoted(called(cluster.exemplar, 200))));
  }

  async download() {
    const { app } = this;
    try {
      const { rows } = await app.source.clusters(app.how, { ...app.list.wanted, skip: 0, limit: MOST_TOLD });
      download(asTable(["cluster", "records", "confidence", "keywords", "exemplar_key", "exemplar_text"],
        rows.map(c => [c.number, c.size, c.cohesion, c.words, c.exemplar?.key, c.exemplar?.text])), "clusters.csv");
      say(`${counted(rows.length, "cluster")} downloaded`);
    } catch (error) {
      app.failed(error);
    }
  }
}
