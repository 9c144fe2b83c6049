// What a cluster, a box or a record is: facts, keywords, exemplar, classes, changes, members.
import { button, called, counted, element, grouped, inert, keepingFocus, quoted, say, share, short } from "./dom.js";
import { asCsv, copy, download } from "./csv.js";
import { describeEvent } from "./events.js";
import { RECORD_ROW, recordRow } from "./records.js";
import { Rows } from "./rows.js";

const MOST_BARS = 6, MOST_COPIED = 100_000, SAMPLED = 500;

export class Details {
  constructor(app, pane) {
    this.app = app;
    this.pane = pane;
    this.turn = 0;
    this.shown = null;
    this.above = element("div");  // how one came here
    this.pane.append(element("p", { class: "dim" }, "Choose a box, a cluster or a record to see what is in it."));
  }

  // With `keep` what is there is brought up to date, and stays where it is.
  async cluster(of, keep = false) {
    const { app } = this, turn = ++this.turn;
    let found;
    try {
      found = await app.source.cluster(of, app.how);
    } catch (error) {
      if (keep && error.status === 404) return this.gone();
      app.failed(error);
      return null;
    }
    if (turn !== this.turn) return null;
    this.shown = { kind: "cluster", of: found.of, number: found.number, start: found.start, size: found.span };
    const title = element("h2", {}, element("i", { class: "swatch" }), `Cluster ${found.number}`);
    title.firstChild.style.background = app.swatch(found.number);
    this.head(keep, title, [
      ["records", grouped(found.size)], ["share of all", share(found.size, app.points)],
      ["mean confidence", found.cohesion === null ? "not in this page" : found.cohesion.toFixed(2)],
    ], found, element("div", { class: "tools" },
      button("Show in the tree", () => app.showSpan(found)),
      button("Copy as CSV", () => this.export(found, "copy")), button("Download CSV", () => this.export(found, "download"))));
    this.said(found.said);
    this.changes(found.changes);
    this.members(keep, `Members`, (skip, limit) => app.source.members(found.of, app.how, skip, limit));
    return found;
  }

  async box(box, keep = false) {
    const { app } = this, turn = ++this.turn;
    const found = await app.source.box(box).catch(error => { app.failed(error); return null; });
    if (turn !== this.turn || !found) return;
    this.shown = { kind: "box", first: box.first, order: box.order };
    this.head(keep, element("h2", {}, found.size === app.points ? "All records" : `A part of the tree`), [
      ["records", grouped(found.size)], ["share of all", share(found.size, app.points)], ["height", short(found.height)],
    ], found, element("div", { class: "tools" }, button("Show in the tree", () => app.icicle.show(found))));
    this.top.append(element("p", { class: "dim" }, "It has parts of several clusters: those below the thick lines in the picture."));
    this.members(keep, "Records", (skip, limit) => app.source.boxMembers(box, app.how, skip, limit));
  }

  head(keep, title, facts, { words, exemplar, classes, size }, tools) {
    const list = element("dl");
    for (const [what, value] of facts) list.append(element("dt", {}, what), element("dd", {}, value));
    const top = element("div", { class: "facts-of" }, title, list, tools);
    if (words) top.append(element("h3", {}, "Keywords"), element("p", { class: "words" }, quoted(words, 300)));
    if (exemplar && !exemplar.missing) top.append(element("h3", {}, "Exemplar"), element("p", { class: "exemplar" }, quoted(called(exemplar, 600)),
      exemplar.key !== null ? element("span", { class: "dim" }, " ", quoted(exemplar.key, 80)) : null));
    if (classes?.length) top.append(element("h3", {}, classes.reduce((sum, c) => sum + c.size, 0) < size && size > SAMPLED ? "Classes (of a sample)" : "Classes"), this.bars(classes));
    if (keep && this.top) keepingFocus(this.top, () => { this.top.replaceWith(top); return top; });
    else {
      this.rows?.end();
      this.rows = null;
      this.above.replaceChildren();
      this.pane.replaceChildren(this.above, top);
      this.pane.scrollTop = 0;
    }
    this.top = top;
  }

  // The one record that was looked for, in full.
  record(record, isDrawn) {
    const { key, confidence } = record, kind = record.class;
    const facts = [kind === null || kind === undefined ? "" : ` class ${inert(kind, 60)} ·`, confidence === null ? "" : ` confidence ${confidence.toFixed(2)} ·`];
    this.above.append(element("div", { class: "notice", id: "found-record" }, element("b", {}, "Record ", quoted(key ?? "", 100)),
      element("p", {}, quoted(called(record, 4000))), element("span", { class: "dim" }, ...facts,
        isDrawn ? " marked in orange in the picture" : " newer than the picture: it is not drawn yet")));
  }

  // Ways to the clusters before and after this one in the list that it was chosen from.
  walk(place, total, step) {
    this.above.prepend(element("div", { class: "tools walk" },
      button("‹ Previous", () => step(-1), { id: "walk-back", disabled: place === 0 }), element("span", { class: "dim" }, `${grouped(place + 1)} of ${grouped(total)} in the list`),
      button("Next ›", () => step(1), { id: "walk-on", disabled: place + 1 >= total })));
  }

  bars(classes) {
    const list = element("ul", { class: "bars" }), total = classes.reduce((sum, c) => sum + c.size, 0);
    const bar = (name, size, colour) => {
      const part = element("b");
      part.style.width = `${100 * size / total}%`;
      if (colour) part.style.background = colour;
      list.append(element("li", {}, element("i", {}, part), element("span", { class: "name" }, quoted(name, 60)), element("span", {}, grouped(size))));
    };
    for (const { name, number, size } of classes.slice(0, MOST_BARS)) bar(name, size, this.app.classColour(number));
    const rest = classes.slice(MOST_BARS);
    if (rest.length) bar(counted(rest.length, "other class").replace(/classs$/, "classes"), rest.reduce((sum, c) => sum + c.size, 0));
    return list;
  }

  said(said) {
    if (!said?.length) return;
    const list = element("ul", { class: "plain" });
    for (const { kind, a, b } of said.slice(0, 12)) {
      const item = element("li", {}, quoted(called(a, 120)), element("b", {}, kind === "together" ? " belongs with " : " does not belong with "), quoted(called(b, 120)));
      if (this.app.canWrite) item.append(" ", button("Take back", () => this.app.correct("neither", a, b)));
      list.append(item);
    }
    if (said.length > 12) list.append(element("li", {}, `and ${grouped(said.length - 12)} more`));
    this.top.append(element("h3", {}, "Corrections"), list);
  }

  changes(events) {
    if (!events?.length) return;
    const list = element("ul", { class: "plain" });
    for (const event of events.slice(0, 8)) list.append(describeEvent(this.app, event));
    this.top.append(element("h3", {}, "What changed"), list);
  }

  members(keep, title, fetchPage) {
    const safely = async (skip, limit) => {
      try {
        return await fetchPage(skip, limit);
      } catch (error) {
        this.app.failed(error);
        return { total: 0, rows: [] };
      }
    };
    if (keep && this.rows) { this.rows.fetchPage = safely; this.rows.refresh(); return; }
    this.pane.append(element("h3", { class: "members" }, title));
    this.rows = new Rows(this.pane, RECORD_ROW, safely, record => recordRow(this.app, record), title, { scrolls: true });
  }

  gone() {
    this.above.replaceChildren(element("p", { class: "notice" }, "This cluster is gone: its records were removed."));
    this.shown = null;
  }

  // Show the same again, after a change. Whoever reads the list stays at the same record.
  async refresh() {
    const { shown, rows } = this, scrolled = rows?.scrolled ?? 0;
    if (shown?.kind === "cluster") await this.cluster(shown.of, true);
    if (shown?.kind === "box") await this.box(shown, true);
    if (scrolled > 0 && rows === this.rows) rows.scrolled = scrolled;
  }

  async export(cluster, how) {
    const { app } = this, records = [];
    try {
      while (records.length < Math.min(cluster.size, MOST_COPIED)) {
        const { rows } = await app.source.members(cluster.of, app.how, records.length, 1000);
        if (!rows.length) break;
        records.push(...rows);
      }
      const there = records.filter(record => !record.missing), text = asCsv(there);
      if (how === "copy") await copy(text); else download(text, `cluster-${cluster.number}.csv`);
      const done = how === "copy" ? "copied" : "downloaded";
      say(there.length < cluster.size ? `${grouped(there.length)} of ${counted(cluster.size, "record")} ${done}: the others are not in this page`
        : `${counted(there.length, "record")} ${done}`);
    } catch (error) {
      say(inert(error.message, 300), true);
    }
  }
}
