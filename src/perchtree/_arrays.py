"""The one place that allocates a tree's arrays and lets them grow."""

import numpy as np

from ._kernels.schema import (
    COUNTS,
    ID_COLUMNS,
    N_LEAVES,
    N_POINTS,
    NODE_COLUMNS,
    NONE,
    ROOT,
    Counts,
    Found,
    Scratch,
    Tree,
)


def empty_tree(n_features: int) -> Tree:
    counts = np.zeros(COUNTS, np.int64)
    counts[ROOT] = NONE
    return _allocate(n_features, 0, 0, counts)


def with_room(tree: Tree, n_more: int) -> Tree:
    """The same tree with space for `n_more` points: itself, or a larger copy.

    The first call gets exactly the size it asks for; later growth at least doubles, so that
    many small inserts cost linear time. Memory that is not used yet is not resident.
    """
    rows = _capacity(tree.points.shape[0], int(tree.counts[N_LEAVES]) + n_more)
    ids = _capacity(tree.ids.shape[0], int(tree.counts[N_POINTS]) + n_more)
    if rows == tree.points.shape[0] and ids == tree.ids.shape[0]:
        return tree
    return _copy_into(tree, _allocate(tree.points.shape[1], rows, ids, tree.counts))


def copied(tree: Tree) -> Tree:
    """An independent copy, without spare capacity."""
    rows, ids = int(tree.counts[N_LEAVES]), int(tree.counts[N_POINTS])
    return _copy_into(tree, _allocate(tree.points.shape[1], rows, ids, tree.counts.copy()))


def make_scratch(tree: Tree, k: int) -> Scratch:
    """Working memory for searches of the k nearest leaves of a tree of this capacity."""
    frontier = tree.boxes.shape[0] // 2 + 2
    return Scratch(
        np.empty(frontier, np.float32),
        np.empty(frontier, np.int32),
        Found(np.empty((k, 2), np.float32), np.empty((k, 2), np.int32)),
    )


def _capacity(present: int, needed: int) -> int:
    return present if needed <= present else max(needed, 2 * present)


def _allocate(n_features: int, rows: int, ids: int, counts: Counts) -> Tree:
    return Tree(
        nodes=np.empty((2 * rows, NODE_COLUMNS), np.int32),
        points=np.empty((rows, n_features), np.float32),
        boxes=np.empty((rows, 2, n_features), np.float32),
        ids=np.empty((ids, ID_COLUMNS), np.int32),
        counts=counts,
    )


def _copy_into(tree: Tree, larger: Tree) -> Tree:
    for old, new in zip(tree[:-1], larger[:-1], strict=True):
        used = min(len(old), len(new))
        new[:used] = old[:used]
    return larger
