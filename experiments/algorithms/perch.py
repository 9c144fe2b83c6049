"""Our trees: as published, and purer."""

import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perchtree import ClusterTree

from ..growth import watch_growth
from . import Outcome

PUBLISHED = {"linkage": "box"}
GRAFTED = {"linkage": "average"}


def _outcome(tree: ClusterTree, n_clusters: int, seconds: float, **notes: Any) -> Outcome:
    labels = tree.cut(min(n_clusters, tree.n_leaves), criterion="cost")
    notes["bytes"] = tree.estimate_memory(tree.n_points)
    return Outcome(tree, labels, seconds, tree.depth.max, notes)


@cache
def warm_up(**settings: Any) -> None:
    """Compile everything that a build or a refinement will use."""
    for rows in (1, 100):
        for search in ["beam"] if settings.get("search") == "beam" else ["auto", "astar", "scan"]:
            tree = ClusterTree(4, n_jobs=-1, **settings | {"search": search})
            tree.insert(np.random.default_rng(0).random((300 + rows, 4)))
            tree.insert(np.zeros((rows, 4)))
            if tree.linkage != "box":
                tree.refine(1)
            tree.cut(2, criterion="cost")


def build(X: NDArray[np.float32], n_clusters: int, **settings: Any) -> Outcome:
    tree = ClusterTree(X.shape[1], n_jobs=-1, **settings)
    start = time.perf_counter()
    tree.insert(X)
    return _outcome(tree, n_clusters, time.perf_counter() - start)


def build_and_refine(X: NDArray[np.float32], n_clusters: int, **settings: Any) -> Iterator[Outcome]:
    """The tree as it is after the inserts, and after a refinement; seconds add up."""
    outcome = build(X, n_clusters, **settings)
    yield outcome
    start = time.perf_counter()
    grafts = outcome.tree.refine()
    seconds = outcome.seconds + time.perf_counter() - start
    yield _outcome(outcome.tree, n_clusters, seconds, grafts=grafts)


def run(X: NDArray[np.float32], n_clusters: int, seed: int, **settings: Any) -> Outcome:
    """One mode, compiled before its clock runs."""
    warm_up(**settings | ({"max_leaves": 50} if "max_leaves" in settings else {}))
    return build(X, n_clusters, **settings)


def grow(X: NDArray[np.float32], n_clusters: int, seed: int, **settings: Any) -> Outcome:
    """Build a tree step by step: time and depth against the number of points."""
    settings["search"] = "astar"
    warm_up(**settings)
    tree = ClusterTree(X.shape[1], **settings)
    start = time.perf_counter()
    growth = watch_growth(tree, X, steps=40)
    seconds = time.perf_counter() - start
    notes = {name: np.asarray(values).tolist() for name, values in growth._asdict().items()}
    return _outcome(tree, n_clusters, seconds, growth=notes)
