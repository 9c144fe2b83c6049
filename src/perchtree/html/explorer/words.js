// Two texts side by side: which words only one of them has.
import { element, inert } from "./dom.js";

const PIECES = /[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu;
const MOST_PIECES = 400;

// Longest common subsequence of words: for each text, its pieces and whether the other has them.
export function compared(one, other) {
  const [a, b] = [one, other].map(text => (inert(text, 4000).match(PIECES) ?? []).slice(0, MOST_PIECES));
  const same = (i, j) => a[i].toLowerCase() === b[j].toLowerCase();
  const width = b.length + 1, length = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      length[i * width + j] = same(i, j) ? length[(i + 1) * width + j + 1] + 1
        : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
  const left = a.map(text => ({ text, differs: true })), right = b.map(text => ({ text, differs: true }));
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (same(i, j)) left[i++].differs = right[j++].differs = false;
    else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) i++;
    else j++;
  }
  return [left, right];
}

export function marked(pieces) {
  const text = element("bdi");
  for (const { text: piece, differs } of pieces)
    text.append(differs && /[\p{L}\p{N}]/u.test(piece) ? element("mark", {}, piece) : piece);
  return text;
}
