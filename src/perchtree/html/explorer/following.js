// A live page follows the collection, calmly: what one looks at stays where it is.
import { $, grouped, inert, soon } from "./dom.js";

const CALM = 150, QUICK = 250, SLOW = 2000, TRIES = 20, PATIENCE = 800;

// What the service tells about itself; until it can, the page says what it waits for.
export async function firstInfo(source) {
  const waiting = $("waiting"), tell = text => { waiting.textContent = text; waiting.hidden = false; };
  let patience = 0;
  for (;;) {
    try {
      return await source.info(({ points }) => {
        patience = setTimeout(() => tell(`The picture of ${grouped(points)} records is being prepared. After a start of the service, large collections take a minute or two; this page opens by itself.`), PATIENCE);
      });
    } catch (error) {
      if (!source.isLive || (error.status && error.status !== 503)) throw error;
      tell(`The service does not answer (${inert(error.message, 200)}). Trying again …`);
      await new Promise(done => setTimeout(done, SLOW));
    } finally {
      clearTimeout(patience);
    }
  }
}

export class Following {
  constructor(app) {
    this.app = app;
    this.tries = 0;
  }

  watch() {
    const { app } = this, update = soon(() => this.update(), CALM);
    app.source.watch(app.info.event ?? 0, (kind, data) => {
      if (kind !== "change") app.events.add(data);
      update();
    }, isOn => {
      document.body.dataset.live = isOn ? "on" : "off";
      app.events.tell(isOn);
      if (isOn) update();
    });
  }

  async update() {
    if (this.updating) { this.late = true; return; }
    this.updating = true;
    try {
      await this.refresh();
    } catch (error) {
      this.app.failed(error);
    } finally {
      this.updating = false;
    }
    if (this.late) { this.late = false; this.update(); }
  }

  async refresh() {
    const { app } = this, before = app.points;
    app.know(await app.source.info());
    if (!app.points) return;
    if (!before) await app.begin();
    else if (app.info.version !== this.refreshed) {
      this.refreshed = app.info.version;
      await app.icicle.refresh();
      await Promise.all([app.path.refresh(), app.list.refresh(), app.details.refresh(), app.search.refresh()]);
      if (!$("table-view").hidden) app.table.show(app.path.focus);
    }
    if (app.info.standing !== null) app.events.sum();
    // A large tree is copied from time to time: the picture follows when there is a newer copy.
    if (app.operation >= app.info.operation) { this.tries = 0; return; }
    clearTimeout(this.next);
    this.next = setTimeout(() => this.update(), ++this.tries < TRIES ? QUICK : SLOW);
  }
}
