"""What removals cost, in time, memory and depth."""

import time
from typing import Any

import numpy as np

from perchtree import ClusterTree

from .common import Row, build, load, seconds
from .phases import tree_phase

MODES: dict[str, dict[str, Any]] = {"average": {"linkage": "average"}, "box": {"linkage": "box"}}


def run() -> list[Row]:
    return [*against_inserts(), *many(), *window(), *churn()]


def against_inserts() -> list[Row]:
    """A removal beside the tree phase of an insert, best of three, interleaved."""
    rows = []
    for mode, settings in MODES.items():
        build(load("letter", 200)[0], search="scan", **settings).remove([0, 1])
        for name in ("letter", "aloi27", "covtype", "hist50k", "clinc150", "omniglot"):
            X = load(name, 10_000 if name == "omniglot" else 20_000)[0]
            insert = remove = float("inf")
            for _ in range(3):
                insert = min(insert, tree_phase(X, **settings))
                remove = min(remove, removal_phase(X, **settings))
            what = f"{name}, {len(X):,} rows, {mode}: a removal / the tree phase of an insert"
            figure = f"{remove:.1f} / {insert:.1f} us = {remove / insert:.2f}"
            rows.append(Row(what, figure, "<= 1.5"))
    return rows


def removal_phase(X: Any, **settings: Any) -> float:
    """Microseconds per point, for a random half."""
    tree = build(X, search="scan", n_jobs=-1, **settings)
    gone = np.random.default_rng(0).permutation(len(X))[: len(X) // 2]
    return 1e6 * seconds(lambda: tree.remove(gone)) / len(gone)


def many() -> list[Row]:
    """A large part of a large tree in one call."""
    X = load("covtype")[0]
    gone = np.random.default_rng(0).permutation(len(X))[:100_000]
    rows = []
    for mode, settings in MODES.items():
        tree = build(X, n_jobs=-1, **settings)
        spent = seconds(lambda tree=tree: tree.remove(gone))
        tree.check()
        what = f"covtype, 100,000 of {len(X):,} rows removed in one call, {mode}"
        rows.append(Row(what, f"{spent:.1f} s"))
    return rows


def window(width: int = 50_000, n_rows: int = 500_000) -> list[Row]:
    """Memory of a sliding window."""
    X = load("covtype", n_rows)[0]
    tree = build(X[:width], linkage="average", n_jobs=-1)
    step, resident = 5_000, []
    for start in range(width, len(X), step):
        tree.insert(X[start : start + step])
        tree.remove(tree.ids[: tree.n_points - width])
        resident.append(_resident())
    tree.check()
    tenth = len(resident) // 10
    figure = f"{resident[tenth]:,.0f} MB after a tenth, {resident[-1]:,.0f} MB at the end"
    return [Row(f"covtype, a window of {width:,} over {len(X):,} rows", figure, "does not grow")]


def churn(n_changes: int = 1_000_000, size: int = 10_000) -> list[Row]:
    """Depth after a million alternating inserts and removals."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, 8)).astype(np.float32)
    rows = []
    for mode, settings in MODES.items():
        tree = ClusterTree(8, **settings)
        tree.insert(_points(rng, centres, size))
        start, made = time.perf_counter(), 0
        while made < n_changes:
            ids = tree.insert(_points(rng, centres, 100))
            tree.remove(rng.choice(tree.ids[: -len(ids)], 100, replace=False))
            made += 200
        spent = time.perf_counter() - start
        tree.check()
        fresh = ClusterTree(8, **settings)
        fresh.insert(tree.vectors(tree.ids))
        what = f"{n_changes:,} inserts and removals at {size:,} points, {mode}"
        figure = (
            f"depth {tree.depth.max}, mean {tree.depth.mean:.1f}; of a fresh tree "
            f"{fresh.depth.max}, {fresh.depth.mean:.1f}; {1e6 * spent / n_changes:.0f} us each"
        )
        rows.append(Row(what, figure, "depth <= 1.5 times that of a fresh tree"))
    return rows


def _points(rng: np.random.Generator, centres: Any, n_points: int) -> Any:
    noise = rng.normal(size=(n_points, centres.shape[1])).astype(np.float32)
    return centres[rng.integers(0, len(centres), n_points)] + np.float32(0.2) * noise


def _resident() -> float:
    """Megabytes of memory that the process has now."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1e3
