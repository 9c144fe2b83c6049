// A tree that is in the page itself. Everything is answered from arrays, in the order of the tree.

import { Clustering, lastUpTo, orderOf } from "./clustering.js";
import { unpacked } from "./packed.js";

export async function openOffline(packed) {
  const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { values, columns } = unpacked(await new Response(stream).arrayBuffer());
  return new OfflineSource(values, columns);
}

export class OfflineSource {
  constructor(values, columns) {
    this.values = values;
    this.columns = columns;
    this.isLive = false;
    this.made = new Map();
    this.starts = columns.box_start;
    this.sizes = columns.box_size;
    this.nOrders = values.edges.length - 1;
    this.positions = columns.positions;  // of the records in the page, if those are not all
  }

  async info() {
    const { values } = this, { has } = values;
    return {
      title: values.title, points: values.points, records: values.records, nodes: values.nodes,
      has, classes: values.classes ?? [], clusterings: values.clusterings, corrections: values.n_said,
      writable: false, standing: null, operation: 0,
    };
  }

  // Boxes

  within(left, right, smallest) {
    const { starts, sizes, values: { edges } } = this, found = [];
    for (let order = this.nOrders - 1; order >= Math.max(1, orderOf(smallest)); order--) {
      const low = edges[order + 1], high = edges[order];
      let box = lastUpTo(starts, left, low, high);
      if (box < low || starts[box] + sizes[box] <= left) box++;
      for (; box < high && starts[box] < right; box++) if (sizes[box] >= smallest) found.push(box);
    }
    return found;
  }

  holding(position, order) {
    const { edges } = this.values;
    if (order < 1 || order >= this.nOrders) return -1;
    const box = lastUpTo(this.starts, position, edges[order + 1], edges[order]);
    return box >= edges[order + 1] && position < this.starts[box] + this.sizes[box] ? box : -1;
  }

  above(position, order) {
    for (let k = order + 1; k < this.nOrders; k++) {
      const box = this.holding(position, k);
      if (box >= 0) return box;
    }
    return -1;
  }

  clustering(how) {
    const number = this.values.clusterings.findIndex(c => c.by === how.by && c.value === how.value);
    const place = Math.max(0, number);
    if (!this.made.has(place)) this.made.set(place, new Clustering(this, place));
    return this.made.get(place);
  }

  async boxes(left, right, smallest, how) {
    const clusters = this.clustering(how), { columns, starts, sizes } = this;
    const places = this.within(left, right, smallest);
    const inside = box => clusters.within(starts[box], starts[box] + sizes[box]);
    return {
      operation: 0, points: this.values.points, left, n_clusters: clusters.info.n_clusters,
      boxes: places.map(box => {
        const run = inside(box), up = this.above(starts[box], orderOf(sizes[box]));
        return {
          start: starts[box], size: sizes[box], level: columns.box_level[box],
          height: columns.box_height[box], first: this.keyAt(starts[box]), order: orderOf(sizes[box]),
          cluster: run < 0 ? null : clusters.labels[run],
          of: run < 0 ? null : clusters.firstOf(clusters.labels[run]),
          edges: run < 0 ? 0 : (clusters.starts[run] === starts[box]) | (clusters.ends(run) === starts[box] + sizes[box]) << 1
            | (up < 0 || inside(up) < 0) << 2,
          main: columns.box_class ? [columns.box_class[box], columns.box_class_size[box]] : null,
        };
      }),
    };
  }

  // Boxes and clusters go by a record in them, given by its position here.
  keyAt(position) {
    return position;
  }

  async names(boxes) {
    const { values, columns } = this;
    return boxes.map(({ first, order }) => {
      const box = this.holding(first, order);
      if (box < 0) return { words: "", exemplar: this.record(first) };
      return { words: values.words?.[box] ?? "", exemplar: this.record(columns.box_exemplar[box]) };
    });
  }

  async box({ first, order }) {
    const box = this.holding(first, order);
    if (box < 0) return null;
    const { columns, starts, sizes } = this, [name] = await this.names([{ first, order }]);
    return {
      first, order, start: starts[box], size: sizes[box], level: columns.box_level[box],
      height: columns.box_height[box], ...name, classes: this.classesOf([[starts[box], starts[box] + sizes[box]]]),
    };
  }

  async path(first, order) {
    const path = [];
    for (let k = this.nOrders - 1; k >= order; k--) {
      const box = this.holding(first, k);
      if (box >= 0) path.push({ first: this.starts[box], order: k, start: this.starts[box], size: this.sizes[box], level: this.columns.box_level[box] });
    }
    return path;
  }

  // Records

  placeOf(position) {
    if (!this.positions) return position;
    const place = lastUpTo(this.positions, position, 0, this.positions.length);
    return place >= 0 && this.positions[place] === position ? place : -1;
  }

  record(position, clusters) {
    const place = this.placeOf(position), { values, columns } = this;
    const run = clusters ? clusters.runOf(position) : -1;
    const found = {
      id: position, position, cluster: run < 0 ? null : clusters.labels[run],
      of: run < 0 ? null : clusters.firstOf(clusters.labels[run]), confidence: clusters?.confidence(position) ?? null,
      class: columns.class ? values.classes[columns.class[position]] : null,
    };
    if (place < 0) return { ...found, key: null, text: null, missing: true };
    const id = columns.ids[place];
    return { ...found, key: values.keys ? values.keys[place] : id, text: values.texts ? values.texts[place] : null };
  }

  levelAt(position) {
    for (let k = 1; k < this.nOrders; k++) {
      const box = this.holding(position, k);
      if (box >= 0) return this.columns.box_level[box] + 1;
    }
    return 0;
  }

  async recordsBetween(left, right, how) {
    const clusters = this.clustering(how), found = [];
    for (let position = left; position < right; position++)
      found.push({ ...this.record(position, clusters), level: this.levelAt(position) });
    return found;
  }

  async boxMembers({ first, order }, how, skip, limit) {
    const box = this.holding(first, order), clusters = this.clustering(how), rows = [];
    const start = this.starts[box] + skip, end = Math.min(this.starts[box] + this.sizes[box], start + limit);
    for (let position = start; position < end; position++) rows.push(this.record(position, clusters));
    return { total: this.sizes[box], rows };
  }

  // Clusters

  async clusters(how, { skip, limit, sort, least, most, q }) {
    const clusters = this.clustering(how);
    let list = clusters.sorted(sort);
    if (least > 1 || most < Infinity) list = list.filter(c => c.size >= least && c.size <= most);
    if (q) {
      const hits = new Set(this.matches(q).map(position => clusters.labels[clusters.runOf(position)]));
      list = list.filter(c => hits.has(c.number));
    }
    const rows = list.slice(skip, skip + limit).map(c => clusters.described(c));
    return { total: list.length, n_clusters: clusters.info.n_clusters, rows };
  }

  async cluster(of, how) {
    const clusters = this.clustering(how), found = clusters.byNumber.get(clusters.labels[clusters.runOf(of)]);
    return { ...clusters.described(found), classes: this.classesOf(found.spans), said: this.saidAbout(found.spans), changes: null };
  }

  async members(of, how, skip, limit) {
    const clusters = this.clustering(how), found = clusters.byNumber.get(clusters.labels[clusters.runOf(of)]);
    const rows = [];
    let before = 0;
    for (const [start, end] of found.spans) {
      for (let at = Math.max(0, skip - before); at < end - start && rows.length < limit; at++)
        rows.push(this.record(start + at, clusters));
      before += end - start;
      if (rows.length >= limit) break;
      skip = Math.max(skip, before);
    }
    return { total: found.size, rows };
  }

  classesOf(spans) {
    const { class: classes } = this.columns, counts = new Map();
    if (!classes) return [];
    for (const [start, end] of spans)
      for (let i = start; i < end; i++) counts.set(classes[i], (counts.get(classes[i]) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .map(([number, size]) => ({ name: this.values.classes[number], number, size }));
  }

  saidAbout(spans) {
    const within = position => spans.some(([start, end]) => position >= start && position < end);
    return this.values.said.filter(([, a, b]) => within(a) || within(b))
      .map(([kind, a, b]) => ({ kind, a: this.record(a), b: this.record(b) }));
  }

  // Search: every record in the page whose text or key contains this, or all of its words.

  matches(query) {
    if (this.lastQuery === query) return this.lastMatches;
    const { values: { texts, keys, records }, columns: { ids }, positions } = this;
    if (!this.lowered) {
      const lower = value => value.normalize("NFC").toLowerCase();
      this.lowered = Array.from({ length: records }, (_, i) =>
        (texts ? lower(texts[i]) : "") + "\n" + (keys ? lower(keys[i]) : ids[i]));
    }
    const wanted = query.normalize("NFC").toLowerCase().trim(), words = wanted.split(/\s+/);
    const whole = [], rest = [], first = [];
    for (let i = 0; i < records; i++) {
      const line = this.lowered[i];
      const place = line.indexOf(wanted);
      if (place < 0 && !words.every(word => line.includes(word))) continue;
      const position = positions ? positions[i] : i;
      // The very text or key first, then phrases, then words.
      if (place >= 0 && (line === wanted || line.endsWith("\n" + wanted) || line.startsWith(wanted + "\n"))) first.push(position);
      else (place >= 0 ? whole : rest).push(position);
    }
    this.lastQuery = query;
    return this.lastMatches = [...first, ...whole, ...rest];
  }

  async search(query, how, skip, limit) {
    const found = this.matches(query), clusters = this.clustering(how);
    return {
      total: found.length, searched: this.values.records, of: this.values.points,
      rows: found.slice(skip, skip + limit).map(position => this.record(position, clusters)),
    };
  }

  async everyHit(query, how) {
    const clusters = this.clustering(how);
    return this.matches(query).map(position => this.record(position, clusters));
  }
}
