"""How far from the product: whole builds, and the search alone, against the bare X X^T / 2."""

import os
from functools import partial
from typing import Any

import numpy as np

from .common import Row, best_of, build, half_product, load, resampled, run_python

GOALS = {
    "clinc150": (1.0, 1.2),
    "clinc150, 100,000 rows with noise": (0.5, 0.8),
    "omniglot": (0.6, 1.1),
}
"""Data -> whole build / bare product, as published and in the default mode."""

OTHERS = {
    "hist50k": 20_000,
    "aloi27": 50_000,
    "covtype": 60_000,
    "letter": 20_000,
    "spambase": 4_601,
}
"""Data on which no build may take more than 1.1 times as long as with version 0.1.0."""

EARLIER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from perchtree import ClusterTree
X = np.load(sys.argv[2])
settings = {"linkage": sys.argv[3], "n_jobs": 2}
ClusterTree(X.shape[1], **settings).insert(X[:3000])
times = []
for _ in range(2):
    start = time.perf_counter()
    ClusterTree(X.shape[1], **settings).insert(X)
    times.append(time.perf_counter() - start)
print(min(times))
"""


def run() -> list[Row]:
    rows = []
    for name, goals in GOALS.items():
        X = resampled(100_000) if "noise" in name else load(name)[0]
        bare = half_product(X)
        for (linkage, mode), goal in zip(
            (("box", "published"), ("average", "default")), goals, strict=True
        ):
            build(X[:4200], linkage, n_jobs=-1)
            ours = best_of(2 if len(X) < 50_000 else 1, partial(build, X, linkage, n_jobs=-1))
            figure = f"{ours:.2f} s; bare product {bare:.2f} s: {ours / bare:.2f} times"
            rows.append(Row(f"{name}, {mode}", figure, f"<= {goal} times"))
        alone = search_alone(X)
        rows.append(Row("  search alone, k = 1", f"{alone / bare:.2f} times", "<= 0.4 times"))
    X, _ = load("clinc150", 10_000)
    ours = best_of(3, lambda: build(X, n_jobs=-1))
    rows.append(
        Row(
            "clinc150, 10,000 rows",
            f"{ours:.2f} s; the authors' program 33.8 s: {33.8 / ours:.0f} times as fast",
            ">= 40 times",
        )
    )
    return [*rows, *beside_earlier()]


def search_alone(X: Any) -> float:
    """Seconds of a build without rotations: the search, and what it takes to add leaves."""
    return best_of(1, lambda: build(X, "box", n_jobs=-1, masking=None, balance=None))


def beside_earlier() -> list[Row]:
    """Beside a checkout of version 0.1.0, which PERCHTREE_EARLIER names; interleaved."""
    checkout = os.environ.get("PERCHTREE_EARLIER")
    if not checkout:
        return [Row("beside version 0.1.0", "set PERCHTREE_EARLIER to a checkout of it")]
    rows = []
    for name, n_rows in OTHERS.items():
        X, _ = load(name, n_rows)
        path = f"{os.environ.get('TMPDIR', '/tmp')}/perchtree-{name}.npy"
        np.save(path, X)
        for linkage in ("box", "average"):
            ratios = [
                float(run_python(EARLIER, "src", path, linkage))
                / float(run_python(EARLIER, f"{checkout}/src", path, linkage))
                for _ in range(3)
            ]
            figure = f"{np.median(ratios):.2f} times the time of 0.1.0"
            rows.append(Row(f"{name}, {n_rows:,} rows, {linkage}", figure, "<= 1.1 times"))
        os.remove(path)
    return rows
