"""The tree phase alone: everything but the search, in microseconds per point."""

import time
from typing import Any
from unittest import mock

from perchtree import ClusterTree

from .common import Row, build, load
from .imagenet import make_features


def tree_phase(X: Any, **settings: Any) -> float:
    """Microseconds per point spent outside the search, neighbours being found in advance."""
    spent = 0.0
    insert_part = ClusterTree._insert_part

    def timed(tree: ClusterTree, arrays: Any, part: Any) -> None:
        nonlocal spent
        start = time.perf_counter()
        insert_part(tree, arrays, part)
        spent += time.perf_counter() - start

    with mock.patch.object(ClusterTree, "_insert_part", timed):
        build(X, search="scan", n_jobs=-1, **settings)
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
        rows.append(Row(f"{name}, {len(X):,} rows", f"{micros:.1f} us per point", f"<= {goal} us"))
    return rows + linkage_phases()


def linkage_phases() -> list[Row]:
    """The same with a linkage, as multiples of the paper mode's, interleaved."""
    modes: dict[str, dict[str, Any]] = {
        "box": {"linkage": "box"},
        "average, no grafts": {"linkage": "average", "graft": 0},
        "average": {"linkage": "average"},
    }
    goals = {"average, no grafts": 3, "average": 10}
    rows = []
    for name in ("digits", "letter", "aloi27", "omniglot", "clinc150", "hist50k", "covtype"):
        X = load(name, 10_000 if name == "omniglot" else 20_000)[0]
        times = {mode: float("inf") for mode in modes}
        for settings in modes.values():
            build(X[:100], search="scan", **settings)
        for _ in range(3):
            for mode, settings in modes.items():
                times[mode] = min(times[mode], tree_phase(X, **settings))
        for mode, goal in goals.items():
            ratio = times[mode] / times["box"]
            figure = f"{ratio:.1f} x the {times['box']:.1f} us of the paper's"
            rows.append(Row(f"{name}, {mode}", figure, f"<= {goal} x"))
    return rows
