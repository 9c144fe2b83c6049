"""Improving a tree that stands: grafts from every leaf to its neighbours among all leaves."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._centres import node_centres
from ._kernels.schema import GRAFTS, LEAF, N_POINTS, NODE, NONE, Queue, Tree
from .search import batch

_LEAVES_AT_ONCE = 1024
"""Leaves whose neighbours are searched together, and then grafted: Ctrl-C is heard in between."""

Graft = Callable[[Tree, Queue, NDArray[np.int32], NDArray[np.int32]], None]


class Refinement:
    """Passes over all leaves of a tree whose leaves stay the same, only their places change."""

    def __init__(
        self, tree: Tree, queue: Queue, graft: Graft, search: str, k: int, n_jobs: int
    ) -> None:
        self._tree, self._queue, self._graft = tree, queue, graft
        self._search, self._k, self._n_jobs = search, k, n_jobs
        self.leaves = _leaves(tree)
        self._neighbours: dict[int, NDArray[np.int32]] = {}

    def run(self, time_limit: float | None, bar: Any) -> Iterator[int]:
        """One pass after the other: the number of grafts in each; what is cut short counts too."""
        end = np.inf if time_limit is None else time.monotonic() + time_limit
        while time.monotonic() < end:
            before = int(self._tree.counts[GRAFTS])
            for start in range(0, len(self.leaves), _LEAVES_AT_ONCE):
                if time.monotonic() >= end:
                    break
                part = self.leaves[start : start + _LEAVES_AT_ONCE]
                if start not in self._neighbours:
                    self._neighbours[start] = self._find(part)
                self._graft(self._tree, self._queue, part, self._neighbours[start])
                bar.update(len(part))
            yield int(self._tree.counts[GRAFTS]) - before

    def _find(self, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
        """The k nearest other leaves of each, as nodes, NONE where there are fewer."""
        own = self._tree._replace(counts=self._tree.counts.copy())  # work not counted
        rows = node_centres(self._tree, leaves).astype(np.float32)
        _, found = batch.nearest_leaves(own, rows, self._search, self._k + 1, self._n_jobs)
        nodes = found[:, :, NODE]
        itself = nodes == leaves[:, np.newaxis]
        others_first = np.argsort(itself, axis=1, kind="stable")[:, : self._k]
        others = np.take_along_axis(np.where(itself, NONE, nodes), others_first, axis=1)
        return np.ascontiguousarray(others)


def _leaves(tree: Tree) -> NDArray[np.int32]:
    """All leaves, in the order of their smallest ids."""
    leaf_of = tree.ids[: int(tree.counts[N_POINTS]), LEAF]
    leaves, first = np.unique(leaf_of, return_index=True)
    return np.ascontiguousarray(leaves[np.argsort(first)])
