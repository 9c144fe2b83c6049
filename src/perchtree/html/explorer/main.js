// The explorer: one page for a tree in a file and for one that a service keeps.
import { $, button, counted, element, grouped, hueOf, inert, isDark, keepingFocus, say } from "./dom.js";
import { Choosing } from "./choosing.js";
import { ClusterList } from "./clusters.js";
import { correct, remove, showCorrections } from "./corrections.js";
import { Details } from "./details.js";
import { askForToken, help } from "./dialogs.js";
import { Events } from "./events.js";
import { Following, firstInfo } from "./following.js";
import { Icicle } from "./icicle.js";
import { LiveSource } from "./live.js";
import { openOffline } from "./offline.js";
import { Path } from "./path.js";
import { Questions } from "./questions.js";
import { Search } from "./search.js";
import { Selection } from "./records.js";
import { listenToKeys } from "./shortcuts.js";
import { TableView } from "./table.js";

const CLASS_COLOURS = 10, OLD = 5;

class Explorer {
  constructor(source) {
    this.source = source;
    this.colouring = "clusters";
    this.topClasses = new Map();
    this.shownCluster = null;
  }

  async start() {
    const { source } = this;
    if (source.isLive) source.askForToken = isWrong => askForToken(source, isWrong);
    this.choosing = new Choosing(this);
    this.path = new Path(this);
    this.following = new Following(this);
    this.selection = new Selection(this);
    this.icicle = new Icicle(this);
    this.know(await firstInfo(source));
    this.choosing.how = this.path.fromAddress().how ?? this.choosing.usual;
    this.panes();
    this.choosing.listen();
    this.colours();
    this.table = new TableView(this);
    this.questions = new Questions(this);
    this.views();
    listenToKeys(this);
    $("help-button").addEventListener("click", help);
    $("keys").textContent = "Click a box to open it; drag or wheel to move. ";
    if (this.points) await this.begin(); else $("counted").textContent = "There are no records yet.";
    $("waiting").hidden = true;
    if (source.isLive) this.following.watch();
    addEventListener("popstate", () => this.path.restore());
    document.body.dataset.ready = "yes";
  }

  async begin() {
    this.icicle.points = this.points;
    this.icicle.view = { x: 0, w: this.points, y: 0 };
    await this.icicle.fetch();
    requestAnimationFrame(() => { document.body.dataset.drawn ??= String(Math.round(performance.now())); });
    this.list.reload();
    await this.path.restore();
  }

  get how() {
    return this.choosing.how;
  }

  // What the source has told about itself.
  know(info) {
    this.info = info;
    this.points = info.points;
    this.canWrite = Boolean(info.writable);
    const title = inert(info.title || "perchtree", 200);
    document.title = title;
    $("title").textContent = title;
    const parts = [counted(info.points, "record")];
    // Of a service the number of corrections is a button, which lists them.
    if (info.corrections) {
      const text = counted(info.corrections, "correction");
      parts.push(this.source.isLive ? button(text, () => showCorrections(this), { class: "link", id: "corrections" }) : text);
    }
    if (info.records < info.points) parts.push(`texts of ${grouped(info.records)} in this page`);
    if (this.source.isLive) parts.push(this.canWrite ? "live" : "live, read only");
    if (info.version !== null && info.version < info.operation && info.age > OLD) parts.push(`picture of ${ago(info.age)} ago, a newer one follows`);
    const summary = element("span", {}, ...parts.flatMap((part, i) => i ? [" · ", part] : [part]));
    if (summary.textContent !== $("summary").textContent) keepingFocus($("summary"), () => { $("summary").replaceChildren(...summary.childNodes); return $("summary"); });
    this.topClasses = new Map((info.classes ?? []).length ? this.largestClasses() : []);
  }

  failed(error) {
    if (error?.name === "AbortError") return;
    say(inert(error?.message ?? error, 300), true);
  }

  // Colours. Of many classes the largest ones have colours of their own, the others are grey.

  colours() {
    const colour = $("colour"), kinds = [["clusters", "clusters"], ...(this.topClasses.size ? [["classes", "classes"]] : []), ["heights", "height"]];
    colour.replaceChildren(...kinds.map(([value, text]) => element("option", { value }, text)));
    colour.addEventListener("change", () => { this.colouring = colour.value; this.icicle.request(); });
  }

  largestClasses() {
    const { columns } = this.source, counts = new Map();
    for (const number of columns?.class ?? []) counts.set(number, (counts.get(number) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, CLASS_COLOURS).map(([number], i) => [number, i]);
  }

  classColour(number) {
    const place = this.topClasses.get(number);
    return place === undefined ? "gray" : `hsl(${place * 36 + 10} 60% 55%)`;
  }

  swatch(number) {
    return `hsl(${hueOf(number)} ${isDark() ? "45% 45%" : "58% 62%"})`;
  }

  // Other clusters were chosen: everything follows.
  async reclustered(remember) {
    if (remember) this.path.remember();
    this.shownCluster = null;
    await this.icicle.fetch();
    this.list.reload();
    this.search.refresh();
    const { shown } = this.details;
    if (shown?.kind === "cluster") { const found = await this.details.cluster(shown.of); this.shownCluster = found?.number ?? null; }
    if (!$("table-view").hidden) this.table.show(this.path.focus);
  }

  drawnWith({ points, n_clusters: n, operation }) {
    this.points = points;
    this.operation = operation;
    document.body.dataset.operation = operation;
    this.choosing.tell(n);
  }

  // Panes and views

  panes() {
    const tabs = $("tabs"), names = [["clusters", "Clusters"], ["details", "Details"], ["search", "Search"]];
    if (this.source.isLive) names.push(["events", "Changes"]);
    this.pane = Object.fromEntries(names.map(([name, title]) => {
      const tab = element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `pane-${name}`, onclick: () => this.showPane(name) }, title);
      const pane = element("div", { role: "tabpanel", id: `pane-${name}`, class: "pane", "aria-labelledby": `tab-${name}`, tabindex: "-1" });
      tabs.append(tab);
      $("panes").append(pane);
      return [name, pane];
    }));
    tabs.addEventListener("keydown", event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const all = [...tabs.children], next = all[(all.indexOf(event.target) + step + all.length) % all.length];
      next.focus();
      next.click();
      event.stopPropagation();
    });
    this.list = new ClusterList(this, this.pane.clusters);
    this.details = new Details(this, this.pane.details);
    this.search = new Search(this, this.pane.search);
    if (this.source.isLive) { this.events = new Events(this, this.pane.events); this.events.start(); }
    this.showPane("clusters");
  }

  showPane(name) {
    const left = Object.entries(this.pane).some(([other, pane]) => other !== name && pane.contains(document.activeElement));
    for (const [other, pane] of Object.entries(this.pane)) {
      pane.hidden = other !== name;
      $(`tab-${other}`).setAttribute("aria-selected", String(other === name));
      $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
    }
    if (left) this.pane[name].focus({ preventScroll: true });  // what was pressed is not there any more
    document.body.dataset.pane = name;
    for (const part of [this.list, this.details, this.search]) part?.rows?.request();
  }

  views() {
    const names = [["picture", "Picture"], ["table", "Table"], ["questions", "Questions"]];
    $("views").replaceChildren(...names.map(([name, title]) => button(title, () => this.showView(name), { id: `view-${name}`, "aria-pressed": String(name === "picture") })));
  }

  showView(name) {
    $("picture").hidden = name !== "picture";
    $("table-view").hidden = name !== "table";
    $("questions-view").hidden = name !== "questions";
    for (const made of $("views").children) made.setAttribute("aria-pressed", String(made.id === `view-${name}`));
    if (name === "table") this.table.show(this.path.focus);
    if (name === "questions") { this.questions.open(); $("questions-view").focus(); }
    if (name === "picture") this.icicle.fit();
    document.body.dataset.view = name;
  }

  // Looking at a box, a cluster, a record

  chose(box) {
    document.body.dataset.chosen = `${box.first}.${box.order}`;
    if (box.cluster !== null) this.inspect(box.of ?? box.first); else { this.details.box(box); this.showPane("details"); }
  }

  async inspect(of) {
    this.showPane("details");
    const found = await this.details.cluster(of);
    this.shownCluster = found?.number ?? null;
    this.icicle.request();
    document.body.dataset.cluster = found ? String(found.number) : "";
    return found;
  }

  async showCluster(of) {
    const found = await this.inspect(of);
    if (found) await this.showSpan(found);
    this.path.remember();
    return found;
  }

  showSpan(found) {
    if ($("picture").hidden) this.showView("picture");
    this.icicle.showSpan(found.start, found.span);
    return this.path.around(found);
  }

  async showNumber(number) {
    try {
      const { of } = await this.source.numbered(number);
      if (this.how.by !== "standing") await this.choosing.set({ by: "standing", value: this.info.standing });
      await this.showCluster(of);
    } catch (error) {
      this.failed(error);
    }
  }

  async showRecord(record) {
    const found = await this.inspect(record.of ?? record.id);
    const isDrawn = record.position !== null && record.position !== undefined;
    if (isDrawn && found) {
      if ($("picture").hidden) this.showView("picture");
      this.icicle.mark(record.position, found.span);
      await this.path.around(found);
    }
    this.details.record(record, isDrawn);
    this.path.remember();
  }

  // Saying what is the same, and removing

  correct(kind, a, b) {
    return correct(this, kind, a, b);
  }

  remove(records) {
    return remove(this, records);
  }
}

function ago(seconds) {
  return seconds < 90 ? counted(Math.round(seconds), "second") : counted(Math.round(seconds / 60), "minute");
}

async function begin() {
  const data = $("data");
  const source = data ? await openOffline(data.textContent) : new LiveSource();
  const explorer = new Explorer(source);
  await explorer.start();
}

begin().catch(error => {
  $("main").replaceChildren(element("p", { class: "notice" }, `This page could not be shown (${inert(error.message, 300)}). A current browser is needed.`));
  document.body.dataset.ready = "failed";
});
