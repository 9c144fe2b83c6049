// Keys that work everywhere on the page, and those of the picture.
import { $ } from "./dom.js";
import { help } from "./dialogs.js";

export function listenToKeys(app) {
  const { icicle, path } = app;
  const go = key => {
    const next = icicle.beside(key);
    if (!next) return;
    icicle.choose(next);
    const { view } = icicle;
    if (next.start < view.x || next.start + next.size > view.x + view.w) icicle.show(next);
  };
  const everywhere = {
    "/": () => $("search").focus(), c: () => { app.showPane("clusters"); $("filter").focus(); }, d: () => { app.showPane("details"); app.pane.details.focus(); },
    t: () => { app.showView("table"); $("table-view").focus(); }, p: () => { app.showView("picture"); icicle.canvas.focus(); }, q: () => app.showView("questions"), "?": help,
  };
  const inPicture = {
    ArrowUp: () => go("ArrowUp"), ArrowDown: () => go("ArrowDown"), ArrowLeft: () => go("ArrowLeft"), ArrowRight: () => go("ArrowRight"),
    Enter: () => icicle.chosen && path.focusOn(icicle.chosen, false), Escape: () => path.up(), Home: () => path.home(),
    "+": () => icicle.zoom(.7), "=": () => icicle.zoom(.7), "-": () => icicle.zoom(1 / .7),
  };
  document.addEventListener("keydown", event => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || $("dialog").open || event.defaultPrevented) return;
    if (target.matches("input:not([type=checkbox]):not([type=range]), select, textarea")) return;
    if (key === "Escape" && target.closest("#aside")) { icicle.canvas.focus(); return; }
    if (!$("questions-view").hidden && app.questions.key(event)) { event.preventDefault(); return; }
    if (target.matches("button, a, input") && ["Enter", " "].includes(key)) return;
    const action = everywhere[key] ?? (target === icicle.canvas || target === document.body ? inPicture[key] : undefined);
    if (action) { action(); event.preventDefault(); }
  });
}
