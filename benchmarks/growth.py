"""How the cost of an insert grows: all of CoverType, by A*."""

import time

from perchtree import ClusterTree

from .common import Row, load

WINDOW = 20_000


def run() -> list[Row]:
    X, _ = load("covtype")
    tree = ClusterTree(X.shape[1], search="astar")
    tree.insert(X[:10])
    tree = ClusterTree(X.shape[1], search="astar")
    tree._make_room(len(X))
    marks = {}
    start = time.perf_counter()
    for first in range(0, len(X), WINDOW):
        tree.insert(X[first : first + WINDOW])
        marks[tree.n_points] = time.perf_counter() - start
    total = marks[len(X)]
    early = (marks[60_000] - marks[40_000]) / WINDOW
    last = len(X) // WINDOW * WINDOW
    late = (marks[last] - marks[last - WINDOW]) / WINDOW
    per_insert = tree.stats.distances / len(X)
    return [
        Row(f"covtype, {len(X):,} rows, A*", f"{total:.1f} s", "<= 20 to 24 s"),
        Row("  node distances an insert", f"{per_insert:.0f}", "<= 300"),
        Row(
            "  an insert at 50,000 rows and at the end",
            f"{early * 1e6:.1f} and {late * 1e6:.1f} us: {late / early:.2f} times",
            "<= 1.7 times",
        ),
        Row("  depth, largest and mean", f"{tree.depth.max} and {tree.depth.mean:.1f}"),
    ]
