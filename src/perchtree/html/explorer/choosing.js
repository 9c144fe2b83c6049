// Which clusters are shown: by what rule, at which value.
import { $, counted, element, say, short, soon } from "./dom.js";

const MODES = {
  standing: "standing clusters (kept up to date)", suggested: "what stands out", threshold: "distance at most",
  min_size: "minimum size", k: "number of clusters",
};
const SUGGESTED = 50_000;

export class Choosing {
  constructor(app) {
    this.app = app;
    this.how = null;
    this.values = {};
  }

  get usual() {
    const { info } = this.app;
    if (info.clusterings) return info.clusterings[0];
    if (info.standing !== null) return { by: "standing", value: info.standing };
    // What stands out takes a while to find in a large tree: whoever wants it can ask for it.
    const { thresholds } = info;
    return info.points > SUGGESTED && thresholds.length ? { by: "threshold", value: thresholds[thresholds.length >> 1] } : { by: "suggested", value: 0 };
  }

  get modes() {
    const { info } = this.app;
    if (info.clusterings) return [...new Set(info.clusterings.map(c => c.by))];
    return [...(info.standing !== null ? ["standing"] : []), "suggested", "threshold", "min_size", "k"];
  }

  // What a rule and a value from an address stand for, if the page offers that.
  parsed(by, value) {
    const { info } = this.app;
    if (!by || !this.modes.includes(by) || !Number.isFinite(value)) return null;
    if (info.clusterings && !info.clusterings.some(c => c.by === by && c.value === value)) return null;
    return by === "standing" ? { by, value: info.standing } : { by, value };
  }

  steps(by) {
    const { app: { info, points } } = this;
    if (info.clusterings) return info.clusterings.filter(c => c.by === by).map(c => c.value).sort((a, b) => by === "k" ? a - b : b - a);
    const counts = [];
    for (let ten = 1; ten <= points; ten *= 10) for (const step of [1, 2, 5]) if (step * ten > 1 && step * ten <= points / 2) counts.push(step * ten);
    if (by === "k") return counts;
    if (by === "min_size") return [2, 3, ...counts.slice(1)].filter(size => size <= points / 4).reverse();
    return info.thresholds ?? [];
  }

  listen() {
    const by = $("by"), step = $("step"), exact = $("exact");
    by.replaceChildren(...this.modes.map(mode => element("option", { value: mode }, MODES[mode])));
    by.addEventListener("change", () => {
      const steps = this.steps(by.value);
      const value = this.values[by.value] ?? steps[Math.floor(steps.length / 2)] ?? 0;
      this.set({ by: by.value, value: by.value === "standing" ? this.app.info.standing : by.value === "suggested" ? 0 : value });
    });
    step.addEventListener("input", soon(() => this.set({ by: by.value, value: this.steps(by.value)[Number(step.value)] }), 120));
    exact.addEventListener("change", () => this.setExact(by.value, exact.value));
    exact.disabled = Boolean(this.app.info.clusterings);
    this.show();
  }

  setExact(by, text) {
    const value = Number(text), isWhole = value >= 1 && Number.isInteger(value);
    if (text === "" || $("value-part").hidden) return;
    if (by === "threshold" ? value >= 0 : isWhole) this.set({ by, value });
    else say(by === "threshold" ? "a distance is a number, at least 0" : "that is a whole number, at least 1", true);
  }

  show() {
    const { by, value } = this.how, steps = this.steps(by), hasValue = !["standing", "suggested"].includes(by);
    $("by").value = by;
    $("value-part").hidden = !hasValue;
    if (!hasValue) return;
    const farness = step => Math.abs(Math.log((step + 1e-12) / (value + 1e-12)));
    $("step").max = String(Math.max(0, steps.length - 1));
    $("step").value = String(steps.reduce((best, step, i) => farness(step) < farness(steps[best]) ? i : best, 0));
    $("step").setAttribute("aria-valuetext", `${MODES[by]} ${value}`);
    $("exact").value = String(value);
    $("exact").step = by === "threshold" ? "any" : "1";
  }

  async set(how, remember = true) {
    this.how = { by: how.by, value: how.value };
    this.values[how.by] = how.value;
    this.show();
    $("counted").textContent = "…";
    await this.app.reclustered(remember);
  }

  // The picture tells what it was drawn with.
  tell(n) {
    const { by, value } = this.how, known = this.app.info.clusterings?.find(c => c.by === by && c.value === value);
    $("counted").textContent = counted(n, "cluster") + (by === "standing" ? ` at distance ${short(value)}` : "");
    $("counted").title = known ? `perch cut ${known.options}` : "";
    document.body.dataset.clusters = n;
  }
}
