// What people say about pairs, and records they remove.
import { button, counted, element, grouped, inert, say } from "./dom.js";
import { ask, confirm } from "./dialogs.js";

const MOST_LISTED = 500, ATTEMPTS = 80, PAUSE = 250;
const DONE = { together: "marked as the same", apart: "marked as not the same", neither: "correction taken back" };

// Whether it was done; the page shows what came of it.
export async function correct(app, kind, a, b) {
  try {
    await app.source.correct(kind, a.key, b.key);
    app.selection.clear();
    await app.following.update();
    say(DONE[kind]);
    if (kind !== "neither") outcome(app, a, b).then(told => told && say(`${DONE[kind]}: ${told}`)).catch(() => {});
    return true;
  } catch (error) {
    app.failed(error);
    return false;
  }
}

// In which clusters the two are now: as soon as the picture has it, if that is soon.
async function outcome(app, a, b) {
  const { operation } = await app.source.info();
  for (let i = 0; app.operation < operation && i < ATTEMPTS; i++) await new Promise(done => setTimeout(done, PAUSE));
  if (app.operation < operation) return "";
  const found = await Promise.all([a, b].map(({ id }) => id === undefined ? null : app.source.cluster(id, app.how).catch(() => null)));
  if (found.includes(null)) return "";
  const [one, other] = found.map(cluster => cluster.number);
  return one === other ? `both are in cluster ${one}` : `they are in clusters ${one} and ${other}`;
}

export async function showCorrections(app) {
  try {
    const { corrections } = await app.source.corrections(), list = element("ul", { class: "plain", id: "correction-list" });
    for (const { kind, a, b } of corrections.slice(0, MOST_LISTED)) {
      const item = element("li", {}, `${inert(a, 60)} ${kind === "together" ? "belongs with" : "does not belong with"} ${inert(b, 60)} `);
      if (app.canWrite) item.append(button("Take back", () => correct(app, "neither", { key: a }, { key: b }).then(done => done && item.remove())));
      list.append(item);
    }
    if (corrections.length > MOST_LISTED) list.append(element("li", {}, `and ${grouped(corrections.length - MOST_LISTED)} more`));
    await ask("Corrections", [list], [["", "Close"]]);
  } catch (error) {
    app.failed(error);
  }
}

export async function remove(app, records) {
  const sure = await confirm(`Remove ${counted(records.length, "record")}?`, "They are removed from the collection for everybody, with all corrections and answers about them. This cannot be undone.", "Remove");
  if (!sure) return;
  try {
    const { removed } = await app.source.remove(records.map(r => r.key));
    say(`${counted(removed, "record")} removed`);
    app.selection.clear();
    await app.following.update();
  } catch (error) {
    app.failed(error);
  }
}
