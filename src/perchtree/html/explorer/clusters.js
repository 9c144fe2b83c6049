// The list of clusters: sorted, filtered, as long as it may be.
import { $, button, called, counted, element, grouped, inert, quoted, soon } from "./dom.js";
import { Rows } from "./rows.js";

const SORTS = [["size", "largest first"], ["small", "smallest first"], ["sure", "most confident first"], ["doubt", "least confident first"], ["number", "by number"], ["newest", "newest number first"]];

export class ClusterList {
  constructor(app, pane) {
    this.app = app;
    this.wanted = { sort: "size", least: 1, most: Infinity, q: "" };
    const change = soon(() => { this.app.table.clusters.skip = 0; this.reload(); }, 250);
    const number = (label, name, empty) => element("label", {}, `${label} `, element("input", {
      type: "number", min: "1", step: "1", class: "narrow", id: `filter-${name}`, "aria-label": `clusters of ${name === "least" ? "at least" : "at most"} so many records`,
      oninput: event => { this.wanted[name] = Number(event.target.value) || empty; change(); },
    }));
    this.sort = element("select", { id: "sort", onchange: () => this.sortBy(this.sort.value) },
      ...SORTS.map(([value, text]) => element("option", { value }, text)));
    const filter = element("input", {
      id: "filter", type: "search", placeholder: "with words …", "aria-label": "Only clusters with records that have these words",
      oninput: event => { this.wanted.q = event.target.value.trim(); change(); },
    });
    this.note = element("p", { class: "dim", role: "status", id: "listed" });
    pane.append(
      element("div", { class: "tools" }, element("label", {}, "Sort ", this.sort), filter, number("Records from", "least", 1), number("to", "most", Infinity)),
      this.note,
    );
    this.rows = new Rows(pane, 64, (skip, limit) => this.fetch(skip, limit), (cluster, place) => this.draw(cluster, place), "Clusters");
  }

  async fetch(skip, limit) {
    if (!this.app.how) return { total: 0, rows: [] };
    try {
      const found = await this.app.source.clusters(this.app.how, { ...this.wanted, skip, limit });
      this.note.textContent = this.told(found);
      return found;
    } catch (error) {
      this.app.failed(error);
      return { total: 0, rows: [] };
    }
  }

  told({ total, n_clusters: all, more }) {
    if (total === all) return counted(total, "cluster");
    return `${grouped(total)}${more ? " or more" : ""} of ${counted(all, "cluster")}`;
  }

  draw(cluster, place) {
    const firm = cluster.cohesion === null ? null : element("span", { class: "firm", title: "mean confidence of its records" }, `confidence ${cluster.cohesion.toFixed(2)}`);
    const row = button("", () => this.show(cluster, place), { class: "cluster" });
    row.append(...[
      element("span", { class: "head" }, element("i", { class: "swatch" }), element("b", {}, `#${cluster.number}`),
        element("span", {}, counted(cluster.size, "record")), firm),
      element("span", { class: "line" }, quoted(inert(cluster.words, 80) || called(cluster.exemplar, 120))),
      cluster.words ? element("span", { class: "line dim" }, "e.g. ", quoted(called(cluster.exemplar, 120))) : "",
    ]);
    row.querySelector("i").style.background = this.app.swatch(cluster.number);
    if (this.app.shownCluster === cluster.number) row.setAttribute("aria-current", "true");
    return element("div", {}, row);
  }

  // Shows a cluster, with ways to the ones before and after it in this list.
  async show(cluster, place) {
    const { app } = this;
    if (await app.showCluster(cluster.of)) app.details.walk(place, this.rows.total, step => this.step(place + step));
  }

  async step(place) {
    const { rows: [cluster] } = await this.fetch(place, 1);
    if (cluster) await this.show(cluster, place);
  }

  sortBy(sort) {
    this.wanted.sort = this.sort.value = sort;
    this.reload();
  }

  reload() {
    if (!$("table-view").hidden) this.app.table.show();
    return this.rows.clear();
  }

  refresh() {
    return this.rows.refresh();
  }
}
