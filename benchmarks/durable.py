"""What durability costs: python -m benchmarks.durable [single | threads | bulk | large | standing].

Times are compared with the same work in memory, and with bare commits, in the same run.
"""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from perchtree import Collection

D = 64


def clustered(n: int, seed: int = 0) -> np.ndarray:
    """Rows of 64 columns around 2,000 centres."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(2000, D))
    noise = 0.2 * random.normal(size=(n, D))
    return (centres[random.integers(0, len(centres), n)] + noise).astype(np.float32)


def flat(n: int) -> np.ndarray:
    """Rows of 64 columns that lie in three dimensions: quick to search, and as large as any."""
    random = np.random.default_rng(0)
    return (random.normal(size=(n, 3)) @ random.normal(size=(3, D))).astype(np.float32)


def seconds(work, *given, **options) -> float:
    start = time.perf_counter()
    work(*given, **options)
    return time.perf_counter() - start


def single(folder: Path) -> None:
    """One acknowledged row, beside the insert in memory and a bare commit of the same bytes."""
    X = clustered(10_600)
    memory = Collection()
    memory.add(X[:10_000])
    kept = Collection.open(folder / "single.perchdb", write=True, sync=False)
    kept.add(X[:10_000])
    kept.snapshot()
    kept.sync = True
    bare = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, data BLOB)")

    def commit(row):
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO rows (data) VALUES (?)", (row.tobytes(),))
        bare.execute("COMMIT")

    works, times = [memory.add, kept.add, commit], []
    for i in range(10_000, 10_600):
        took = [0.0] * len(works)
        for turn in range(len(works)):  # each comes first, second and third: the order matters
            which = (i + turn) % len(works)
            took[which] = seconds(works[which], X[i : i + 1])
        times.append(took)
    inserted, durable, committed = np.median(times, axis=0) * 1000
    kept.close()
    print(
        f"one row at 10,000 x 64: {inserted:.2f} ms in memory, {durable:.2f} ms acknowledged, "
        f"{committed:.2f} ms a bare commit: {(durable - inserted) / committed:.2f} commits more"
    )


def threads(folder: Path) -> None:
    """Single rows of 1 and 16 threads, with every fsync slowed to 4 ms; in a process of its own."""
    crash = Path(__file__).parent.parent / "tests" / "crash"
    shim = folder / "shim.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", shim, crash / "shim.c", "-ldl", "-lpthread"]
    subprocess.run(list(map(str, command)), check=True)
    environment = os.environ | {"LD_PRELOAD": str(shim), "PERCH_SHIM_FOLDER": str(folder)}
    subprocess.run(
        [sys.executable, "-m", "benchmarks.durable", "slowed", str(folder)],
        env=environment, check=True,
    )  # fmt: skip


def slowed(folder: Path) -> None:
    for make in (clustered, flat):
        _slowed(folder / f"{make.__name__}.perchdb", make(14_000), make.__name__)


def _slowed(path: Path, X: np.ndarray, name: str) -> None:
    import ctypes

    ctypes.CDLL(None).shim_sleep(0)
    kept = Collection.open(path, write=True, sync=False)
    kept.add(X[:10_000])
    kept.snapshot()
    kept.sync = True
    ctypes.CDLL(None).shim_sleep(4000)
    rates, used = {}, 10_000
    for n_threads, n_each in ((1, 300), (16, 100), (1, 300), (16, 100)):

        def work(first, n_each=n_each):
            for i in range(first, first + n_each):
                kept.add(X[i : i + 1])

        workers = [
            threading.Thread(target=work, args=(used + t * n_each,)) for t in range(n_threads)
        ]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        rates.setdefault(n_threads, []).append(n_threads * n_each / (time.perf_counter() - start))
        used += n_threads * n_each
    one, many = (max(rates[n]) for n in (1, 16))
    kept.close()
    print(
        f"{name} rows, fsync of 4 ms: {one:,.0f} rows/s by one thread, {many:,.0f} by 16: "
        f"{many / one:.1f} times"
    )


def bulk(folder: Path, n: int = 200_000) -> None:
    """Batches of 1,000, in turn in memory and in a folder."""
    X = clustered(n)
    memory = Collection()
    for sync in (True, False):
        memory = Collection()
        kept = Collection.open(folder / f"bulk-{sync}.perchdb", write=True, sync=sync)
        inserted = durable = 0.0
        for start in range(0, n, 1000):
            batch = X[start : start + 1000]
            inserted += seconds(memory.add, batch)
            durable += seconds(kept.add, batch)
        durable += seconds(kept.barrier)
        kept.close()
        print(
            f"{n:,} x 64 in batches of 1,000, sync={sync}: {n / inserted:,.0f} rows/s in memory, "
            f"{n / durable:,.0f} acknowledged: {inserted / durable:.0%}"
        )


def large(folder: Path, n: int = 500_000) -> None:
    """A large folder: how long a snapshot stops inserts, how long opening takes, and replay.

    Rows lie in three dimensions of 64: the arrays are as large as those of any other rows, and are
    built in a minute. PERCHTREE_LARGE names a folder in which the collection stays, to be used
    again.
    """
    built = Path(os.environ.get("PERCHTREE_LARGE", folder)) / f"large-{n}.perchdb"
    if not built.exists():
        with Collection.open(built, write=True, sync=False) as kept:
            X = flat(n)
            building = sum(seconds(kept.add, X[i : i + 10_000]) for i in range(0, n, 10_000))
            kept.barrier()
            kept.snapshot()
        print(f"{n:,} x 64 built in {building:.0f} s")
    X = flat(n + 100_000)[n:]
    _pause(_copied(built, folder), X)
    _opening(built)
    for _ in range(3):
        _replay(built, _copied(built, folder), X[:40_000])


def _copied(built: Path, folder: Path) -> Path:
    """A copy of a folder; snapshots, which never change, are shared."""
    path = Path(tempfile.mkdtemp(dir=folder, suffix=".perchdb"))
    for file in built.iterdir():
        (os.link if file.name.startswith("snapshot") else shutil.copy)(file, path / file.name)
    return path


def _pause(path: Path, X: np.ndarray) -> None:
    """How long inserts wait for a snapshot that another thread makes."""
    with Collection.open(path, write=True) as kept:
        kept.add(X[:2000])  # the first insert moves the arrays to memory that can grow
        usual = [seconds(kept.add, X[i : i + 20]) for i in range(2000, 4000, 20)]
        stored, pauses, times, at = kept.tree.stored, [], [], 4000

        @contextlib.contextmanager
        def timed():
            start = time.perf_counter()
            with stored() as tree:
                yield tree
            pauses.append(time.perf_counter() - start)

        kept.tree.stored = timed
        snapshot = threading.Thread(target=kept.snapshot)
        snapshot.start()
        began = time.perf_counter()
        while snapshot.is_alive():
            times.append(seconds(kept.add, X[at : at + 20]))
            at += 20
        took = time.perf_counter() - began
        del kept.tree.stored
    before, meanwhile = np.median(usual) * 1000, np.median(times) * 1000
    print(
        f"a snapshot took {took:.1f} s and kept others from changing the tree for "
        f"{pauses[0] * 1000:.0f} ms; inserts of 20 rows took {before:.0f} ms before, "
        f"{meanwhile:.0f} ms meanwhile, the longest {max(times) * 1000:.0f} ms"
    )


def _opening(path: Path) -> None:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        with Collection.open(path) as reader:
            times.append(time.perf_counter() - start)
            n_points = len(reader)
    print(
        f"{n_points:,} x 64 opened with a fresh snapshot in "
        f"{', '.join(f'{t:.2f}' for t in times)} s"
    )


def _replay(built: Path, path: Path, X: np.ndarray) -> None:
    """Rows inserted into a tree that was just opened, and inserted again by opening it anew.

    What opening takes without them is measured right before: it reads as much memory as there is.
    """
    kept = Collection.open(path, write=True, sync=False)
    first = seconds(kept.add, X) + seconds(kept.barrier)
    kept._store.close()  # without a snapshot
    del kept
    opening = seconds(_open_once, built)
    again = seconds(_open_once, path) - opening
    print(
        f"{len(X):,} rows first inserted at {len(X) / first:,.0f} rows/s, replayed at "
        f"{len(X) / again:,.0f}"
    )


def _open_once(path: Path) -> None:
    Collection.open(path).close()


def standing(folder: Path) -> None:
    """Single rows with and without standing clusters, in memory, at three sizes."""
    for n in (10_000, 40_000, 160_000):
        X = flat(n + 400)
        plain, kept = Collection(search="astar"), Collection(search="astar")
        for each in (plain, kept):
            each.add(X[:n])
        distance = plain.tree.cut_level(n // 20, criterion="height")
        clusters = kept.keep_clusters(distance)
        times = []
        for i in range(n, n + 400):
            row, since = X[i : i + 1], clusters.last_event
            times.append((
                seconds(plain.add, row), seconds(kept.add, row),
                seconds(clusters.events, since), seconds(clusters.cluster_of, i),
            ))  # fmt: skip
        whole = seconds(plain.tree.cut, distance=distance)
        inserted, followed, events, asked = np.median(times, axis=0) * 1000
        print(
            f"{n:,} x 64, {len(clusters):,} clusters: a row takes {inserted:.2f} ms, with standing "
            f"clusters {followed:.2f}; its events {events:.3f}, its cluster {asked:.3f}, a whole "
            f"cut {whole * 1000:.0f} ms"
        )


if __name__ == "__main__":
    if "slowed" in sys.argv:
        slowed(Path(sys.argv[2]))
        sys.exit()
    parts = {
        "single": single, "threads": threads, "bulk": bulk, "large": large, "standing": standing,
    }  # fmt: skip
    for name in sys.argv[1:] or parts:
        folder = Path(tempfile.mkdtemp(dir=os.environ.get("PERCHTREE_BENCH", None)))
        try:
            parts[name](folder)
        finally:
            shutil.rmtree(folder)
