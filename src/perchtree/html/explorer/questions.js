// Questions: are these two records the same? Answers tell which clustering is right.
import { $, button, called, counted, element, grouped, quoted, say } from "./dom.js";
import { compared, marked } from "./words.js";

const AT_ONCE = 10, GOAL = 50;

export class Questions {
  constructor(app) {
    this.app = app;
    this.view = $("questions-view");
    this.waiting = [];
    this.done = [];
    this.history = [];
    this.known = 0;  // answers that the service has, with those that were taken back
    this.seed = 0;
  }

  get answers() {
    return this.known - this.waiting.filter(question => question.wasUndone).length;
  }

  async open() {
    if (!this.app.source.isLive) {
      this.view.replaceChildren(element("h2", {}, "Questions"), element("p", {},
        "This page is a file and cannot keep answers. ", element("code", {}, "perch ask"), " asks the same questions in a terminal; so does the page of ", element("code", {}, "perch serve"), "."));
      return;
    }
    await this.fill();
    this.draw();
    this.measure();
  }

  async fill() {
    if (this.waiting.length > 2 || this.filling) return;
    this.filling = true;
    try {
      const found = await this.app.source.questions(AT_ONCE, this.seed);
      this.known = Math.max(this.known, found.n_answers);
      const known = new Set([...this.waiting, ...this.done.map(d => d.question)].map(pairName));
      this.waiting.push(...found.questions.filter(q => !known.has(pairName(q))));
      if (!this.waiting.length) this.seed++;
    } catch (error) {
      this.app.failed(error);
    } finally {
      this.filling = false;
    }
  }

  draw() {
    const [question] = this.waiting, parts = [element("h2", {}, "Are these two the same?")];
    if (question) {
      const [left, right] = compared(called(question.a, 4000), called(question.b, 4000));
      const side = (record, pieces, name) => element("article", { class: "side", "aria-label": name },
        element("h3", {}, quoted(record.key ?? "", 100)), element("p", { class: "big" }, marked(pieces)));
      parts.push(element("div", { class: "pair" }, side(question.a, left, "first record"), side(question.b, right, "second record")),
        element("p", { class: "dim" }, "Words that only one of them has are marked."));
    } else parts.push(element("p", {}, "No more questions for now."));
    const write = this.app.canWrite;
    parts.push(element("div", { class: "tools answers" },
      button("Yes, the same (y)", () => this.answer(true), { disabled: !question || !write, id: "answer-yes" }),
      button("No (n)", () => this.answer(false), { disabled: !question || !write, id: "answer-no" }),
      button("Skip (s)", () => this.answer(null), { disabled: !question || !write, id: "answer-skip" }),
      button("Undo (u)", () => this.undo(), { disabled: !this.done.length, id: "answer-undo" })));
    if (!write) parts.push(element("p", { class: "notice" }, "Answers need a token that may write."));
    parts.push(this.progress(), this.estimate());
    const focused = document.activeElement?.id;
    this.view.replaceChildren(...parts);
    if (focused && document.activeElement?.id !== focused) $(focused)?.focus({ preventScroll: true });
  }

  progress() {
    const bar = element("progress", { max: String(GOAL), "aria-label": "answers" });
    bar.value = Math.min(GOAL, this.answers);
    return element("p", { id: "progress" }, bar, ` ${counted(this.answers, "answer")}${this.answers < GOAL ? ` of about ${GOAL}: then questions turn to what is in doubt` : ""}`);
  }

  estimate() {
    const box = element("div", { id: "estimate", role: "status" }), last = this.history.at(-1);
    if (!last) {
      box.append(element("p", { class: "dim" }, this.doubt ?? "The estimate of how good the best clustering is appears after some answers of both kinds."));
      return box;
    }
    const { f1, precision, recall, n_clusters: n } = last, pair = s => `${s.value.toFixed(2)} (${s.low.toFixed(2)} to ${s.high.toFixed(2)})`;
    box.append(element("h3", {}, "The best clustering by the answers so far"),
      element("p", {}, element("b", {}, `estimated F1 ${pair(f1)}`), ` · precision ${pair(precision)} · recall ${pair(recall)} · ${counted(n, "cluster")}`),
      this.chart());
    if (last.by === "min_size") box.append(button("Show this clustering", () => this.app.choosing.set({ by: "min_size", value: last.value })));
    else box.append(button("Show about this many clusters", () => this.app.choosing.set({ by: "k", value: n })));
    for (const doubt of last.doubts) box.append(element("p", { class: "dim" }, doubt));
    return box;
  }

  chart() {
    const canvas = element("canvas", { class: "chart", role: "img", "aria-label": `estimated F1 over ${this.history.length} estimates: ${this.history.map(h => h.f1.value.toFixed(2)).join(", ")}` });
    const scale = devicePixelRatio || 1, width = 320, height = 80;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    pen.scale(scale, scale);
    const x = i => 6 + (width - 12) * (this.history.length > 1 ? i / (this.history.length - 1) : .5), y = value => height - 6 - (height - 12) * value;
    pen.strokeStyle = style.getPropertyValue("--line");
    for (const value of [0, .5, 1]) { pen.beginPath(); pen.moveTo(0, y(value)); pen.lineTo(width, y(value)); pen.stroke(); }
    pen.strokeStyle = pen.fillStyle = style.getPropertyValue("--accent");
    this.history.forEach(({ f1 }, i) => { pen.globalAlpha = .35; pen.fillRect(x(i) - 2, y(f1.high), 4, Math.max(1, y(f1.low) - y(f1.high))); });
    pen.globalAlpha = 1;
    pen.lineWidth = 2;
    pen.beginPath();
    this.history.forEach(({ f1 }, i) => i ? pen.lineTo(x(i), y(f1.value)) : pen.moveTo(x(i), y(f1.value)));
    pen.stroke();
    return canvas;
  }

  async answer(same) {
    const question = this.waiting[0];
    if (!question || this.sending || !this.app.canWrite) return;
    this.sending = true;
    try {
      const told = await this.app.source.answer(question.a.key, question.b.key, same);
      this.waiting.shift();
      this.done.push({ question, same });
      this.known = told.n_answers;
    } catch (error) {
      if (error.status === 404) this.waiting.shift();  // a record of it is gone
      this.app.failed(error);
    } finally {
      this.sending = false;
    }
    this.draw();
    if (this.waiting.length < 3) this.fill().then(() => this.draw());
    if (same !== null) this.measure();
  }

  // The pair comes back; until it is answered again, nobody could tell.
  async undo() {
    const last = this.done.pop();
    if (!last) return;
    try {
      const told = await this.app.source.answer(last.question.a.key, last.question.b.key, null);
      this.waiting.unshift({ ...last.question, wasUndone: true });
      this.known = told.n_answers;
      say("taken back: answer again");
    } catch (error) {
      this.done.push(last);
      this.app.failed(error);
    }
    this.draw();
    this.measure();
  }

  async measure() {
    if (this.measuring) { this.again = true; return; }
    if (this.answers < 2) return;
    this.measuring = true;
    try {
      const found = await this.app.source.calibration();
      if (this.history.at(-1)?.n_answers !== found.n_answers) this.history.push(found);
      if (this.history.length > 200) this.history.shift();
    } catch (error) {
      this.doubt = error.status === 409 ? error.message : undefined;
      if (error.status === 409) this.history = [];  // too few answers, after one was taken back
    } finally {
      this.measuring = false;
    }
    if (!this.view.hidden) this.draw();
    if (this.again) { this.again = false; this.measure(); }
  }

  key(event) {
    const action = { y: () => this.answer(true), n: () => this.answer(false), s: () => this.answer(null), u: () => this.undo() }[event.key.toLowerCase()];
    if (!action) return false;
    action();
    return true;
  }
}

function pairName({ a, b }) {
  return JSON.stringify([a.key, b.key].map(String).sort());
}
