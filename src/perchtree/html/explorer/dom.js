// Elements, numbers and texts. Texts of users only ever become text nodes.

const format = new Intl.NumberFormat("en");
// Control characters, halves of surrogate pairs, and what turns the text after it around.
const UNWANTED = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export const $ = id => document.getElementById(id);

export function counted(n, what) {
  return `${format.format(n)} ${what}${n === 1 ? "" : "s"}`;
}

export function grouped(n) {
  return format.format(n);
}

export function share(part, whole) {
  return `${(100 * part / whole).toPrecision(3)} %`;
}

export function short(value) {
  return value === 0 ? "0" : Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4
    ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

// Text on one line, without characters that act on what is around it.
export function inert(text, longest = Infinity) {
  const line = String(text ?? "").slice(0, longest === Infinity ? undefined : 4 * longest + 100)
    .replace(/\s+/g, " ").replace(UNWANTED, "").trim();
  return line.length <= longest ? line : [...line].slice(0, longest - 1).join("") + "…";
}

// element("li", { class: "row", onclick }, "text", other): properties beginning with "on" are handlers.
export function element(kind, given = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name === "class" ? "class" : name, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== undefined && child !== null && child !== false));
  return made;
}

export function button(text, action, given = {}) {
  return element("button", { type: "button", onclick: action, ...given }, text);
}

// A text of a record, kept apart from the direction of what is around it.
export function quoted(text, longest = 400) {
  return element("bdi", {}, inert(text, longest));
}

// What a record is called: its text, or its key.
export function called(record, longest = 400) {
  if (!record || record.missing) return "";
  return inert(record.text ?? "", longest) || inert(record.key ?? "", longest) || `record ${record.id}`;
}

// Who has the focus in what is replaced has it in the same place of what takes its place.
export function keepingFocus(old, replace) {
  const focusable = part => [...part.querySelectorAll("button, input, a")];
  const place = old.contains(document.activeElement) ? focusable(old).indexOf(document.activeElement) : -1;
  const made = replace();
  if (place >= 0) focusable(made)[place]?.focus({ preventScroll: true });
}

let shownUntil = 0;
export function say(text, isError = false) {
  const box = $("message");
  box.textContent = text;
  box.className = isError ? "error" : "";
  const mine = shownUntil = performance.now() + (isError ? 8000 : 4000);
  setTimeout(() => { if (shownUntil === mine) box.textContent = ""; }, isError ? 8000 : 4000);
}

export function hueOf(number) {
  return (number * 137.508 + 210) % 360;
}

export function isCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// Calls that come faster than that are put together; the last one counts.
export function soon(action, milliseconds) {
  let waiting = 0;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => action(...given), milliseconds);
  };
}
