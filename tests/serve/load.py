"""Many readers and writers at once, a kill in the middle, and a disk that is full."""

import collections
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from serving import SETTINGS, Process

from perchtree import Client, Collection, ServiceError

D = 16
DISTANCE = 1.5
"""Of standing clusters: what the writers add lies around 50 points, about 1.1 apart."""
MOST = 1500
"""Records of each writer, so that memory has no reason to grow."""
LONG = 300
"""Seconds after which it must not grow any more."""


class Acknowledged:
    """What the service has said is stored, and what was sent without an answer yet."""

    def __init__(self):
        self.lock = threading.Lock()
        self.stored = {}
        self.removed = set()
        self.pending = set()
        self.errors = collections.Counter()
        self.busy = self.round = 0
        self.times = collections.defaultdict(list)

    def check(self, url):
        """Every acknowledged record is there, with its text; every removed one is gone."""
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
            keys, lost = sorted(self.stored), []
            for start in range(0, len(keys), 200):
                part = keys[start : start + 200]
                found = http.get("/v1/points", params=[("key", key) for key in part]).json()
                texts = {point["key"]: point["text"] for point in found["points"]}
                lost += [
                    k for k in part if texts.get(k) != self.stored[k] and k not in self.pending
                ]
            gone = sorted(self.removed - self.pending)
            back = []
            for start in range(0, len(gone), 200):
                part = gone[start : start + 200]
                found = http.get("/v1/points", params=[("key", key) for key in part]).json()
                back += [point["key"] for point in found["points"]]
        return lost, back


def write(url, who, said, stop):
    """Add small batches and single records, replace and remove some, until told to stop."""
    rng = np.random.default_rng(who)
    centres = np.random.default_rng(7).normal(size=(50, D))
    n = 0
    mine = f"w{who}-{said.round}"
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        while not stop.is_set():
            size = int(rng.choice([1, 1, 5, 100]))
            rows = centres[rng.integers(50, size=size)] + 0.2 * rng.normal(size=(size, D))
            records = [
                {"key": f"{mine}-{n + i}", "vector": row.tolist(), "text": f"text {who} {n + i}"}
                for i, row in enumerate(rows)
            ]
            keys = [record["key"] for record in records]
            n += size
            if send(http, said, "POST /points", keys, "POST", "/v1/points", records):
                with said.lock:
                    said.stored.update((r["key"], r["text"]) for r in records)
            key = f"{mine}-{int(rng.integers(n))}"
            if rng.random() < 0.2 and key in said.stored:
                text = f"new text {n}"
                body = {"text": text, "vector": rng.normal(size=D).tolist()}
                if send(http, said, "PUT /points", [key], "PUT", f"/v1/points/{key}", body):
                    with said.lock:
                        said.stored[key] = text
            elif rng.random() < 0.2 and key in said.stored:
                remove(http, said, "DELETE /points", [key], "DELETE", f"/v1/points/{key}", None)
            own = [key for key in list(said.stored) if key.startswith(f"w{who}-")]
            if len(own) > MOST:
                oldest = own[:200]
                body = {"keys": oldest}
                remove(http, said, "POST /removals", oldest, "POST", "/v1/removals", body)


def remove(http, said, kind, keys, method, path, body):
    if send(http, said, kind, keys, method, path, body):
        with said.lock:
            for key in keys:
                del said.stored[key]
            said.removed.update(keys)


def send(http, said, kind, keys, method, path, body):
    """Send a change: whether it was acknowledged."""
    with said.lock:
        said.pending.update(keys)
    start = time.perf_counter()
    try:
        answer = http.request(method, path, **({} if body is None else {"json": body}))
    except httpx.TransportError:
        with said.lock:
            said.errors["no answer"] += 1
        time.sleep(0.2)
        return False  # it stays pending: nobody knows
    with said.lock:
        said.times[kind].append(time.perf_counter() - start)
        said.pending.difference_update(keys)
        if answer.status_code == 503:
            said.busy += 1
        elif answer.status_code != 200:
            said.errors[f"{kind} {answer.status_code} {answer.text[:80]}"] += 1
    if answer.status_code == 503:
        time.sleep(0.2)
    return answer.status_code == 200


READS = [
    *4 * ["GET /points"], *4 * ["POST /nearest"], "POST /predict", "GET /clusters", "GET /tree",
    "GET /search", "GET /events", "GET /info",
]  # fmt: skip


def read(url, who, said, stop):
    """Ask one thing after the other."""
    random_ = random.Random(who)
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        while not stop.is_set():
            kind = random_.choice(READS)
            key = f"w{random_.randrange(4)}-{said.round}-{random_.randrange(2000)}"
            row = {"vectors": [[random_.gauss(0, 1) for _ in range(D)]]}
            ask = {
                "GET /points": lambda key=key: http.get(f"/v1/points/{key}"),
                "POST /nearest": lambda row=row: http.post("/v1/nearest", json=row | {"k": 3}),
                "POST /predict": lambda row=row: http.post("/v1/predict", json=row),
                "GET /clusters": lambda: http.get("/v1/clusters?k=20&limit=5"),
                "GET /tree": lambda: http.get("/v1/tree/root?size=20"),
                "GET /search": lambda key=key: http.get("/v1/search", params={"q": key, "n": 3}),
                "GET /events": lambda: http.get("/v1/events?limit=10"),
                "GET /info": lambda: http.get("/v1/info"),
            }[kind]
            start = time.perf_counter()
            try:
                answer = ask()
            except httpx.TransportError:
                with said.lock:
                    said.errors["no answer"] += 1
                time.sleep(0.2)
                continue
            with said.lock:
                said.times[kind].append(time.perf_counter() - start)
                fine = answer.status_code == 200 or (
                    kind == "GET /points" and answer.status_code == 404
                )
                if answer.status_code == 503:
                    said.busy += 1
                elif not fine:
                    said.errors[f"{kind} {answer.status_code} {answer.text[:80]}"] += 1
            time.sleep(random_.random() * 0.5)


@contextlib.contextmanager
def working(url, said, n_readers, n_writers):
    """Readers and writers at work."""
    stop = threading.Event()
    threads = [threading.Thread(target=read, args=(url, i, said, stop)) for i in range(n_readers)]
    threads += [threading.Thread(target=write, args=(url, i, said, stop)) for i in range(n_writers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def begin(path):
    with Collection.open(path, write=True, **SETTINGS) as collection:
        rows = np.random.default_rng(0).normal(size=(500, D))
        keys = [f"first-{i}" for i in range(500)]
        collection.add(rows, keys=keys, texts=[f"first text {i}" for i in range(500)])


def check(path):
    """`perch check`: what it says."""
    command = [sys.executable, "-m", "perchtree", "check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace(str(path.parent) + "/", "").strip()


def load(seconds=600, readers=50, writers=4, kills=5):
    """Readers and writers for so long; then again, with a kill in the middle, several times."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "load.perchdb"
        begin(path)
        said = Acknowledged()
        with Process(path, "-q", "--distance", DISTANCE) as process:
            memory = []
            with working(process.url, said, readers, writers):
                deadline = time.monotonic() + seconds
                while time.monotonic() < deadline:
                    time.sleep(min(seconds / 10, 30))
                    memory.append((len(said.stored), process.resident // 2**20))
            lost, back = said.check(process.url)
            report(said, memory, lost, back)
            assert not lost
            assert not back
            assert not said.errors, (said.errors, unforeseen(process))
            if seconds >= LONG:
                assert growth(memory) < 1.15, memory
            assert process.stop() == 0
        print(check(path))
        for _ in range(kills):
            said = kill(path, said, readers, writers)
    return said


def unforeseen(process):
    """What the log of a service has about errors that nobody has foreseen."""
    return [line for line in process.errors if " at " in line]


def growth(memory):
    """How much larger memory is in the last quarter of a run than in the second."""
    used, quarter = [m for _, m in memory], len(memory) // 4
    return np.mean(used[-quarter:]) / np.mean(used[quarter : 2 * quarter])


def kill(path, said, readers, writers):
    """kill -9 amid changes; after a start, everything acknowledged is there."""
    said.errors.clear()
    said.round += 1
    with Process(path, "-q") as process, working(process.url, said, readers, writers):
        deadline, before = time.monotonic() + 60, len(said.times["POST /points"])
        while len(said.times["POST /points"]) < before + 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(5 * random.random())
        process.kill()
    with Process(path, "-q") as process:
        lost, back = said.check(process.url)
        print(
            f"kill -9: {len(said.stored):,} acknowledged, {len(lost)} lost; {len(said.removed):,} "
            f"removed, {len(back)} back; {len(said.pending)} without an answer"
        )
        assert not lost
        assert not back
        assert process.stop() == 0
    print(check(path))
    said.pending.clear()
    return said


def report(said, memory, lost, back):
    print(
        f"{len(said.stored):,} records acknowledged, {len(lost)} lost; {len(said.removed):,} "
        f"removed, {len(back)} back; {said.busy} times 503; other errors: {dict(said.errors)}"
    )
    for kind, times in sorted(said.times.items()):
        low, high, top = 1000 * np.percentile(times, (50, 99, 100))
        print(
            f"  {kind:15} {len(times):7,} answers: median {low:6.1f} ms, 99 % {high:7.1f}, "
            f"longest {top:8.1f}"
        )
    print("  memory, MiB (at records): " + ", ".join(f"{m} ({n:,})" for n, m in memory))


def full(rounds=1):
    """A disk that is full while records are added: nothing acknowledged is lost."""
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name, small_disk(Path(name) / "disk", 24) as disk:
            path = disk / "full.perchdb"
            begin(path)
            said = Acknowledged()
            with Process(path, "-q") as process:
                with working(process.url, said, 4, 4):
                    deadline = time.monotonic() + 60
                    filler = disk / "filler"
                    with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
                        while len(said.stored) < 100 and time.monotonic() < deadline:
                            time.sleep(0.1)
                        assert said.stored, "nothing was acknowledged before the disk was full"
                        deadline += 60
                        while file.write(b"\0" * 65536):
                            pass
                    while said.busy < 20 and time.monotonic() < deadline:
                        time.sleep(0.1)
                ready = httpx.get(f"{process.url}/ready", trust_env=False)
                reading = httpx.get(f"{process.url}/v1/points/first-1", trust_env=False)
                assert (ready.status_code, reading.status_code) == (503, 200), ready.text
                with Client(process.url, retries=0) as client, pytest.raises(ServiceError) as told:
                    client.add([[0.0] * D], keys=["more"])
                assert told.value.status == 503
                assert str(disk) not in str(told.value)
                print(f"the service says: {told.value}")
                assert set(said.errors) <= {"no answer"}, said.errors
                process.stop()
            filler.unlink()
            with Process(path, "-q") as process:
                lost, back = said.check(process.url)
                print(
                    f"disk full: {len(said.stored):,} acknowledged, {len(lost)} lost, "
                    f"{len(back)} back"
                )
                assert not lost
                assert not back
                with Client(process.url) as client:
                    client.add([[0.0] * D], keys=["more"])
                assert process.stop() == 0
            print(check(path))


@contextlib.contextmanager
def small_disk(path, megabytes):
    """A file system of its own, of so many megabytes; only where we may mount one."""
    path.mkdir()
    options = f"size={megabytes}m"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        raise PermissionError("a small file system cannot be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False)
