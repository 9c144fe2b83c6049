// What is asked, in a dialog.
import { $, element } from "./dom.js";

const KEYS = [["← →", "the box beside"], ["↑ ↓", "the box above, the largest below"], ["Enter", "open the box"], ["Esc", "one level up; from a list, back to the picture"],
  ["Home", "the whole tree"], ["+ −", "zoom"], ["/", "search"], ["c", "list of clusters"], ["d", "details"], ["t", "table instead of the picture"], ["p", "the picture"],
  ["q", "questions; there y, n, s, u: yes, no, skip, undo"], ["?", "this help"]];

export function ask(title, parts, actions) {
  const dialog = $("dialog");
  return new Promise(done => {
    const form = element("form", { method: "dialog" }, element("h2", { id: "dialog-title" }, title), ...parts,
      element("div", { class: "tools" }, ...actions.map(([value, text]) => element("button", { value }, text))));
    dialog.replaceChildren(form);
    dialog.addEventListener("close", () => done(dialog.returnValue), { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
}

export async function confirm(title, text, action) {
  return await ask(title, [element("p", {}, text)], [["yes", action], ["", "Cancel"]]) === "yes";
}

export async function askForToken(source, isWrong) {
  const field = element("input", { type: "password", id: "token", autocomplete: "off", required: true, "aria-label": "Token" });
  const keep = element("input", { type: "checkbox", id: "keep" });
  await ask("A token is needed", [
    element("p", {}, isWrong ? "The service does not know that token." : "This service answers only those who have a token. Whoever runs it can give you one."),
    element("label", {}, "Token ", field), element("label", { class: "block" }, keep, " keep it until this tab is closed"),
    element("p", { class: "dim" }, "It is sent to this service only, and is in no address."),
  ], [["yes", "Open"]]);
  source.useToken(field.value.trim(), keep.checked);
}

export function help() {
  const list = element("dl", { class: "keys" });
  for (const [key, what] of KEYS) list.append(element("dt", {}, element("kbd", {}, key)), element("dd", {}, what));
  return ask("Keys and help", [
    element("p", {}, "Each box is a part of the tree, as wide as its number of records. Thick lines are the boundaries of clusters; the boxes of a cluster have one colour (others may have a similar one), grey boxes have parts of several."),
    element("p", {}, "Each row has smaller parts than the one above it: long chains, from which single records split off, take one row."),
    element("p", {}, "Confidence, from 0 to 1, tells how much closer a record is to the others of its cluster than to the next cluster; that of a cluster is the mean of its records. It is not a probability."),
    element("p", {}, "Tick records to copy, download or compare them, and two of them to say whether they are the same."), list,
  ], [["", "Close"]]);
}
