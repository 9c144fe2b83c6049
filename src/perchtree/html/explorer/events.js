// What happens to kept clusters: as it happens, and since some time.
import { button, counted, element, grouped, inert } from "./dom.js";

const KEPT = 200, LISTED = 5, KEYS_TOLD = 3;
const SINCE = [["3600", "the last hour"], ["86400", "yesterday (24 hours)"], ["604800", "last week (7 days)"], ["", "the beginning"]];

// What kinds of events are called in a summary, given how many there are and how many records they are about.
const SUMMED = {
  merge: n => counted(n, "merge"), split: n => counted(n, "split"), end: n => `${counted(n, "cluster")} ended`,
  birth: (n, records) => `${counted(n, "new cluster")} (${counted(records, "record")})`, join: (n, records) => `${counted(records, "record")} added to clusters`,
  move: (n, records) => `${counted(records, "record")} moved`, leave: (n, records) => `${counted(records, "record")} removed`,
};

export function describeEvent(app, event) {
  const link = number => button(`#${number}`, () => app.showNumber(number), { class: "link" });
  const list = numbers => numbers.slice(0, LISTED).flatMap((number, i) => [i ? (i === numbers.length - 1 ? " and " : ", ") : "", link(number)])
    .concat(numbers.length > LISTED ? ` and ${numbers.length - LISTED} more` : "");
  const { before, after } = event, others = event.keys.length - KEYS_TOLD;
  const keys = event.keys.length ? `: ${event.keys.slice(0, KEYS_TOLD).map(key => inert(key, 40)).join(", ")}${others > 0 ? ` and ${grouped(others)} more` : ""}` : "";
  const told = {
    birth: () => ["New cluster ", ...list(after), ` of ${counted(event.points, "record")}`, keys],
    join: () => [`${counted(event.keys.length || 1, "record")} added to `, ...list(after), keys],
    merge: () => ["Clusters ", ...list(before), " merged into ", ...list(after), `, which has ${counted(event.points, "record")}`],
    split: () => ["Cluster ", ...list(before), " split into ", ...list(after)],
    end: () => ["Cluster ", ...list(before), " ended", ...(after.length ? [": its records are in ", ...list(after)] : ["; its records were removed"])],
    move: () => [event.keys.length ? counted(event.keys.length, "record") : "Records", " moved from ", ...list(before), " to ", ...list(after), keys],
    leave: () => [`${counted(event.points, "record")} of `, ...list(before), event.points === 1 ? " was removed" : " were removed"],
  }[event.kind];
  const item = element("li", { class: `event ${event.kind}`, "data-event": String(event.event) }, ...(told ? told() : [event.kind]));
  if (event.time) item.append(" ", element("time", { class: "dim", datetime: new Date(event.time * 1000).toISOString() }, timeOf(event.time)));
  return item;
}

function timeOf(seconds) {
  const time = new Date(seconds * 1000), isToday = time.toDateString() === new Date().toDateString();
  return time.toLocaleString("en-GB", { ...(isToday ? {} : { day: "numeric", month: "short" }), hour: "2-digit", minute: "2-digit" });
}

export class Events {
  constructor(app, pane) {
    this.app = app;
    this.kind = "";
    this.state = element("p", { class: "dim", role: "status", id: "live" }, "connecting …");
    this.since = element("select", { id: "since", onchange: () => this.sum() }, ...SINCE.map(([value, text]) => element("option", { value }, text)));
    this.since.value = "86400";
    this.summary = element("p", { id: "changed-summary", role: "status" });
    this.kinds = element("div", { class: "tools", id: "kinds", role: "group", "aria-label": "Only changes of one kind" });
    this.list = element("ul", { class: "plain events", id: "events", "aria-label": "Recent changes" });
    this.label = element("label", { hidden: true }, "What changed since ", this.since);  // while clusters are kept
    pane.append(this.state, this.label, this.summary, this.kinds,
      element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Recent changes" }, this.list));
  }

  async start() {
    if (this.app.info.standing === null) {
      this.state.textContent = "No clusters are kept up to date: start the service with --distance to see what becomes of them.";
      return;
    }
    await this.sum();
  }

  tell(isOn) {
    if (this.app.info.standing !== null) this.state.textContent = isOn ? "live: changes appear as they happen" : "the service does not answer; trying again …";
  }

  async sum() {
    const turn = this.turn = (this.turn ?? 0) + 1;
    try {
      const found = await this.app.source.since(this.since.value || undefined, this.kind);
      if (turn !== this.turn) return;
      this.label.hidden = false;
      this.summary.textContent = this.summed(found);
      this.showKinds(found);
      const kept = this.kind ? found.counts[this.kind] ?? 0 : Object.values(found.counts).reduce((sum, n) => sum + n, 0);
      this.show(found.events, kept - found.events.length);
    } catch (error) {
      this.app.failed(error);
    }
  }

  summed({ total, counted: n, known, noted_from: from }) {
    if (!total) return "Nothing changed.";
    const some = n < total ? `; the newest ${grouped(n)}:` : ":";
    return known ? counted(total, "change") + some
      : `${counted(total, "change")} in all${from ? `, of which those before ${timeOf(from)} may be older` : ""}${some}`;
  }

  // A summary by kind; each is a button that shows only those.
  showKinds({ counts, records }) {
    const focused = document.activeElement?.id;
    this.kinds.replaceChildren(...Object.entries(SUMMED).filter(([kind]) => counts[kind] || kind === this.kind).map(([kind, told]) =>
      button(told(counts[kind] ?? 0, records[kind] ?? 0), () => { this.kind = this.kind === kind ? "" : kind; this.sum(); },
        { id: `kind-${kind}`, "aria-pressed": String(kind === this.kind), title: "show only these" })));
    if (focused?.startsWith("kind-")) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  // What is there already stays: somebody may be reading it, or have the focus in it.
  show(events, nEarlier) {
    const { list } = this, known = new Map([...list.children].map(item => [item.dataset.event, item]));
    const newest = events[0]?.event ?? 0, isNewer = item => Number(item.dataset.event) > newest && (!this.kind || item.classList.contains(this.kind));
    const wanted = [...list.children].filter(isNewer).concat(events.map(event => {
      const item = known.get(String(event.event));
      return item && (item.querySelector("time") || !event.time) ? item : describeEvent(this.app, event);
    }));
    const kept = new Set(wanted);
    for (const item of [...list.children]) if (!kept.has(item)) item.remove();
    wanted.forEach((item, i) => { if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null); });
    if (nEarlier > 0) list.append(element("li", { class: "dim" }, `and ${counted(nEarlier, "earlier change")}`));
  }

  add(event) {
    if (this.kind && event.kind !== this.kind) return;
    if (this.list.querySelector(`[data-event="${event.event}"]`)) return;
    this.list.prepend(describeEvent(this.app, event));
    while (this.list.children.length > KEPT) this.list.lastChild.remove();
  }
}
