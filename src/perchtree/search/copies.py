"""Equal rows, found by a hash: for searches that might pass over a copy."""

import numpy as np
from numpy.typing import NDArray

from .._kernels.hashes import find_rows, note_rows
from .._kernels.numbering import is_point, point_node, row_of
from .._kernels.schema import FIRST, LEAF, NEXT_ID, NONE, POINT_ROWS, SIZE, Tree
from .interface import Rows

_SMALLEST = 1024
"""Slots of a table at least."""


class Copies:
    """A hash table of the points in a tree. It is derived from them, and never saved."""

    _table: NDArray[np.int32] | None = None
    _taken = 0

    def note(self, tree: Tree, ids: range) -> None:
        """Take notice of points that were inserted."""
        if self._table is not None:
            leaves = tree.ids[ids.start : ids.stop, LEAF]
            self._note_rows(tree, row_of(leaves[is_point(leaves) & (leaves != NONE)]))

    def find(self, tree: Tree, rows: Rows) -> NDArray[np.int32]:
        """For each row the smallest id of the point that equals it, NONE if there is none."""
        if self._table is None:
            self._make(tree)
        assert self._table is not None
        found = np.empty(len(rows), np.int32)
        find_rows(tree, self._table, rows, found)
        return np.where(found == NONE, NONE, tree.nodes[point_node(found), FIRST])

    def find_before(self, tree: Tree, rows: Rows) -> NDArray[np.int32]:
        """For each row the id of a point that equals it, in the tree or among the rows before it.

        NONE stands for a row unlike all of them.
        """
        found, first = self.find(tree, rows), first_equal(rows)
        in_batch = (found == NONE) & (first < np.arange(len(rows)))
        return np.where(in_batch, tree.state[NEXT_ID] + first, found).astype(np.int32)

    def _note_rows(self, tree: Tree, rows: NDArray[np.int32]) -> None:
        assert self._table is not None
        if 2 * (self._taken + len(rows)) > len(self._table):
            self._make(tree)  # without rows that were freed since
        else:
            self._taken += note_rows(tree, self._table, rows)

    def _make(self, tree: Tree) -> None:
        n_rows = int(tree.state[POINT_ROWS])
        rows = np.flatnonzero(tree.nodes[point_node(np.arange(n_rows)), SIZE] > 0).astype(np.int32)
        slots = max(_SMALLEST, 4 * len(rows))
        self._table = np.full(1 << (slots - 1).bit_length(), NONE, np.int32)
        self._taken = note_rows(tree, self._table, rows)


def first_equal(rows: Rows) -> NDArray[np.int64]:
    """For each row the first one that is equal to it."""
    whole = np.ascontiguousarray(rows + np.float32(0))  # -0.0 equals 0.0
    keys = whole.view(np.dtype((np.void, whole.strides[0]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    equal: NDArray[np.int64] = first[group.ravel()]
    return equal
