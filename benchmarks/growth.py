"""How the cost of an insert grows, and what a second thread brings: CoverType."""

from typing import Any

import numpy as np

from perchtree import ClusterTree

from .common import Row, build, load, seconds

WINDOW = 20_000
SIZES = (10_000, 30_000, 100_000, 300_000, 581_012)


def run() -> list[Row]:
    X, _ = load("covtype")
    build(X[:100], search="astar")
    build(X[:100], n_jobs=-1)
    return [*by_astar(X), *by_size(X)]


def build_in_windows(X: Any) -> tuple[ClusterTree, list[float]]:
    """A tree, and the seconds that each window of rows took."""
    tree = ClusterTree(X.shape[1], linkage="box", search="astar")
    tree._storage.make_room(len(X))
    windows = [X[first : first + WINDOW] for first in range(0, len(X), WINDOW)]
    return tree, [seconds(lambda w=window: tree.insert(w)) for window in windows]


def by_astar(X: Any) -> list[Row]:
    builds = [build_in_windows(X) for _ in range(3)]
    tree = builds[0][0]
    total = min(sum(times) for _, times in builds)
    best = np.min([times for _, times in builds], axis=0) / WINDOW  # the machine is noisy
    early, late = best[2], best[-2]  # the last window is not full
    per_insert = tree.stats.distances / len(X)
    return [
        Row(f"covtype, {len(X):,} rows, A*, one thread", f"{total:.1f} s", "<= 20 to 24 s"),
        Row("  node distances per insert", f"{per_insert:.0f}", "<= 300"),
        Row(
            "  an insert at 50,000 rows and at the end, best of three builds",
            f"{early * 1e6:.1f} and {late * 1e6:.1f} us: {late / early:.2f} times",
            "<= 1.7 times",
        ),
        Row("  depth, largest and mean", f"{tree.depth.max} and {tree.depth.mean:.1f}"),
    ]


def by_size(X: Any) -> list[Row]:
    micros = {
        n_jobs: [1e6 * seconds(lambda n=n, j=n_jobs: build(X[:n], n_jobs=j)) / n for n in SIZES]
        for n_jobs in (1, 2)
    }
    slope = np.polyfit(np.log(SIZES), np.log(micros[1]), 1)[0]
    rows = [
        Row(
            f"  {n_rows:,} rows, default search",
            f"{one:.1f} us per insert; two threads {two:.1f}: {one / two:.2f} times as fast",
        )
        for n_rows, one, two in zip(SIZES, micros[1], micros[2], strict=True)
    ]
    return [*rows, Row("  time of an insert grows as n to the power", f"{slope:.2f}")]
