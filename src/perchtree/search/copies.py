"""Equal rows, found by a hash: for searches that might pass over a copy."""

import numpy as np
from numpy.typing import NDArray

from .._kernels.hashes import find_rows, hash_rows, note_rows
from .._kernels.numbering import is_point, point_node, row_of
from .._kernels.schema import FIRST, LEAF, NEXT_ID, NONE, POINT_ROWS, SIZE, Tree
from .interface import Rows

_SMALLEST = 1024
"""Slots of a table at least."""


PER_POINT = 32
"""Bytes of hashes and of the table, about: that has four to eight slots per row."""


class Copies:
    """A hash table of the points in a tree. The hashes can be saved: then not all points have to be
    read to make it again."""

    def __init__(self) -> None:
        self._table: NDArray[np.int32] | None = None
        self._taken = 0
        self._hashes: NDArray[np.int32] | None = None
        """Of each row of points."""

    def note(self, tree: Tree, ids: range) -> None:
        """Take notice of points that were inserted."""
        if self._hashes is not None:
            leaves = tree.ids[ids.start : ids.stop, LEAF]
            self._note_rows(tree, row_of(leaves[is_point(leaves) & (leaves != NONE)]))

    def find(self, tree: Tree, rows: Rows) -> NDArray[np.int32]:
        """For each row the smallest id of the point that equals it, NONE if there is none."""
        hashes = self._hash_all(tree)
        if self._table is None:
            self._make(tree)
        assert self._table is not None
        found = np.empty(len(rows), np.int32)
        find_rows(tree, self._table, hashes, rows, found)
        return np.where(found == NONE, NONE, tree.nodes[point_node(found), FIRST])

    def find_before(self, tree: Tree, rows: Rows) -> NDArray[np.int32]:
        """For each row the id of a point that equals it, in the tree or among the rows before it.

        NONE stands for a row unlike all of them.
        """
        found, first = self.find(tree, rows), first_equal(rows)
        in_batch = (found == NONE) & (first < np.arange(len(rows)))
        return np.where(in_batch, tree.state[NEXT_ID] + first, found).astype(np.int32)

    def kept(self, tree: Tree) -> NDArray[np.int32]:
        """The hashes of all rows of points, 0 for those that are free."""
        kept = self._hash_all(tree)[: int(tree.state[POINT_ROWS])].copy()
        kept[~_are_living(tree)] = 0
        return kept

    def restore(self, tree: Tree, kept: NDArray[np.int32]) -> None:
        """Take over what `kept` gave; ValueError if it does not fit the tree."""
        lives = _are_living(tree)
        if kept.shape != lives.shape or (kept < 0).any() or kept[~lives].any():
            raise ValueError("its hashes do not fit its tree")
        self._hashes = kept

    def _hash_all(self, tree: Tree) -> NDArray[np.int32]:
        if self._hashes is None:
            self._hashes = np.zeros(len(tree.points), np.int32)
            hash_rows(tree.points, np.flatnonzero(_are_living(tree)).astype(np.int32), self._hashes)
        return self._hashes

    def _note_rows(self, tree: Tree, rows: NDArray[np.int32]) -> None:
        assert self._hashes is not None
        if len(self._hashes) < len(tree.points):
            larger = np.zeros(len(tree.points), np.int32)
            larger[: len(self._hashes)] = self._hashes
            self._hashes = larger
        hash_rows(tree.points, rows, self._hashes)
        if self._table is None:
            return
        if 2 * (self._taken + len(rows)) > len(self._table):
            self._make(tree)  # without rows that were freed since
        else:
            self._taken += note_rows(self._table, self._hashes, rows)

    def _make(self, tree: Tree) -> None:
        rows = np.flatnonzero(_are_living(tree)).astype(np.int32)
        slots = max(_SMALLEST, 4 * len(rows))
        self._table = np.full(1 << (slots - 1).bit_length(), NONE, np.int32)
        self._taken = note_rows(self._table, self._hash_all(tree), rows)


def _are_living(tree: Tree) -> NDArray[np.bool_]:
    """Whether each row of points is in use."""
    nodes = point_node(np.arange(int(tree.state[POINT_ROWS])))
    return np.asarray(tree.nodes[nodes, SIZE] > 0)


def first_equal(rows: Rows) -> NDArray[np.int64]:
    """For each row the first one that is equal to it."""
    whole = np.ascontiguousarray(rows + np.float32(0))  # -0.0 equals 0.0
    keys = whole.view(np.dtype((np.void, whole.strides[0]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    equal: NDArray[np.int64] = first[group.ravel()]
    return equal
