// The explorer: one page for a tree in a file and for one that a service keeps.
import { $, button, counted, element, grouped, hueOf, inert, isDark, say, short, soon } from "./dom.js";
import { ClusterList } from "./clusters.js";
import { Details } from "./details.js";
import { Events } from "./events.js";
import { Icicle } from "./icicle.js";
import { LiveSource } from "./live.js";
import { openOffline } from "./offline.js";
import { Questions } from "./questions.js";
import { Search } from "./search.js";
import { Selection } from "./records.js";
import { TableView } from "./table.js";

const MODES = { standing: "what is kept up to date", suggested: "what stands out", threshold: "distance at most", min_size: "minimum size", k: "number of clusters" };
const CLASS_COLOURS = 10, CALM = 150, SUGGESTED = 50_000;
const MOST_CORRECTIONS = 500;

class Explorer {
  constructor(source) {
    this.source = source;
    this.how = null;
    this.colouring = "clusters";
    this.topClasses = new Map();
    this.shownCluster = null;
    this.focus = null;
    this.values = {};
  }

  async start() {
    if (this.source.isLive) this.source.askForToken = isWrong => this.askForToken(isWrong);
    this.selection = new Selection(this);
    this.icicle = new Icicle(this);
    this.info = await this.source.info();
    this.points = this.info.points;
    this.canWrite = Boolean(this.info.writable);
    this.describe();
    this.how = this.fromAddress().how ?? this.usual;
    this.panes();
    this.controls();
    this.table = new TableView(this);
    this.questions = new Questions(this);
    this.views();
    this.shortcuts();
    $("help-button").addEventListener("click", () => this.help());
    $("keys").textContent = "Click a box to open it; drag or wheel to move. ";
    if (this.points) await this.begin(); else this.empty();
    if (this.source.isLive) this.watch();
    addEventListener("popstate", () => this.restore());
    document.body.dataset.ready = "yes";
  }

  async begin() {
    this.icicle.points = this.points;
    this.icicle.view = { x: 0, w: this.points, y: 0 };
    await this.icicle.fetch();
    requestAnimationFrame(() => { document.body.dataset.drawn ??= String(Math.round(performance.now())); });
    this.focus = this.icicle.have.boxes.find(b => b.level === 0) ?? null;
    this.showPath();
    this.list.reload();
    await this.restore();
  }

  empty() {
    $("counted").textContent = "There are no records yet.";
  }

  describe() {
    const { info } = this;
    const title = inert(info.title || "perchtree", 200);
    document.title = title;
    $("title").textContent = title;
    const parts = [counted(info.points, "record")];
    if (info.corrections) parts.push(this.corrections(counted(info.corrections, "correction")));
    if (info.records < info.points) parts.push(`texts of ${grouped(info.records)} in this page`);
    if (this.source.isLive) parts.push(this.canWrite ? "live" : "live, read only");
    const focused = document.activeElement?.id;
    $("summary").replaceChildren(...parts.flatMap((part, i) => i ? [" · ", part] : [part]));
    if (focused === "corrections") $("corrections")?.focus();
    this.topClasses = new Map((info.classes ?? []).length ? this.largestClasses() : []);
  }

  // Of many classes the largest ones have colours of their own, the others are grey.
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

  failed(error) {
    if (error?.name === "AbortError") return;
    say(inert(error?.message ?? error, 300), true);
  }

  // Which clusters

  get usual() {
    const { info } = this;
    if (info.clusterings) return info.clusterings[0];
    if (info.standing !== null) return { by: "standing", value: info.standing };
    // What stands out takes a while to find in a large tree: whoever wants it can ask for it.
    const { thresholds } = info;
    return info.points > SUGGESTED ? { by: "threshold", value: thresholds[thresholds.length >> 1] } : { by: "suggested", value: 0 };
  }

  get modes() {
    const { info } = this;
    if (info.clusterings) return [...new Set(info.clusterings.map(c => c.by))];
    return [...(info.standing !== null ? ["standing"] : []), "suggested", "threshold", "min_size", "k"];
  }

  steps(by) {
    const { info } = this;
    if (info.clusterings) return info.clusterings.filter(c => c.by === by).map(c => c.value).sort((a, b) => by === "k" ? a - b : b - a);
    const counts = [];
    for (let ten = 1; ten <= this.points; ten *= 10) for (const step of [1, 2, 5]) if (step * ten > 1 && step * ten <= this.points / 2) counts.push(step * ten);
    if (by === "k") return counts;
    if (by === "min_size") return [2, 3, ...counts.slice(1)].filter(size => size <= this.points / 4).reverse();
    return info.thresholds ?? [];
  }

  controls() {
    const by = $("by"), step = $("step"), exact = $("exact"), colour = $("colour");
    by.replaceChildren(...this.modes.map(mode => element("option", { value: mode }, MODES[mode])));
    by.addEventListener("change", () => {
      const steps = this.steps(by.value);
      const value = this.values[by.value] ?? steps[Math.floor(steps.length / 2)] ?? 0;
      this.setHow({ by: by.value, value: by.value === "standing" ? this.info.standing : by.value === "suggested" ? 0 : value });
    });
    step.addEventListener("input", soon(() => this.setHow({ by: by.value, value: this.steps(by.value)[Number(step.value)] }), 120));
    exact.addEventListener("change", () => {
      const value = Number(exact.value);
      if (exact.value === "" || $("value-part").hidden) return undefined;
      if (!(value >= 0) || (by.value !== "threshold" && !(value >= 1 && Number.isInteger(value))))
        return say(by.value === "threshold" ? "a distance is a number, at least 0" : "that is a whole number, at least 1", true);
      return this.setHow({ by: by.value, value });
    });
    exact.disabled = Boolean(this.info.clusterings);
    const kinds = [["clusters", "clusters"], ...(this.topClasses.size ? [["classes", "classes"]] : []), ["heights", "height"]];
    colour.replaceChildren(...kinds.map(([value, text]) => element("option", { value }, text)));
    colour.addEventListener("change", () => { this.colouring = colour.value; this.icicle.request(); });
    this.showControls();
  }

  showControls() {
    const { by, value } = this.how, steps = this.steps(by), hasValue = !["standing", "suggested"].includes(by);
    $("by").value = by;
    $("value-part").hidden = !hasValue;
    if (!hasValue) return;
    $("step").max = String(Math.max(0, steps.length - 1));
    const nearest = steps.reduce((best, s, i) => Math.abs(Math.log((s + 1e-12) / (value + 1e-12))) < Math.abs(Math.log((steps[best] + 1e-12) / (value + 1e-12))) ? i : best, 0);
    $("step").value = String(nearest);
    $("step").setAttribute("aria-valuetext", `${MODES[by]} ${value}`);
    $("exact").value = String(value);
    $("exact").step = by === "threshold" ? "any" : "1";
  }

  async setHow(how, remember = true) {
    this.how = { by: how.by, value: how.value };
    this.values[how.by] = how.value;
    this.showControls();
    $("counted").textContent = "…";
    if (remember) this.remember();
    this.shownCluster = null;
    await this.icicle.fetch();
    this.list.reload();
    this.search.refresh();
    const { shown } = this.details;
    if (shown?.kind === "cluster") { const found = await this.details.cluster(shown.of); this.shownCluster = found?.number ?? null; }
    if (!$("table-view").hidden) this.table.show(this.focus);
  }

  // The picture tells what it was drawn with.
  drawnWith({ points, n_clusters: n, operation }) {
    this.points = points;
    this.operation = operation;
    const known = this.info.clusterings?.find(c => c.by === this.how.by && c.value === this.how.value);
    const value = this.how.by === "standing" ? ` at distance ${short(this.how.value)}` : "";
    $("counted").textContent = counted(n, "cluster") + value;
    $("counted").title = known ? `perch cut ${known.options}` : "";
    document.body.dataset.clusters = n;
    document.body.dataset.operation = operation;
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
    for (const [other, pane] of Object.entries(this.pane)) {
      pane.hidden = other !== name;
      $(`tab-${other}`).setAttribute("aria-selected", String(other === name));
      $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
    }
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
    if (name === "table") this.table.show(this.focus);
    if (name === "questions") { this.questions.open(); $("questions-view").focus(); }
    if (name === "picture") this.icicle.fit();
    document.body.dataset.view = name;
  }

  // Going from place to place

  chose(box) {
    document.body.dataset.chosen = `${box.first}.${box.order}`;
    if (box.cluster !== null) this.inspect(box.of ?? box.first); else { this.details.box(box); this.showPane("details"); }
  }

  open(box) {
    if (this.focus && box.first === this.focus.first && box.order === this.focus.order && box.level > 0) return this.up();
    return this.focusOn(box, false);
  }

  focusOn(box, choose = true) {
    this.focus = box;
    if (choose) { this.icicle.chosen = box; this.chose(box); }
    this.icicle.show(box);
    this.showPath();
    if (!$("table-view").hidden) this.table.show(box);
    this.remember();
    document.body.dataset.focus = `${box.first}.${box.order}`;
  }

  async up() {
    const path = await this.source.path(this.focus.first, this.focus.order), above = path.at(-2) ?? path[0];
    if (above) this.focusOn(above.cluster === undefined ? { ...above, cluster: null } : above);
  }

  home() {
    const root = { first: this.focus?.first, order: 0 };
    return this.source.path(root.first ?? 0, 1).then(path => path[0] && this.focusOn({ ...path[0], cluster: null }));
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
    if (found) this.showSpan(found);
    this.remember();
  }

  showSpan(found) {
    if ($("picture").hidden) this.showView("picture");
    const level = this.icicle.have.boxes.find(b => b.start >= found.start && b.start + b.size <= found.start + found.span)?.level ?? 0;
    const room = Math.max(found.span * .6, 2);
    this.icicle.moveTo({ x: found.start - room, w: found.span + 2 * room, y: level + 3 < this.icicle.height / 30 ? 0 : level - 2 });
    this.icicle.chosen = null;
  }

  async showNumber(number) {
    try {
      const { of } = await this.source.ask("/v1/explorer/numbered", { number });
      if (this.how.by !== "standing") await this.setHow({ by: "standing", value: this.info.standing });
      await this.showCluster(of);
    } catch (error) {
      this.failed(error);
    }
  }

  async showRecord(record) {
    const found = await this.inspect(record.of ?? record.id);
    if (record.position !== null && record.position !== undefined) {
      if ($("picture").hidden) this.showView("picture");
      const w = Math.min(this.points, Math.max(24, (found?.span ?? 8) * 1.5));
      this.icicle.hits = [record.position];
      this.icicle.moveTo({ x: record.position - w / 2, w, y: 0 });
    }
    this.details.top?.append(element("p", { class: "notice", id: "found-record" }, "The record ", element("bdi", {}, inert(record.key ?? "", 80)), " is marked in the picture."));
    this.remember();
  }

  async showPath() {
    const { focus } = this, nav = $("path");
    if (!focus) return;
    const path = focus.order > 0 ? await this.source.path(focus.first, focus.order).catch(() => []) : await this.source.path(focus.first, 1).catch(() => []);
    const named = await this.source.names(path).catch(() => path.map(() => ({})));
    const parts = [];
    path.forEach((box, i) => {
      this.icicle.names.set(`${box.first}.${box.order}`, named[i]);
      const name = i ? this.icicle.nameOf(box) || counted(box.size, "record") : "all records";
      // A chain of one name is shown once, by its last box.
      if (parts.length && parts.at(-1).name === name) parts.pop();
      parts.push({ box, name });
    });
    const cut = parts.length > 9 ? [...parts.slice(0, 2), null, ...parts.slice(-6)] : parts;
    nav.replaceChildren(...cut.flatMap((part, i) => {
      const arrow = i ? [element("span", { class: "dim", "aria-hidden": "true" }, "›")] : [];
      if (!part) return [...arrow, element("span", { class: "dim" }, "…")];
      const made = button("", () => this.focusOn({ ...part.box, cluster: null }), { title: counted(part.box.size, "record") });
      made.append(element("bdi", {}, inert(part.name, 60)));
      if (i === cut.length - 1) made.setAttribute("aria-current", "true");
      return [...arrow, made];
    }));
  }

  // The address has what is shown, by numbers: no texts, no keys, no token.

  fromAddress() {
    const found = new URLSearchParams(location.hash.slice(1)), by = found.get("by"), value = Number(found.get("value"));
    const how = by && this.modes.includes(by) && Number.isFinite(value) ? { by, value } : null;
    const isOffered = how && (!this.info.clusterings || this.info.clusterings.some(c => c.by === by && c.value === value));
    const [first, order] = (found.get("box") ?? "").split(".").map(Number);
    return {
      how: isOffered ? (by === "standing" ? { by, value: this.info.standing } : how) : null,
      box: Number.isInteger(first) && Number.isInteger(order) && found.has("box") ? { first, order } : null,
      cluster: found.has("cluster") && /^\d+$/.test(found.get("cluster")) ? Number(found.get("cluster")) : null,
    };
  }

  remember() {
    const parts = new URLSearchParams({ by: this.how.by, value: String(this.how.value) });
    if (this.focus && this.focus.level > 0) parts.set("box", `${this.focus.first}.${this.focus.order}`);
    const { shown } = this.details;
    if (shown?.kind === "cluster") parts.set("cluster", String(shown.of));
    if (`#${parts}` !== location.hash) history.pushState(null, "", `#${parts}`);
  }

  async restore() {
    const { how, box, cluster } = this.fromAddress();
    const wanted = how ?? this.usual;
    if (wanted.by !== this.how.by || wanted.value !== this.how.value) await this.setHow(wanted, false);
    const path = await this.source.path(box?.first ?? this.icicle.have.boxes[0]?.first ?? 0, box?.order ?? 1).catch(() => []);
    const found = box ? path.at(-1) : path[0];
    if (found && (this.focus?.first !== found.first || this.focus?.order !== found.order)) {
      this.focus = { ...found, cluster: null };
      this.icicle.show(found);
      this.showPath();
      document.body.dataset.focus = `${found.first}.${found.order}`;
    } else if (found && !box) { this.icicle.show(found); document.body.dataset.focus = `${found.first}.${found.order}`; }
    if (cluster !== null && this.details.shown?.of !== cluster) await this.inspect(cluster);
  }

  // Changes by this page and by others

  watch() {
    const update = soon(() => this.update(), CALM);
    this.source.watch(this.info.event ?? 0, (kind, data) => {
      if (kind !== "change") this.events.add(data);
      update();
    }, isOn => {
      document.body.dataset.live = isOn ? "on" : "off";
      this.events.tell(isOn);
      if (isOn) update();
    });
  }

  async update() {
    if (this.updating) { this.late = true; return; }
    this.updating = true;
    try {
      const before = this.points;
      this.info = await this.source.info();
      this.canWrite = Boolean(this.info.writable);
      this.points = this.info.points;
      this.describe();
      if (!this.points) return;
      if (!before) await this.begin();
      else if (this.info.version !== this.refreshed) {
        this.refreshed = this.info.version;
        await this.icicle.refresh();
        await Promise.all([this.followFocus(), this.list.refresh(), this.details.refresh(), this.search.refresh()]);
        if (!$("table-view").hidden) this.table.show(this.focus);
      }
      if (this.info.standing !== null) this.events.sum();
      // A large tree is copied from time to time: the picture follows when there is a newer copy.
      if (this.operation < this.info.operation) setTimeout(() => this.update(), 250);
    } catch (error) {
      this.failed(error);
    } finally {
      this.updating = false;
    }
    if (this.late) { this.late = false; this.update(); }
  }

  // The box in focus may have grown, or be gone: then what is left around its first record.
  async followFocus() {
    if (!this.focus) return;
    const around = await this.source.path(this.focus.first, Math.max(1, this.focus.order)).catch(() => null);
    const found = around?.at(-1) ?? this.icicle.have.boxes.find(b => b.level === 0);
    if (!found) return;
    this.focus = { ...found, cluster: null };
    await this.showPath();  // boxes above it may have grown, too
  }

  async correct(kind, a, b) {
    try {
      await this.source.correct(kind, a.key, b.key);
      say({ together: "marked as the same", apart: "marked as not the same", neither: "correction taken back" }[kind]);
      this.selection.clear();
      await this.update();
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }

  // The number of corrections; of a service, a button that lists them.
  corrections(text) {
    return this.source.isLive ? button(text, () => this.showCorrections(), { class: "link", id: "corrections" }) : text;
  }

  async showCorrections() {
    try {
      const { corrections } = await this.source.corrections(), list = element("ul", { class: "plain", id: "correction-list" });
      for (const { kind, a, b } of corrections.slice(0, MOST_CORRECTIONS)) {
        const item = element("li", {}, `${inert(a, 60)} ${kind === "together" ? "belongs with" : "does not belong with"} ${inert(b, 60)} `);
        if (this.canWrite) item.append(button("Take back", () => this.correct("neither", { key: a }, { key: b }).then(done => done && item.remove())));
        list.append(item);
      }
      if (corrections.length > MOST_CORRECTIONS) list.append(element("li", {}, `and ${grouped(corrections.length - MOST_CORRECTIONS)} more`));
      await this.ask("Corrections", [list], [["", "Close"]]);
    } catch (error) {
      this.failed(error);
    }
  }

  async remove(records) {
    const sure = await this.confirm(`Remove ${counted(records.length, "record")}?`, "They are removed from the collection for everybody, with all corrections and answers about them. This cannot be undone.", "Remove");
    if (!sure) return;
    try {
      const { removed } = await this.source.remove(records.map(r => r.key));
      say(`${counted(removed, "record")} removed`);
      this.selection.clear();
      await this.update();
    } catch (error) {
      this.failed(error);
    }
  }

  // Dialogs

  ask(title, parts, actions) {
    const dialog = $("dialog");
    return new Promise(done => {
      const form = element("form", { method: "dialog" }, element("h2", { id: "dialog-title" }, title), ...parts,
        element("div", { class: "tools" }, ...actions.map(([value, text]) => element("button", { value }, text))));
      dialog.replaceChildren(form);
      dialog.addEventListener("close", () => done(dialog.returnValue), { once: true });
      dialog.returnValue = "";
      dialog.showModal();
    });
  }

  async confirm(title, text, action) {
    return await this.ask(title, [element("p", {}, text)], [["yes", action], ["", "Cancel"]]) === "yes";
  }

  async askForToken(isWrong) {
    const field = element("input", { type: "password", id: "token", autocomplete: "off", required: true, "aria-label": "Token" });
    const keep = element("input", { type: "checkbox", id: "keep" });
    await this.ask("A token is needed", [
      element("p", {}, isWrong ? "The service does not know that token." : "This service answers only those who have a token. Whoever runs it can give you one."),
      element("label", {}, "Token ", field), element("label", { class: "block" }, keep, " keep it until this tab is closed"),
      element("p", { class: "dim" }, "It is sent to this service only, and is in no address."),
    ], [["yes", "Open"]]);
    this.source.useToken(field.value.trim(), keep.checked);
  }

  help() {
    const keys = [["← →", "the box beside"], ["↑ ↓", "the box above, the largest below"], ["Enter", "open the box"], ["Esc", "one level up"], ["Home", "the whole tree"],
      ["+ −", "zoom"], ["/", "search"], ["c", "list of clusters"], ["t", "table instead of the picture"], ["p", "the picture"], ["q", "questions; there y, n, s, u: yes, no, skip, undo"], ["?", "this help"]];
    const list = element("dl", { class: "keys" });
    for (const [key, what] of keys) list.append(element("dt", {}, element("kbd", {}, key)), element("dd", {}, what));
    return this.ask("Keys and help", [
      element("p", {}, "Each box is a part of the tree, as wide as its number of records. Thick lines are the boundaries of clusters; boxes of one colour are in one cluster, grey boxes have parts of several."),
      element("p", {}, "Each row has smaller parts than the one above it: long chains, from which single records split off, take one row."),
      element("p", {}, "Tick records to copy, download or compare them, and two of them to say whether they are the same."), list,
    ], [["", "Close"]]);
  }

  shortcuts() {
    const { icicle } = this;
    document.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || $("dialog").open || event.defaultPrevented) return;
      if (event.target.matches("input:not([type=checkbox]):not([type=range]), select, textarea")) return;
      if (event.key === "Escape" && event.target.closest("#aside")) { icicle.canvas.focus(); return; }
      if (!$("questions-view").hidden && this.questions.key(event)) { event.preventDefault(); return; }
      const onButton = event.target.matches("button, a, input");
      const go = key => { const next = icicle.beside(key); if (next) { icicle.choose(next); this.keepInView(next); } };
      const actions = {
        "/": () => $("search").focus(), c: () => { this.showPane("clusters"); $("filter").focus(); }, "?": () => this.help(),
        t: () => { this.showView("table"); $("table-view").focus(); }, p: () => { this.showView("picture"); icicle.canvas.focus(); }, q: () => this.showView("questions"),
      };
      if (event.target === icicle.canvas || event.target === document.body) Object.assign(actions, {
        ArrowUp: () => go("ArrowUp"), ArrowDown: () => go("ArrowDown"), ArrowLeft: () => go("ArrowLeft"), ArrowRight: () => go("ArrowRight"),
        Enter: () => icicle.chosen && this.focusOn(icicle.chosen, false), Escape: () => this.up(), Home: () => this.home(),
        "+": () => icicle.zoom(.7), "=": () => icicle.zoom(.7), "-": () => icicle.zoom(1 / .7),
      });
      if (onButton && ["Enter", " "].includes(event.key)) return;
      if (actions[event.key]) { actions[event.key](); event.preventDefault(); }
    });
  }

  keepInView(box) {
    const { view } = this.icicle;
    if (box.start < view.x || box.start + box.size > view.x + view.w) this.icicle.show(box);
  }
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
