"""Latencies of reads amid inserts: python -m benchmarks.serve [POINTS [SECONDS [FOLDER]]].

A service with so many points (500,000 x 64 if nothing else is said) gets batches of 1,000 rows, one
after the other, while four readers ask for records, neighbours and clusters; before that, the same
without inserts. Rows are sent by a process of their own: readers that wait for the interpreter of
this one would seem to wait for the service. A folder that is named is kept and used again.
"""

import contextlib
import http.client
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from tests.serve.serving import Process

from benchmarks.durable import D, clustered
from perchtree import Client, Collection

READERS, PAUSE = 4, 0.02
BATCH = 1000
KINDS = ("record", "nearest", "predict", "clusters", "health")
"""The last one needs no thread and no collection: it shows how busy the machine itself is."""


class Reader:
    """One connection that asks one thing after the other, and notes how long answers take."""

    def __init__(self, url, keys, rows, seed):
        self.times, self.errors = {}, []
        self._url, self._keys, self._rows = urlsplit(url), keys, rows
        self._random = np.random.default_rng(seed)
        self._stop = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self):
        self._stop = True
        self._thread.join()

    def _run(self):
        connection = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=60)
        while not self._stop:
            kind = KINDS[self._random.integers(len(KINDS))]
            start = time.perf_counter()
            self._ask(connection, kind)
            self.times.setdefault(kind, []).append(time.perf_counter() - start)
            time.sleep(PAUSE * self._random.random() * 2)

    def _ask(self, connection, kind):
        if kind == "record":
            connection.request("GET", f"/v1/points/{self._keys[self._random.integers(10**5)]}")
        elif kind == "health":
            connection.request("GET", "/health")
        elif kind == "clusters":
            connection.request("GET", "/v1/clusters?limit=50&describe=false")
        else:
            row = self._rows[self._random.integers(len(self._rows))].tolist()
            more = {"k": 5} if kind == "nearest" else {}
            connection.request(
                "POST", f"/v1/{kind}", json.dumps({"vectors": [row]} | more),
                {"Content-Type": "application/json"},
            )  # fmt: skip
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            self.errors.append((kind, answer.status))


def insert(url, first, seconds, told):
    """Add batches one after the other; tell how many rows a second."""
    rows, done, begun = clustered(200_000, seed=1), 0, time.monotonic()
    with Client(url, timeout=300) as client:
        while time.monotonic() < begun + seconds:
            part = slice(done % len(rows), done % len(rows) + BATCH)
            names = [f"n{first}-{i}" for i in range(done, done + BATCH)]
            client.add(rows[part], keys=names)
            if done == 0:
                told.put("begun")
            done += BATCH
    told.put(done / (time.monotonic() - begun))


@contextlib.contextmanager
def inserting(url, first, seconds):
    """Insert meanwhile, in another process; what to call for how much it was, in the end."""
    start = multiprocessing.get_context("spawn")
    told = start.Queue()
    process = start.Process(target=insert, args=(url, first, seconds, told))
    process.start()
    told.get()
    yield told.get
    process.join()


@contextlib.contextmanager
def resting(seconds):
    yield lambda: time.sleep(seconds) or 0


def measure(title, url, keys, rows, work):
    with work as wait:
        readers = [Reader(url, keys, rows, seed) for seed in range(READERS)]
        done = wait()
        for reader in readers:
            reader.stop()
    errors = [error for reader in readers for error in reader.errors]
    print(f"{title}: {done:,.0f} rows a second inserted, {len(errors)} errors {errors[:3]}")
    for kind in KINDS:
        times = 1000 * np.array([t for reader in readers for t in reader.times.get(kind, [])])
        if len(times):
            low, mid, high, top = np.percentile(times, (50, 90, 99, 100))
            print(
                f"  {kind:9} {len(times):6,} answers: median {low:6.1f} ms, 90 % {mid:6.1f}, "
                f"99 % {high:6.1f}, longest {top:7.1f}"
            )


def main(n_points=500_000, seconds=60, folder=None):
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(folder or temporary + "/large.perchdb")
        if not path.exists():
            with Collection.open(path, write=True, sync=False) as collection:
                rows = clustered(n_points)
                for start in range(0, n_points, 20_000):
                    part = slice(start, start + 20_000)
                    keys = [f"r{i}" for i in range(n_points)[part]]
                    collection.add(rows[part], keys=keys)
        with Process(path, "-q", "--distance", "2.5") as process:
            client = Client(process.url, timeout=300)
            rows, keys = clustered(200_000, seed=1), [f"r{i}" for i in range(100_000)]
            started = time.time()
            first = len(client)
            client.nearest(rows[:3])
            next(client.clusters())
            print(f"{first:,} x {D}; first clusters after {time.time() - started:.1f} s")

            measure("no inserts", process.url, keys, rows, resting(seconds / 3))
            before = process.resident
            work = inserting(process.url, first, seconds)
            measure("bulk inserts", process.url, keys, rows, work)
            print(
                f"memory: {before / 2**20:,.0f} MiB before, {process.resident / 2**20:,.0f} after"
            )
            print(f"ends {process.stop()}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*map(int, given[:2]), *given[2:])
