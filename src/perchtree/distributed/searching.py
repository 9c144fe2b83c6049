"""A search whose answers were found elsewhere: the tree asks it as it asks any other."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.prepared import look_up
from .._kernels.schema import (
    DISTANCES,
    LEAF,
    NEXT_ID,
    NONE,
    PRODUCTS,
    SCANNED,
    Counts,
    Prepared,
    Tree,
)
from ..search.exact import AStarSearch
from ..search.interface import Finder, Leaves, Part, Rows, Search
from .numbering import Numbering
from .running import Answers


class FoundSearch(Search):
    """Hands over what workers have found for the rows of one block after the other.

    A row one of whose neighbours is not in the tree, because it was left out or removed meanwhile,
    is searched for here.
    """

    def __init__(self, usual: Search, numbering: Numbering) -> None:
        super().__init__(usual.k, usual.n_jobs)
        self._usual, self._numbering = usual, numbering
        self._astar = AStarSearch(usual.k)
        self._answers: Answers | None = None
        self._first_id = 0

    def expect(self, first_id: int, answers: Answers) -> None:
        """The next rows to be inserted have these neighbours."""
        self._first_id, self._answers = first_id, answers

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        assert self._answers is not None
        start = int(tree.state[NEXT_ID]) - self._first_id
        near, numbers, n_pairs, n_computed = self._answers
        near, numbers = near[start : start + len(rows)], numbers[start : start + len(rows)]
        if start == 0:
            done[PRODUCTS] += n_pairs
            done[DISTANCES] += n_computed
        done[SCANNED] += len(rows)
        ids = self._numbering.ids_of(numbers)
        lost = ((numbers != NONE) & ~self._stands(tree, ids)).any(axis=1)
        edges = np.unique([0, *np.flatnonzero(lost), *np.flatnonzero(lost) + 1, len(rows)])
        for first, stop in zip(edges.tolist(), edges[1:].tolist(), strict=False):
            if lost[first]:
                yield Part(rows[first:stop], self._astar.finder(tree, done))
            else:
                memory = Prepared(
                    np.ascontiguousarray(ids[first:stop]), np.ascontiguousarray(near[first:stop]),
                    np.zeros(1, np.int64), _arrays.make_found(self.k),
                )  # fmt: skip
                yield Part(rows[first:stop], Finder(look_up, memory))

    def _stands(self, tree: Tree, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which ids are in the tree, or about to be."""
        next_id = int(tree.state[NEXT_ID])
        known = (ids != NONE) & (ids < next_id)
        leaves = tree.ids[np.where(known, ids, 0), LEAF]
        return np.asarray((ids >= next_id) | (known & (leaves != NONE)))

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return self._usual.nearest(tree, rows, k, done)

    def near(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return self._usual.near(tree, rows, k, done)

    def kept(self, tree: Tree) -> dict[str, NDArray[Any]]:
        return self._usual.kept(tree)
