"""Scan, A* and brute force give the same tree, on all data sets."""

from typing import Any

import numpy as np
from experiments.data import NAMES

from perchtree import ClusterTree
from perchtree._arrays import make_work
from perchtree._kernels.distances import point_distance
from perchtree._kernels.jit import kernel
from perchtree.search.ahead import Batch
from perchtree.search.products import Nearest

from .common import Row, build, load


@kernel
def brute_force(rows: Any, ids: Any, near: Any) -> None:
    """The nearest of all earlier rows, by direct distances; the first of equals."""
    for i in range(1, rows.shape[0]):
        for j in range(i):
            distance = point_distance(rows[i], rows[j])
            if distance < near[i]:
                near[i] = distance
                ids[i] = j


def build_by_brute_force(X: Any) -> ClusterTree:
    ids = np.full(len(X), -1, np.int32)
    near = np.full(len(X), np.inf, np.float32)
    brute_force(X, ids, near)
    tree = ClusterTree(X.shape[1], linkage="box")
    tree.reserve(len(X))
    nearest = Nearest(near[:, None], ids[:, None])
    arrays = tree._storage.show()
    tree._insert_part(arrays, Batch(X, 0, nearest, make_work()).part(arrays))
    return tree


def run() -> list[Row]:
    rows = []
    for name in NAMES:
        X, _ = load(name, 20_000)
        X = X[:5_000] if X.shape[1] > 100 else X
        brute = build_by_brute_force(X).children
        same = all(
            np.array_equal(brute, build(X, search=search, n_jobs=n_jobs).children)
            for search in ("astar", "scan", "auto")
            for n_jobs in (1, 2)
        )
        rows.append(Row(f"{name}, {len(X):,} rows", "the same tree" if same else "DIFFERENT"))
    return rows
