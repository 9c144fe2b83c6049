// What happens to kept clusters: as it happens, and since some time.
import { button, counted, element, grouped, inert } from "./dom.js";

const KEPT = 200;
const SINCE = [["3600", "the last hour"], ["86400", "yesterday (24 hours)"], ["604800", "last week (7 days)"], ["", "the beginning"]];
const TOLD = {
  birth: "new", merge: "merged", split: "split", end: "ended", join: "joined", move: "moved", leave: "removed",
};

export function describeEvent(app, event) {
  const link = number => {
    const made = button(`#${number}`, () => app.showNumber(number), { class: "link" });
    return made;
  };
  const list = numbers => numbers.slice(0, 5).flatMap((number, i) => [i ? ", " : "", link(number)]).concat(numbers.length > 5 ? ` and ${numbers.length - 5} more` : "");
  const { before, after } = event, keys = event.keys.length ? `: ${inert(event.keys.slice(0, 3).join(", "), 90)}${event.keys.length > 3 ? ", …" : ""}` : "";
  const told = {
    birth: () => ["New cluster ", ...list(after), ` of ${counted(event.points, "record")}`, keys],
    join: () => [`${counted(event.keys.length || 1, "new record")} in cluster `, ...list(after), keys],
    merge: () => ["Clusters ", ...list(before), " merged into ", ...list(after), ` (${counted(event.points, "record")})`],
    split: () => ["Cluster ", ...list(before), " split into ", ...list(after)],
    end: () => ["Cluster ", ...list(before), " ended", ...(after.length ? ["; its records are in ", ...list(after)] : [])],
    move: () => ["Records moved from cluster ", ...list(before), " to ", ...list(after), keys],
    leave: () => [`${counted(event.points, "record")} of cluster `, ...list(before), event.points === 1 ? " was removed" : " were removed"],
  }[event.kind];
  const item = element("li", { class: `event ${event.kind}` }, ...(told ? told() : [event.kind]));
  if (event.time) item.append(" ", element("time", { class: "dim", datetime: new Date(event.time * 1000).toISOString() }, timeOf(event.time)));
  return item;
}

function timeOf(seconds) {
  return new Date(seconds * 1000).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

export class Events {
  constructor(app, pane) {
    this.app = app;
    this.state = element("p", { class: "dim", role: "status", id: "live" }, "connecting …");
    this.since = element("select", { id: "since", onchange: () => this.sum() }, ...SINCE.map(([value, text]) => element("option", { value }, text)));
    this.since.value = "86400";
    this.summary = element("p", { id: "changed-summary", role: "status" });
    this.list = element("ul", { class: "plain events", id: "events", "aria-label": "Recent events" });
    pane.append(this.state, element("label", {}, "What changed since ", this.since), this.summary,
      element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "Recent events" }, this.list));
  }

  async start() {
    if (this.app.info.standing === null) {
      this.state.textContent = "No clusters are kept up to date: start the service with --distance to see what becomes of them.";
      this.summary.textContent = "";
      return;
    }
    await this.sum();
  }

  tell(isOn) {
    if (this.app.info.standing !== null) this.state.textContent = isOn ? "live: changes appear as they happen" : "the service does not answer; trying again …";
  }

  async sum() {
    try {
      const found = await this.app.source.since(this.since.value || undefined);
      const parts = Object.entries(found.counts).filter(([, n]) => n).map(([kind, n]) => ({
        birth: counted(n, "new cluster"), merge: counted(n, "merge"), split: counted(n, "split"), end: counted(n, "cluster") + " ended",
        join: counted(n, "arrival") + " in clusters", move: counted(n, "move"), leave: counted(n, "removal"),
      })[kind] ?? `${grouped(n)} ${TOLD[kind] ?? kind}`);
      const older = found.noted_from ? ` (all of them: their times were noted from ${timeOf(found.noted_from)} on)` : "";
      this.summary.textContent = found.total ? `${counted(found.total, "event")}: ${parts.join(", ")}${found.known ? "" : older}` : "Nothing changed.";
      this.list.replaceChildren(...found.events.map(event => describeEvent(this.app, event)));
    } catch (error) {
      this.app.failed(error);
    }
  }

  add(event) {
    this.list.prepend(describeEvent(this.app, event));
    while (this.list.children.length > KEPT) this.list.lastChild.remove();
  }
}
