"""A copy of a tree, most of which is made while others change the tree."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import used_rows
from .._kernels.numbering import box_node, point_nodes
from .._kernels.schema import (
    BOX_ROWS,
    CHANGES,
    COUNTED,
    FEATURE_ROWS,
    FEATURES,
    FIRST,
    LEFT,
    NEXT_ID,
    NONE,
    SIZE,
    TOUCHED,
    Tree,
)
from ..files.contents import StoredTree
from ..tree import ClusterTree

_LARGE = ("points", "boxes", "means")
"""Arrays with features, nearly all of a tree."""
_PIECE = 2**22
"""Bytes that are copied while readers and inserts wait."""
_ROUNDS = 2
"""Times that what has changed meanwhile is copied before changes have to stop."""


class Copy:
    """A copy of a tree in two steps: features while others go on changing the tree, and then,
    while nothing changes it, the rest, with the features of nodes that were touched meanwhile.

    Parameters
    ----------
    tree : ClusterTree
    without : tuple of str
        Arrays whose rows are not needed.
    """

    def __init__(self, tree: ClusterTree, without: tuple[str, ...] = ()) -> None:
        self._without = without
        with tree.reading() as arrays:
            shapes = {name: (a.shape, a.dtype) for name, a in self._used(arrays)}
            self._saw(arrays)
        self._copied = {name: _touched(*shape) for name, shape in shapes.items()}
        self._n_copied = {name: shapes[name][0][0] for name in _LARGE}
        for name, length in self._n_copied.items():
            for rows in _pieces(length, self._copied[name]):
                with tree.reading() as arrays:
                    self._copied[name][rows] = getattr(arrays, name)[rows]
        for _ in range(_ROUNDS):
            self._catch_up(tree)

    def of(self, stored: StoredTree) -> StoredTree:
        """The copy of a tree that nothing changes meanwhile; it may have grown since."""
        copied = {}
        for name, array in self._used(stored.tree):
            memory = self._copied[name]
            if len(memory) < len(array):  # it has grown by more than there was room for
                memory = np.empty(array.shape, array.dtype)
                self._copied[name], self._n_copied[name] = memory, 0
            copied[name] = memory[: len(array)]
            changed = self._changed(stored.tree, name) if name in _LARGE else slice(None)
            copied[name][changed] = array[changed]
        return stored._replace(tree=Tree(**copied, **self._left_out(stored.tree, copied)))

    def _used(self, tree: Tree) -> Iterator[tuple[str, NDArray[Any]]]:
        for name, array in used_rows(tree):
            yield name, array[:0] if name in self._without else array

    def _left_out(self, tree: Tree, copied: dict[str, Any]) -> dict[str, NDArray[Any]]:
        """Arrays without rows, which are shared."""
        return {name: array for name, array in tree._asdict().items() if name not in copied}

    def _saw(self, tree: Tree) -> None:
        self._changes, self._next_id = int(tree.state[CHANGES]), int(tree.state[NEXT_ID])

    def _changed(self, tree: Tree, name: str) -> NDArray[np.int64]:
        """Rows of an array of features that may differ from the copy."""
        length = dict(self._used(tree))[name].shape[0]
        n_copied = min(self._n_copied[name], length)
        if int(tree.state[CHANGES]) // (COUNTED + 1) != self._changes // (COUNTED + 1):
            return np.arange(length)  # the counter of touched nodes has begun again
        if name == "points":
            nodes = tree.nodes[point_nodes(n_copied)]
            changed = (nodes[:, FIRST] >= self._next_id) | (nodes[:, SIZE] == 0)
        else:
            changed = self._changed_features(tree)[:n_copied]
        return np.concatenate([np.flatnonzero(changed), np.arange(n_copied, length)])

    def _changed_features(self, tree: Tree) -> NDArray[np.bool_]:
        """Whether each row of boxes and means may differ: unless its node was not touched."""
        nodes = tree.nodes[box_node(np.arange(int(tree.state[BOX_ROWS])))]
        nodes = nodes[(nodes[:, SIZE] > 0) & (nodes[:, FEATURES] != NONE)]
        touched = nodes[:, TOUCHED] > self._changes & COUNTED
        # A leaf with a box has no counter.
        same = nodes[~touched & (nodes[:, LEFT] != NONE), FEATURES]
        changed = np.ones(int(tree.state[FEATURE_ROWS]), bool)
        changed[same] = False
        return changed

    def _catch_up(self, tree: ClusterTree) -> None:
        """Copy what was touched since, a part at a time: what is touched meanwhile comes next."""
        with tree.reading() as arrays:
            changed = {name: self._changed(arrays, name) for name in _LARGE}
            self._saw(arrays)
        for name, rows in changed.items():
            rows = rows[rows < len(self._copied[name])]
            for piece in _pieces(len(rows), self._copied[name]):
                with tree.reading() as arrays:
                    self._copied[name][rows[piece]] = getattr(arrays, name)[rows[piece]]
            self._n_copied[name] = max(self._n_copied[name], int(rows.max(initial=-1)) + 1)


def _pieces(n_rows: int, array: NDArray[Any]) -> Iterator[slice]:
    """Rows of an array, so many at a time as are copied in a moment."""
    step = max(1, _PIECE // max(1, array[:1].nbytes))
    return (slice(start, min(n_rows, start + step)) for start in range(0, n_rows, step))


def _touched(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Memory, touched before it is needed: copying then takes no longer than moving the bytes."""
    memory = np.empty((shape[0] + shape[0] // 16, *shape[1:]), dtype)
    memory.fill(0)
    return memory
