"""The explorer with much data: `python tests/browser/explorer_harness.py COMMAND ...`.

changes: how soon a new record is in the picture, the events and the counts of a live page.
records: of 1,500 random records of hist50k every one is found by its text and by its key, in a file
and live.
million: how soon the first picture of a live page of a million points is there.
large: five million points in 100,000 clusters, panned and zoomed while Chromium traces what its
main thread does.

Data is made in `PERCHTREE_SCRATCH` (a folder; the default is in /tmp), and made only once. Needs
PERCHTREE_DATA for hist50k.
"""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
import websocket

sys.path += [str(Path(__file__).parent), str(Path(__file__).parent.parent / "serve")]

from browsing import open_page, start_browser, state, until
from serving import Process

from perchtree import Collection

SCRATCH = Path(os.environ.get("PERCHTREE_SCRATCH", Path(tempfile.gettempdir(), "perchtree-pages")))
CHECKED = 1500
FRAME = 16.0
"""Milliseconds that the main thread may work for one frame."""


def hist50k() -> Path:
    path = SCRATCH / "hist50k.perchdb"
    if not path.exists():
        data = Path(os.environ["PERCHTREE_DATA"])
        with np.load(data / "hist50k.npz") as held:
            X, classes = held["X"].astype(np.float32), held["y"].tolist()
        with gzip.open(data / "hist50k.texts.txt.gz", "rt", encoding="utf-8") as file:
            texts = file.read().split("\n")[: len(X)]
        order = np.random.default_rng(0).permutation(len(X)).tolist()
        with Collection.open(path, write=True, sync=False) as collection:
            collection.add(
                X[order], keys=[f"Q{i:05d}" for i in order], texts=[texts[i] for i in order],
                classes=[classes[i] for i in order],
            )  # fmt: skip
            collection.keep_clusters(distance=0.55)
    return path


def points(n: int, n_clusters: int) -> Path:
    """Points in a plane, in small clusters, with a key and a text each."""
    path = SCRATCH / f"points-{n}.perchdb"
    if not path.exists():
        rng = np.random.default_rng(0)
        centres = rng.random((n_clusters, 2)) * 3000
        part, started = 100_000, time.time()
        with Collection.open(path, write=True, sync=False, search="astar", graft=0) as collection:
            for first in range(0, n, part):
                which = rng.integers(0, n_clusters, part)
                X = centres[which] + rng.normal(0, 0.15, (part, 2))
                collection.add(
                    X, keys=[f"r{first + i}" for i in range(part)],
                    texts=[f"lot {first + i} of place {place}" for i, place in enumerate(which)],
                )  # fmt: skip
                print(f"{first + part:,} points after {time.time() - started:.0f} s", flush=True)
            collection.keep_clusters(distance=1.0)
    return path


def warm(service: Process) -> dict:
    """Wait until the service has a version to draw: what it says about its clusters."""
    begin = time.time()
    with httpx.Client(base_url=service.url, timeout=300, trust_env=False) as http:
        found = http.get("/v1/explorer/boxes?smallest=100000").json()
    print(f"first version after {time.time() - begin:.1f} s: {found['points']:,} points in "
          f"{found['n_clusters']:,} clusters, {service.resident / 2**30:.1f} GiB")  # fmt: skip
    return found


_FIND = """
const [queries, done] = arguments, field = document.getElementById('search'), found = [];
const pause = ms => new Promise(go => setTimeout(go, ms));
(async () => {
  for (const [query, key] of queries) {
    const before = document.body.dataset.searches;
    field.value = query;
    document.getElementById('searching').requestSubmit();
    for (let i = 0; i < 2000 && document.body.dataset.searches === before; i++) await pause(5);
    let hit = false;
    const list = document.querySelector('#pane-search .rows');
    for (let top = 0; top < 20; top++) {  // records of equal texts: look further down
      for (let i = 0; i < 60 && !document.querySelector('#pane-search .row'); i++) await pause(5);
      const keys = [...document.querySelectorAll('#pane-search .row .facts')].map(f => f.innerText);
      hit = keys.some(text => text.split(' ')[0] === key);
      if (hit || list.scrollTop + list.clientHeight >= list.scrollHeight) break;
      list.scrollTop += list.clientHeight;
      await pause(60);
    }
    if (!hit) found.push([query, key, document.getElementById('found').innerText]);
  }
  done(found);
})();
"""


def changes() -> None:
    """How soon a change is seen, from before it is sent."""

    def seen() -> bool:
        told = browser.execute_script(
            "return [document.getElementById('summary').innerText, document.body.dataset.operation,"
            "document.querySelectorAll('#events li').length]"
        )
        return f"{n:,} records" in told[0] and told[1] == str(operation) and told[2] > i

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.perchdb"
        with Collection.open(path, write=True, search="astar") as collection:
            X = np.random.default_rng(0).random((20_000, 3)) * 100
            collection.add(X, keys=[f"k{i}" for i in range(len(X))])
            collection.keep_clusters(distance=3.0)
        with Process(path, "--quiet") as service, httpx.Client(base_url=service.url) as http:
            browser, times = start_browser(), []
            try:
                open_page(browser, f"{service.url}/")
                browser.execute_script("document.getElementById('tab-events').click()")
                for i in range(20):
                    time.sleep(1.5)
                    begin, n = time.perf_counter(), 20_001 + i
                    body = [{"key": f"new{i}", "vector": [200 + 10 * i, 200, 200]}]
                    operation = http.post("/v1/points", json=body).json()["operation"]
                    until(seen)
                    times.append(round(1000 * (time.perf_counter() - begin)))
            finally:
                browser.quit()
            service.stop()
    print(f"20,000 points, a change is seen after {sorted(times)} ms")
    if max(times) > 1000:
        sys.exit(1)


def records() -> None:
    """Every record is found, by its text and by its key."""
    folder = hist50k()
    page = SCRATCH / "hist50k.html"
    command = [sys.executable, "-m", "perchtree", "plot", str(folder), "-o", str(page), "--force"]
    subprocess.run(command, check=True)
    print(f"the page has {page.stat().st_size / 1e6:.1f} MB")
    with Collection.open(folder) as collection:
        keys, texts = list(collection.keys), list(collection.texts)
    some = np.random.default_rng(1).choice(len(keys), CHECKED, replace=False).tolist()
    queries = [[query, keys[i]] for i in some for query in (texts[i], keys[i])]
    browser = start_browser()
    try:
        missed = _look_for(browser, page, queries)
        print(f"offline: {len(queries):,} searches of {len(keys):,} records, {len(missed)} missed")
        with Process(folder) as service:
            warm(service)
            live = _look_for(browser, f"{service.url}/", queries)
            print(f"live: {len(queries):,} searches, {len(live)} missed")
            browser.get("about:blank")
            service.stop()
    finally:
        browser.quit()
    for query, key, told in [*missed, *live][:10]:
        print("missed:", key, query, "|", told)
    if missed or live:
        sys.exit(1)


def _look_for(browser, address, queries) -> list:
    open_page(browser, address)
    missed = []
    for start in range(0, len(queries), 50):
        missed += browser.execute_async_script(_FIND, queries[start : start + 50])
    return missed


def million() -> None:
    """How soon a page shows its first picture."""
    with Process(points(1_000_000, 20_000), "--quiet") as service:
        warm(service)
        browser, times = start_browser(), []
        try:
            for _ in range(7):
                browser.get("about:blank")
                browser.get(f"{service.url}/")
                times.append(int(until(lambda: state(browser, "drawn"), 60)))
        finally:
            browser.quit()
        service.stop()
    print(f"first picture after {times} ms, median {statistics.median(times)}")
    if statistics.median(times) > 1000:
        sys.exit(1)


def large() -> None:
    """What panning and zooming cost, frame by frame."""
    with Process(points(5_000_000, 100_000), "--quiet") as service:
        warm(service)
        browser = start_browser()
        browser.address = f"{service.url}/"
        try:
            open_page(browser, browser.address)
            print(f"first picture after {state(browser, 'drawn')} ms")
            worst = [_traced(browser, *how) for how in (("pan", 1.0), ("pan", 1e-2), ("pan", 1e-4))]
            _traced(browser, "zoom", 1.0)
        finally:
            browser.quit()
        service.stop()
    if max(worst) > FRAME:
        sys.exit(1)


_MOVE = """
const [kind, share, done] = arguments, canvas = document.getElementById('tree');
const box = canvas.getBoundingClientRect(), y = box.top + 100, x = box.left + box.width / 2;
const fire = (type, at, more = {}) => canvas.dispatchEvent(new PointerEvent(type,
  {pointerId: 1, clientX: at, clientY: y, bubbles: true, ...more}));
canvas.setPointerCapture = () => {};
let n = 0;
const wheel = delta => canvas.dispatchEvent(new WheelEvent('wheel',
  {deltaY: delta, clientX: x, clientY: y, cancelable: true, bubbles: true}));
const zoomTo = share => {
  for (let i = 0; i < Math.round(Math.log(1 / share) / (240 * Math.log(1.0015))); i++) wheel(-240);
};
if (kind === 'pan' && share < 1) zoomTo(share);
if (kind === 'pan' && share === 1) zoomTo(.5);
setTimeout(() => {
  performance.mark('begin');
  if (kind === 'pan') fire('pointerdown', x);
  const step = () => {
    n++;
    if (kind === 'pan') fire('pointermove', x + (box.width * .45) * Math.sin(n / 20));
    else wheel(n % 200 < 100 ? -60 : 60);
    if (n < 240) requestAnimationFrame(step);
    else {
      if (kind === 'pan') fire('pointercancel', x);
      performance.mark('end');
      setTimeout(done, 300);
    }
  };
  requestAnimationFrame(step);
}, 1500);
"""


def _traced(browser, kind: str, share: float) -> float:
    """The largest time that the main thread worked between two frames, in milliseconds."""
    open_page(browser, browser.address)
    time.sleep(1)
    with Trace(browser) as trace:
        browser.execute_async_script(_MOVE, kind, share)
    busy = _per_frame(trace.events)
    shown = np.percentile(busy, [50, 95, 99, 100]).round(1).tolist()
    print(
        f"{kind} at {share:g} of the width: {len(busy)} frames, main thread ms per frame: "
        f"median {shown[0]}, 95 % {shown[1]}, 99 % {shown[2]}, most {shown[3]}", flush=True,
    )  # fmt: skip
    return float(shown[3])


class Trace:
    """What Chromium does, as it tells over its own protocol."""

    def __init__(self, browser) -> None:
        address = browser.capabilities["goog:chromeOptions"]["debuggerAddress"]
        about = httpx.get(f"http://{address}/json/version", trust_env=False).json()
        self._socket = websocket.create_connection(
            about["webSocketDebuggerUrl"], suppress_origin=True, timeout=60
        )
        self.events: list = []

    def _send(self, number: int, method: str, **params) -> None:
        told = {"id": number, "method": method, "params": params}
        self._socket.send(json.dumps(told))

    def __enter__(self):
        kinds = {"includedCategories": ["toplevel", "devtools.timeline", "blink.user_timing"]}
        self._send(1, "Tracing.start", traceConfig=kinds, transferMode="ReportEvents")
        while json.loads(self._socket.recv()).get("id") != 1:
            pass
        return self

    def __exit__(self, *_) -> None:
        self._send(2, "Tracing.end")
        while (told := json.loads(self._socket.recv())).get("method") != "Tracing.tracingComplete":
            if told.get("method") == "Tracing.dataCollected":
                self.events += told["params"]["value"]
        self._socket.close()


def _per_frame(events: list) -> list[float]:
    """Milliseconds that the page's main thread worked in each frame between two marks.

    Work is what its tasks take of the processor: on a busy machine they last longer.
    """
    marks = {e["name"]: e for e in events if e.get("name") in ("begin", "end") and "pid" in e
             and "user_timing" in e["cat"]}  # fmt: skip
    where = marks["begin"]["pid"], marks["begin"]["tid"]
    begin, end = marks["begin"]["ts"], marks["end"]["ts"]
    own = [e for e in events if (e.get("pid"), e.get("tid")) == where and begin <= e["ts"] <= end]
    frames = sorted(e["ts"] for e in own if e["name"] == "FireAnimationFrame")
    tasks = [e for e in own if e["name"].endswith("RunTask") and "dur" in e]
    starts = np.array(frames)
    busy = np.zeros(len(frames))
    for task in tasks:
        frame = int(np.searchsorted(starts, task["ts"] + task["dur"], "right")) - 1
        if frame >= 0:
            busy[frame] += task.get("tdur", task["dur"]) / 1000
    return busy[busy > 0].tolist()


if __name__ == "__main__":
    SCRATCH.mkdir(exist_ok=True)
    for command in sys.argv[1:]:
        {"changes": changes, "records": records, "million": million, "large": large}[command]()
