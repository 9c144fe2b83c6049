// A clustering of a page in a file: which cluster each run of records is in, in the order of the tree.

// The last place whose value is at most `wanted`, between two places; `low - 1` if there is none.
export function lastUpTo(values, wanted, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1; else high = middle;
  }
  return low - 1;
}

export const orderOf = size => 31 - Math.clz32(size);

export class Clustering {
  constructor(source, place) {
    this.source = source;
    this.info = source.values.clusterings[place];
    const { columns } = source, lengths = columns[`runs_${place}`];
    this.labels = columns[`labels_${place}`];
    this.firm = columns[`firm_${place}`];
    this.starts = new Uint32Array(lengths.length);
    for (let i = 1; i < lengths.length; i++) this.starts[i] = this.starts[i - 1] + lengths[i - 1];
    this.byNumber = new Map();
    for (let i = 0; i < lengths.length; i++) {
      const number = this.labels[i], span = [this.starts[i], this.starts[i] + lengths[i]];
      const known = this.byNumber.get(number);
      if (known) { known.spans.push(span); known.size += lengths[i]; }
      else this.byNumber.set(number, { number, size: lengths[i], spans: [span] });
    }
    this.orders = new Map();
  }

  ends(run) {
    return run + 1 < this.starts.length ? this.starts[run + 1] : this.source.values.points;
  }

  runOf(position) {
    return lastUpTo(this.starts, position, 0, this.starts.length);
  }

  within(start, end) {
    const run = this.runOf(start);
    return end <= this.ends(run) ? run : -1;
  }

  firstOf(number) {
    return this.byNumber.get(number).spans[0][0];
  }

  confidence(position) {
    return this.firm ? this.firm[position] / 100 : null;
  }

  cohesion(cluster) {
    if (!this.firm) return null;
    if (cluster.cohesion === undefined) {
      let sum = 0;
      for (const [start, end] of cluster.spans) for (let i = start; i < end; i++) sum += this.firm[i];
      cluster.cohesion = sum / cluster.size / 100;
    }
    return cluster.cohesion;
  }

  sorted(by) {
    if (!this.orders.has(by)) {
      const list = [...this.byNumber.values()];
      const keys = {
        size: (a, b) => b.size - a.size || a.number - b.number,
        small: (a, b) => a.size - b.size || a.number - b.number,
        number: (a, b) => a.number - b.number,
        newest: (a, b) => b.number - a.number,
        sure: (a, b) => this.cohesion(b) - this.cohesion(a) || b.size - a.size || a.number - b.number,
        doubt: (a, b) => this.cohesion(a) - this.cohesion(b) || b.size - a.size || a.number - b.number,
      };
      this.orders.set(by, list.sort(keys[by]));
    }
    return this.orders.get(by);
  }

  // The box of the same order holds at least half of it: its name fits.
  described(cluster) {
    const { source } = this, [start] = cluster.spans[0], largest = cluster.spans.reduce((a, b) => b[1] - b[0] > a[1] - a[0] ? b : a);
    let box = -1;
    for (let order = orderOf(largest[1] - largest[0]); order > 0 && box < 0; order--) box = source.holding(largest[0], order);
    const own = box >= 0 && source.columns.box_exemplar[box];
    const inside = box >= 0 && own >= largest[0] && own < largest[1];
    return {
      number: cluster.number, of: start, size: cluster.size, start: largest[0], span: largest[1] - largest[0],
      cohesion: this.cohesion(cluster), words: box >= 0 ? source.values.words?.[box] ?? "" : "",
      exemplar: source.record(inside ? own : largest[0]),
    };
  }
}
