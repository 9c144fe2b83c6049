// The list of clusters: sorted, filtered, as long as it may be.
import { button, called, counted, element, grouped, inert, quoted, soon } from "./dom.js";
import { Rows } from "./rows.js";

const SORTS = [["size", "largest first"], ["small", "smallest first"], ["doubt", "least sure first"], ["number", "by number"]];

export class ClusterList {
  constructor(app, pane) {
    this.app = app;
    this.wanted = { sort: "size", least: 1, most: Infinity, q: "" };
    const change = soon(() => this.reload(), 250);
    const number = (label, name, empty) => element("label", {}, `${label} `, element("input", {
      type: "number", min: "1", step: "1", class: "narrow", "aria-label": `${label} points`,
      oninput: event => { this.wanted[name] = Number(event.target.value) || empty; change(); },
    }));
    const sort = element("select", { id: "sort", onchange: event => { this.wanted.sort = event.target.value; this.reload(); } },
      ...SORTS.map(([value, text]) => element("option", { value }, text)));
    const filter = element("input", {
      id: "filter", type: "search", placeholder: "Clusters with …", "aria-label": "Only clusters with records that have these words",
      oninput: event => { this.wanted.q = event.target.value.trim(); change(); },
    });
    this.note = element("p", { class: "dim", role: "status", id: "listed" });
    pane.append(
      element("div", { class: "tools" }, element("label", {}, "Sort ", sort), filter, number("from", "least", 1), number("to", "most", Infinity)),
      this.note,
    );
    this.rows = new Rows(pane, 64, (skip, limit) => this.fetch(skip, limit), cluster => this.draw(cluster), "Clusters");
  }

  async fetch(skip, limit) {
    if (!this.app.how) return { total: 0, rows: [] };
    try {
      const found = await this.app.source.clusters(this.app.how, { ...this.wanted, skip, limit });
      const narrowed = found.total !== found.n_clusters;
      this.note.textContent = narrowed ? `${grouped(found.total)} of ${counted(found.n_clusters, "cluster")}` : counted(found.total, "cluster");
      return found;
    } catch (error) {
      this.app.failed(error);
      return { total: 0, rows: [] };
    }
  }

  draw(cluster) {
    const firm = cluster.cohesion === null ? null : element("span", { class: "firm", title: "mean confidence" }, cluster.cohesion.toFixed(2));
    const row = button("", () => this.app.showCluster(cluster.of), { class: "cluster" });
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

  reload() {
    return this.rows.clear();
  }

  refresh() {
    return this.rows.refresh();
  }
}
