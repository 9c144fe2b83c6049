"""Indexes of other libraries beside search in cells, at equal recall: part of docs/cells.md.

Each runs in a process of its own. It is given the rows in batches, and before each batch is added
asked for the five nearest of its rows, as an insert into a tree does.
"""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from perchtree import ClusterTree

Rows = NDArray[np.float32]
Ids = NDArray[np.int64]

K = 5
RECALL = 0.98
"""Of the nearest neighbours: what each is set to find, by the cheapest of its settings."""
ASKED = 1_000
BATCHES = 1_000, 4_096
TRAINED = 50_000
"""Rows that k-means of IVF may see: it cannot begin without."""


class Index(Protocol):
    """What all of them can do."""

    efforts: tuple[int, ...]
    """Settings of a search, the cheapest first."""

    def ask(self, rows: Rows, effort: int) -> Ids: ...

    def add(self, rows: Rows) -> None: ...


class Cells:
    """Ours: a whole tree with it."""

    efforts = (0,)

    def __init__(self, first: Rows) -> None:
        self._tree = ClusterTree(first.shape[1], search="cells", recall=RECALL, n_jobs=-1)

    def ask(self, rows: Rows, effort: int) -> Ids:
        return self._tree.nearest(rows, k=K, exact=False)[0]

    def add(self, rows: Rows) -> None:
        self._tree.insert(rows)


class Faiss:
    """An index of faiss; `name` is what its factory calls it."""

    def __init__(self, first: Rows, name: str, effort: str, efforts: tuple[int, ...]) -> None:
        import faiss

        self._index = faiss.index_factory(first.shape[1], name)
        self._index.train(first)
        self._space, self._effort, self.efforts = faiss.ParameterSpace(), effort, efforts

    def ask(self, rows: Rows, effort: int) -> Ids:
        self._space.set_index_parameter(self._index, self._effort, effort)
        return np.asarray(self._index.search(rows, K)[1])

    def add(self, rows: Rows) -> None:
        self._index.add(rows)


class USearch:
    """A graph of usearch."""

    efforts = (32, 64, 128, 256, 512, 1024, 2048)

    def __init__(self, first: Rows) -> None:
        from usearch.index import Index

        self._index = Index(ndim=first.shape[1], metric="l2sq", dtype="f32")

    def ask(self, rows: Rows, effort: int) -> Ids:
        if len(self._index) == 0:
            return np.empty((len(rows), 0), np.int64)
        self._index.expansion_search = effort
        found = self._index.search(rows, K, threads=2)
        return np.asarray(found.keys).astype(np.int64).reshape(len(rows), -1)

    def add(self, rows: Rows) -> None:
        first = len(self._index)
        self._index.add(np.arange(first, first + len(rows)), rows, threads=2)


INDEXES: dict[str, Callable[[Rows], Index]] = {
    "perchtree, cells (with the tree)": Cells,
    "faiss IVF-Flat": lambda first: Faiss(
        first,
        f"IVF{4 * int(len(first) ** 0.5)},Flat",
        "nprobe",
        (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    ),
    "faiss HNSW": lambda first: Faiss(
        first, "HNSW32,Flat", "efSearch", (16, 32, 64, 128, 256, 512, 1024, 2048)
    ),
    "usearch": USearch,
}


def compare(X: Rows, folder: Path) -> dict[str, Any]:
    """All of them on the same rows, one after the other."""
    np.save(folder / "rows.npy", X)
    np.save(folder / "nearest.npy", exact(X))
    found = {}
    for name in INDEXES:
        runs = [_in_a_process(name, folder, size) for size in BATCHES]
        found[name] = runs[0] | {"same": runs[0]["answers"] == runs[1]["answers"]}
    return {"rows": len(X), "features": X.shape[1], "indexes": found}


def exact(X: Rows) -> Rows:
    """How far the nearest of all rows before the last ones is from each of those."""
    tree = ClusterTree(X.shape[1], linkage="box", search="scan", n_jobs=-1)
    tree.insert(X[:-ASKED])
    return tree.nearest(X[-ASKED:])[1][:, 0]


def recall_of(found: Ids, X: Rows, distances: Rows) -> float:
    """The share of the last rows of which a nearest one was found; several can be equally near."""
    rows = X[-ASKED:, np.newaxis].astype(np.float64)
    own = np.linalg.norm(rows - X[np.maximum(found, 0)], axis=2)
    own[found < 0] = np.inf
    return float(np.mean(own.min(axis=1) <= distances * (1 + 1e-5) + 1e-6))


def _in_a_process(name: str, folder: Path, size: int) -> dict[str, Any]:
    call = [sys.executable, "-m", __spec__.name, name, str(folder), str(size)]
    output = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def measure(name: str, folder: Path, size: int) -> dict[str, Any]:
    """One index: seconds to ask and add, memory, recall, time of one question, all answers."""
    X = np.load(folder / "rows.npy", mmap_mode="r")
    nearest = np.load(folder / "nearest.npy")
    rows, asked = X[:-ASKED], np.ascontiguousarray(X[-ASKED:])
    warm = INDEXES[name](np.ascontiguousarray(rows[:5_000]))  # compiled, imported
    warm.add(np.ascontiguousarray(rows[:5_000]))
    warm.ask(asked[:10], warm.efforts[0])
    before = _resident()
    start = time.process_time()
    index = INDEXES[name](np.ascontiguousarray(rows[:TRAINED]))
    training = time.process_time() - start
    effort = _cheapest(name, rows[:TRAINED], index.efforts)
    start, answers = time.process_time(), hashlib.sha256()
    for first in range(0, len(rows), size):
        batch = np.ascontiguousarray(rows[first : first + size])
        if first and name not in _FINDS_ALONE:
            index.ask(batch, effort)
        index.add(batch)
    seconds = training + time.process_time() - start
    grown = _resident() - before
    found = index.ask(asked, effort)
    answers.update(found.tobytes())
    times = []
    for row in asked[:300]:
        start = time.perf_counter()
        index.ask(row[np.newaxis], effort)
        times.append(1e3 * (time.perf_counter() - start))
    return {
        "seconds": seconds, "megabytes": grown / 2**20, "effort": effort,
        "recall": recall_of(found, X, nearest),
        "latency": np.percentile(times, [50, 99]).tolist(), "answers": answers.hexdigest(),
    }  # fmt: skip


_FINDS_ALONE = ("perchtree, cells (with the tree)",)
"""Whose `add` looks for the neighbours already."""


def _cheapest(name: str, rows: Rows, efforts: tuple[int, ...]) -> int:
    """The first setting that finds enough nearest neighbours, tried on the first rows."""
    if len(efforts) == 1:
        return efforts[0]
    rows = np.ascontiguousarray(rows)
    index, asked, nearest = INDEXES[name](rows), rows[-ASKED:], exact(rows)
    index.add(rows[:-ASKED])
    for effort in efforts:
        if recall_of(index.ask(asked, effort), rows, nearest) >= RECALL:
            return effort
    return efforts[-1]


def _resident() -> int:
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def section(own: dict[str, Any]) -> Iterator[list[str]]:
    """Rows of a table."""
    for name, run in own["indexes"].items():
        median, high = run["latency"]
        yield [
            name, f"{run['seconds']:,.0f}", f"{run['megabytes']:,.0f}", f"{run['recall']:.3f}",
            f"{median:.2f}, {high:.2f}", "yes" if run["same"] else "no",
        ]  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
