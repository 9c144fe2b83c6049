"""Improving an existing tree: grafts from every leaf to its neighbours among all leaves."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._centres import node_centres
from ._kernels.modes import Repairs
from ._kernels.schema import GRAFTS, LEAF, NODE, NONE, Tree, Upkeep
from .search.interface import Search
from .table import living_ids

_LEAVES_AT_ONCE = 1024
"""Leaves whose neighbours are searched together."""

_GRAFTED_AT_ONCE = 256
"""Leaves handed to one kernel call: Ctrl-C and readers are served in between."""


class Refinement:
    """Passes over all leaves of a tree, which change their places but not the leaves."""

    def __init__(
        self,
        tree: Tree,
        upkeep: Upkeep,
        repairs: Repairs,
        search: Search,
        k: int,
        lock: AbstractContextManager[Any],
    ) -> None:
        assert repairs.graft_rows is not None
        self._graft, self._meet = repairs.graft_rows, repairs.meet_rows
        self._tree, self._upkeep, self._lock = tree, upkeep, lock
        self._search, self._k = search, k
        self.leaves = _leaves(tree)
        self._neighbours: dict[int, NDArray[np.int32]] = {}
        self.parts: list[None] = []
        """One entry for each call of the kernel that has ended."""
        self.most_parts: int | None = None
        """How many of them to make at most."""

    @property
    def _is_full(self) -> bool:
        return len(self.parts) == self.most_parts

    def run(self, time_limit: float | None, bar: Any) -> Iterator[int]:
        """Make one pass after the other; the number of grafts in each, also in one that was cut
        short."""
        end = np.inf if time_limit is None else time.monotonic() + time_limit
        while time.monotonic() < end and not self._is_full:
            before = int(self._upkeep.done[GRAFTS])
            for start in range(0, len(self.leaves), _LEAVES_AT_ONCE):
                if time.monotonic() >= end or self._is_full:
                    break
                part = self.leaves[start : start + _LEAVES_AT_ONCE]
                if start not in self._neighbours:
                    self._neighbours[start] = self._find(part)
                self._graft_part(part, self._neighbours[start])
                bar.update(len(part))
            yield int(self._upkeep.done[GRAFTS]) - before

    def _graft_part(self, leaves: NDArray[np.int32], neighbours: NDArray[np.int32]) -> None:
        for first in range(0, len(leaves), _GRAFTED_AT_ONCE):
            if self._is_full:
                return
            part = slice(first, first + _GRAFTED_AT_ONCE)
            nearest = np.ascontiguousarray(neighbours[part, : self._k])
            given = self._tree, self._upkeep, leaves[part], nearest
            with self._lock:
                if self._meet is not None:
                    self._meet(self._tree, leaves[part], neighbours[part])
                # One call, within which no signal is handled, grafts and counts.
                self.parts.extend(map(self._graft, *([argument] for argument in given)))

    def _find(self, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
        """The k nearest other leaves of each, and those that each may list, as nodes, NONE where
        there are fewer."""
        k = max(self._k, self._tree.lists.shape[1])
        rows = node_centres(self._tree, leaves).astype(np.float32)
        found = self._search.near(self._tree, rows, k + 1, _arrays.make_work())
        nodes = found.leaves[:, :, NODE]
        itself = nodes == leaves[:, np.newaxis]
        others_first = np.argsort(itself, axis=1, kind="stable")[:, :k]
        others = np.take_along_axis(np.where(itself, NONE, nodes), others_first, axis=1)
        return np.ascontiguousarray(others)


def _leaves(tree: Tree) -> NDArray[np.int32]:
    """All leaves, in the order of their smallest ids."""
    leaves, first = np.unique(tree.ids[living_ids(tree), LEAF], return_index=True)
    return np.ascontiguousarray(leaves[np.argsort(first)])
