"""The tree phase alone: everything but the search, in microseconds a point."""

import time
from typing import Any
from unittest import mock

from perchtree import ClusterTree

from .common import Row, build, load
from .imagenet import make_features


def tree_phase(X: Any) -> float:
    """Microseconds a point spent outside the search, neighbours being found in advance."""
    spent = 0.0
    insert_part = ClusterTree._insert_part

    def timed(tree: ClusterTree, rows: Any, search: Any) -> None:
        nonlocal spent
        start = time.perf_counter()
        insert_part(tree, rows, search)
        spent += time.perf_counter() - start

    with mock.patch.object(ClusterTree, "_insert_part", timed):
        build(X, search="scan", n_jobs=-1)
    return 1e6 * spent / len(X)


def run() -> list[Row]:
    rows = []
    for name, X, goal in (
        ("aloi27", load("aloi27")[0], 10),
        ("covtype", load("covtype", 100_000)[0], 15),
        ("20,000 x 2,048", make_features(20_000, 3_400), 150),
    ):
        build(X[:100], search="scan")
        micros = min(tree_phase(X) for _ in range(2))
        rows.append(Row(f"{name}, {len(X):,} rows", f"{micros:.1f} us a point", f"<= {goal} us"))
    return rows
