// A tree that a service keeps. What is asked for is what can be seen.

import { NONE, unpacked } from "./packed.js";

const FEW = 1000;
const TOKEN = "perchtree token";

export class LiveSource {
  constructor() {
    this.isLive = true;
    // Kept for this tab only, and only if its user says so; never part of an address.
    this.token = sessionStorage.getItem(TOKEN) ?? "";
    this.waitingForToken = null;
    this.askForToken = null;
  }

  useToken(token, keep) {
    this.token = token;
    if (keep) sessionStorage.setItem(TOKEN, token); else sessionStorage.removeItem(TOKEN);
  }

  async request(path, params = {}, options = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params)) {
      if (value === undefined || value === null || value === "") continue;
      for (const one of Array.isArray(value) ? value : [value]) query.append(name, one);
    }
    const headers = { ...(options.headers ?? {}) };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    const answer = await fetch(`${path}${query.size ? "?" + query : ""}`, { ...options, headers, credentials: "omit" });
    if (answer.status === 401 && this.askForToken) {
      this.waitingForToken ??= this.askForToken(this.token !== "").finally(() => { this.waitingForToken = null; });
      await this.waitingForToken;
      return this.request(path, params, options);
    }
    return answer;
  }

  async ask(path, params, options) {
    return this.read(await this.request(path, params, options));
  }

  async read(answer) {
    const body = await answer.json().catch(() => ({ error: `the service answered ${answer.status}` }));
    if (!answer.ok) throw Object.assign(new Error(body.error ?? `the service answered ${answer.status}`), { status: answer.status, body });
    return body;
  }

  send(path, body, method = "POST") {
    return this.ask(path, {}, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  }

  wish(how) {
    return ["k", "min_size", "threshold"].includes(how.by) ? { [how.by]: how.value } : {};
  }

  // `onFirst` is told at once what takes no picture to know.
  async info(onFirst) {
    const found = await this.ask("/v1/info");
    onFirst?.(found);
    const about = await this.ask("/v1/explorer");
    return { ...found, ...about, clusterings: null, records: found.points, writable: found.writable && about.may_change };
  }

  async boxes(left, right, smallest, how, anchor) {
    const answer = await this.request("/v1/explorer/boxes", {
      left: Math.floor(left), right: Math.ceil(right), smallest: Math.max(1, Math.floor(smallest)), anchor, packed: true, ...this.wish(how),
    });
    if (!answer.ok) return this.read(answer);
    const { values, columns } = unpacked(await answer.arrayBuffer());
    const { start, size, level, height, first, order, cluster, of, edges } = columns;
    // Thousands arrive while somebody moves the picture: nothing is parsed, and all have one shape.
    const boxes = Array.from(start, (at, i) => ({
      start: at, size: size[i], level: level[i], height: height[i], first: first[i], order: order[i],
      cluster: cluster[i] === NONE ? null : cluster[i], of: of[i] === NONE ? null : of[i], edges: edges[i], main: null, label: null,
    }));
    return { ...values, boxes };
  }

  async names(boxes) {
    if (!boxes.length) return [];
    const found = await this.ask("/v1/explorer/names", { box: boxes.map(b => `${b.first}.${b.order}`) });
    return found.names.map(name => ({ words: name.keywords.join(" · "), exemplar: name.exemplar }));
  }

  async box({ first, order }) {
    const found = await this.ask("/v1/explorer/box", { first, order });
    return { ...found, words: found.keywords.join(" · ") };
  }

  async path(first, order) {
    return (await this.ask("/v1/explorer/path", { first, order })).boxes;
  }

  async recordsBetween(left, right, how) {
    return (await this.ask("/v1/explorer/records", { left, right, ...this.wish(how) })).rows;
  }

  boxMembers({ first, order }, how, skip, limit) {
    return this.ask("/v1/explorer/members", { of: first, order, skip, limit, ...this.wish(how) });
  }

  members(of, how, skip, limit) {
    return this.ask("/v1/explorer/members", { of, skip, limit, ...this.wish(how) });
  }

  async clusters(how, { skip, limit, sort, least, most, q }) {
    const found = await this.ask("/v1/explorer/clusters", {
      skip, limit, sort, q, least: least > 1 ? least : undefined, most: most < Infinity ? most : undefined, ...this.wish(how),
    });
    return { ...found, rows: found.rows.map(row => ({ ...row, words: row.keywords.join(" · ") })) };
  }

  async cluster(of, how) {
    const found = await this.ask("/v1/explorer/cluster", { of, ...this.wish(how) });
    return { ...found, words: found.keywords.join(" · ") };
  }

  search(query, how, skip, limit) {
    return this.ask("/v1/explorer/search", { q: query.slice(0, 2000), skip, limit, ...this.wish(how) });
  }

  async everyHit(query, how) {
    const rows = [];
    for (let more = true; more;) {
      const found = await this.search(query, how, rows.length, FEW);
      rows.push(...found.rows);
      more = found.rows.length > 0 && rows.length < found.total;
    }
    return rows;
  }

  // Changes

  remove(keys) {
    return this.send("/v1/removals", { keys, missing_ok: true });
  }

  corrections() {
    return this.ask("/v1/corrections");
  }

  correct(kind, a, b) {
    return this.send("/v1/corrections", { kind, a, b });
  }

  questions(n, seed) {
    return this.ask("/v1/questions", { n, seed });
  }

  answer(a, b, same) {
    return this.send("/v1/answers", [{ a, b, same }]);
  }

  calibration() {
    return this.ask("/v1/calibration");
  }

  // Events

  since(seconds, kind) {
    return this.ask("/v1/explorer/since", { seconds, kind });
  }

  numbered(number) {
    return this.ask("/v1/explorer/numbered", { number });
  }

  // Tell of every change, as it happens; after a break, try again, slower each time.
  async watch(since, onChange, onState) {
    let wait = 500;
    for (;;) {
      try {
        const answer = await this.request("/v1/events", { since, changes: true }, { headers: { Accept: "text/event-stream" } });
        if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
        onState(true);
        wait = 500;
        for await (const event of readEvents(answer.body)) {
          if (event.id) since = Number(event.id);
          onChange(event.kind, event.data);
        }
      } catch {
        // Whatever it was: try again.
      }
      onState(false);
      await new Promise(done => setTimeout(done, wait));
      wait = Math.min(10_000, 2 * wait);
    }
  }
}

// Server-sent events of a stream; a browser's own reader of them cannot send a token.
async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const fields = Object.fromEntries(text.slice(0, end).split("\n").filter(line => line[0] !== ":")
        .map(line => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
      text = text.slice(end + 2);
      if (fields.data) yield { id: fields.id, kind: fields.event ?? "message", data: JSON.parse(fields.data) };
    }
  }
}
