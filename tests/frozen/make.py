"""Freeze what a version of perchtree builds, to be compared with what later versions build.

    PYTHONPATH=src python tests/frozen/make.py tests/frozen/builds-VERSION.npz

The archive has the rows and queries of each data set once, and per build: its recipe as JSON,
the merges, heights, cuts, neighbours of the queries, and work counts by name. It is written once
per released version. `tests/conformance/test_frozen.py` builds everything again.
"""

import dataclasses
import functools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

BATCH_FREE_COUNTS = (
    "masking_rotations",
    "balance_rotations",
    "collapses",
    "interchanges",
    "grafts",
)
"""Work counts that depend on the rows and their order alone, however they are split into calls."""

CUTS = (2, 5, 17)
NEIGHBORS = 3


def make_data() -> dict[str, np.ndarray]:
    """Rows by name: each kind brings out something else in searches and rotations."""
    rng = np.random.default_rng(20170813)
    data = {}
    centres = 6 * rng.normal(size=(12, 5))
    data["clustered"] = centres[rng.integers(0, 12, 400)] + rng.normal(size=(400, 5))
    data["grid"] = rng.integers(0, 5, (300, 3))  # ties everywhere, and copies: 125 places
    centres = rng.normal(size=(10, 48))
    units = centres[rng.integers(0, 10, 200)] + 0.7 * rng.normal(size=(200, 48))
    data["units"] = units / np.linalg.norm(units, axis=1, keepdims=True)
    data["sorted"] = np.sort(rng.random((250, 2)), axis=0)
    centres = 2.0**15 + rng.normal(size=(8, 4))
    data["far"] = centres[rng.integers(0, 8, 250)] + 0.2 * rng.random((250, 4))
    data["few"] = rng.integers(0, 9, (90, 2))  # for exact masking, which takes cubic time
    return {name: rows.astype(np.float32) for name, rows in data.items()}


def make_queries(rows: np.ndarray) -> np.ndarray:
    """Some of the rows, and places halfway between two of them."""
    some = rows[:: max(1, len(rows) // 12)]
    return np.concatenate([some, (some + some[::-1]) / 2]).astype(np.float32)


def recipe(data: str, *, refine=None, metric=None, **settings) -> dict[str, Any]:
    """How to build a tree; JSON can hold it. With a metric, the estimator builds it."""
    return {"data": data, "settings": settings, "refine": refine, "metric": metric}


published = functools.partial(recipe, linkage="box", masking="published", balance="size")
average = functools.partial(recipe, linkage="average", graft=5)
ward = functools.partial(recipe, linkage="ward", graft=5)

RECIPES = {
    "box": published("clustered", search="auto"),
    "box-unbalanced": published("far", balance=None, search="scan"),
    "box-greedy": published("sorted", masking=None, search="auto"),
    "box-interval-ratio": published("grid", masking="interval", balance="ratio", search="astar"),
    "box-exact": published("few", masking="exact", balance=None, search="scan"),
    "box-exact-ratio": published("few", masking="exact", balance="ratio", search="auto"),
    "box-beam": published("units", search="beam", beam_width=3),
    "box-collapsed": published("clustered", search="auto", max_leaves=60),
    "box-collapsed-copies": published("grid", masking="interval", search="astar", max_leaves=25),
    "average": average("units", search="auto"),
    "average-alone": average("far", graft=0, search="scan"),
    "average-beam": average("clustered", search="beam", beam_width=2),
    "average-collapsed": average("grid", search="scan", max_leaves=40),
    "average-beam-collapsed": average("clustered", search="beam", beam_width=4, max_leaves=50),
    "average-refined": average("sorted", search="auto", refine={"passes": 3, "neighbors": 5}),
    "ward": ward("grid", search="astar"),
    "ward-alone": ward("clustered", graft=0, search="auto"),
    "ward-refined": ward("units", graft=0, search="auto", refine={"passes": 2, "neighbors": 8}),
    "cosine": average("clustered", search="auto", metric="cosine"),
}


def build(recipe, rows, batch_rows=None, n_jobs=None):
    """Build a tree from `rows`, given in batches of `batch_rows` (all at once if None)."""
    from perchtree import ClusterTree, Perch

    step = batch_rows or len(rows)
    batches = [rows[start : start + step] for start in range(0, len(rows), step)]
    if recipe["metric"] is not None:
        model = Perch(metric=recipe["metric"], n_jobs=n_jobs, **recipe["settings"])
        for batch in batches:
            model.partial_fit(batch)
        return model.tree_
    tree = ClusterTree(rows.shape[1], n_jobs=n_jobs, **recipe["settings"])
    for batch in batches:
        tree.insert(batch)
    if recipe["refine"] is not None:
        tree.refine(**recipe["refine"])
    return tree


def numbered(tree):
    """The tree with its merges in the order of version 0.1.0: by the diagonals of boxes."""
    from perchtree.table import NodeHeights, build_table, node_diagonals

    with tree.reading() as arrays:
        diagonals = node_diagonals(arrays)
        return build_table(arrays, NodeHeights(diagonals, diagonals))


def read(tree, queries):
    """Everything about a tree that is frozen, apart from its work counts."""
    table = numbered(tree)
    read = {"children": table.children.astype(np.int16), "heights": table.heights}
    for k in CUTS:
        read[f"cut-{k}"] = tree.cut(k, criterion="cost").astype(np.int16)
    read["nearest"] = tree.nearest(queries, k=NEIGHBORS)[0].astype(np.int16)
    return read


def write(path: Path) -> None:
    arrays: dict[str, np.ndarray] = {}
    for name, rows in make_data().items():
        arrays[f"rows/{name}"], arrays[f"queries/{name}"] = rows, make_queries(rows)
    for name, how in RECIPES.items():
        tree = build(how, arrays[f"rows/{how['data']}"])
        tree.check()
        arrays[f"recipe/{name}"] = np.array(json.dumps(how))
        arrays[f"counts/{name}"] = np.array(json.dumps(dataclasses.asdict(tree.stats)))
        for part, values in read(tree, arrays[f"queries/{how['data']}"]).items():
            arrays[f"{part}/{name}"] = values
    np.savez_compressed(path, **arrays)
    print(f"{path}: {len(RECIPES)} builds, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
