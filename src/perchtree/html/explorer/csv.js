// Records as a table that no spreadsheet takes for formulas, by the rule of `perch cut`.
const FORMULA = /^'*[=+\-@\t\r]/;
const NUMBER = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

function cell(value) {
  const text = String(value ?? "");
  const safe = typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text) ? "'" + text : text;
  return '"' + safe.replaceAll('"', '""') + '"';
}

export function asTable(head, rows) {
  return [head, ...rows].map(row => row.map(cell).join(",") + "\r\n").join("");
}

export function asCsv(records) {
  return asTable(["key", "text", "class", "cluster", "confidence"], records.map(r => [r.key, r.text, r.class, r.cluster, r.confidence]));
}

export function download(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // pages from files and over plain http may not
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("aria-hidden", "true");
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("the browser does not let this page copy: use Download instead");
  }
}
