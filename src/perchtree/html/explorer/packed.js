// Small values and columns of numbers, as `perchtree.html.packing` puts them together.

const TYPES = { u1: Uint8Array, u4: Uint32Array, f4: Float32Array };

export const NONE = 2 ** 32 - 1;

export function unpacked(buffer) {
  const length = new DataView(buffer).getUint32(0, true), columns = {};
  const values = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  for (const [name, kind, start, n] of values.columns) columns[name] = new TYPES[kind](buffer, 4 + length + start, n);
  return { values, columns };
}
