"""The one place that allocates a tree's arrays and lets them grow."""

import numpy as np

from ._kernels.schema import (
    BOX_ROWS,
    COUNTS,
    FREE_BOX,
    FREE_POINT,
    ID_COLUMNS,
    MAX_LEAVES,
    MAX_POINTS,
    N_POINTS,
    NODE_COLUMNS,
    NONE,
    POINT_ROWS,
    ROOT,
    AStar,
    Beam,
    Counts,
    Found,
    Queue,
    Tree,
)


def empty_tree(n_features: int, max_leaves: int | None) -> Tree:
    counts = np.zeros(COUNTS, np.int64)
    counts[[ROOT, FREE_POINT, FREE_BOX]] = NONE
    counts[MAX_LEAVES] = NONE if max_leaves is None else max_leaves
    return _allocate(n_features, 0, 0, 0, counts)


def with_room(tree: Tree, n_more: int) -> Tree:
    """The same tree with space for `n_more` points: itself, or a larger copy.

    The first call gets exactly the size it asks for; later growth at least doubles, so that
    many small inserts cost linear time. Memory that is not used yet is not resident.
    """
    most_points, most_boxes = _most_rows(int(tree.counts[MAX_LEAVES]))
    present = len(tree.points), len(tree.boxes), len(tree.ids)
    sizes = (
        _capacity(present[0], min(int(tree.counts[POINT_ROWS]) + n_more, most_points), most_points),
        _capacity(present[1], min(int(tree.counts[BOX_ROWS]) + n_more, most_boxes), most_boxes),
        _capacity(present[2], int(tree.counts[N_POINTS]) + n_more, MAX_POINTS),
    )
    if sizes == present:
        return tree
    return _copy_into(tree, _allocate(tree.points.shape[1], *sizes, tree.counts))


def copied(tree: Tree) -> Tree:
    """An independent copy, without spare capacity."""
    points, boxes, ids = tree.counts[[POINT_ROWS, BOX_ROWS, N_POINTS]].tolist()
    counts = tree.counts.copy()
    return _copy_into(tree, _allocate(tree.points.shape[1], points, boxes, ids, counts))


def make_astar(tree: Tree, k: int = 1) -> AStar:
    """Working memory for exact searches of k leaves in a tree of this capacity."""
    frontier = len(tree.points) // 2 + 2
    return AStar(np.empty(frontier, np.float32), np.empty(frontier, np.int32), _make_found(k))


def make_beam(width: int) -> Beam:
    """Working memory for beam searches."""
    return Beam(
        np.empty((2, 2 * width), np.int64), np.empty((2, 2 * width), np.int32), _make_found(1)
    )


def make_queue(tree: Tree) -> Queue:
    """Room for four times the nodes that can be collapsible at once, without any entry."""
    length = max(0, 2 * int(tree.counts[MAX_LEAVES]) + 4)
    count = np.full(1, NONE, np.int64)
    return Queue(np.empty(length, np.int64), np.empty(length, np.int32), count)


def _make_found(k: int) -> Found:
    return Found(np.empty((k, 2), np.float32), np.empty((k, 2), np.int32))


def _most_rows(max_leaves: int) -> tuple[int, int]:
    """Most points and boxes at any time: with one leaf too many, all of them collapsed but one."""
    if max_leaves == NONE:
        return MAX_POINTS, MAX_POINTS
    return max_leaves + 1, 2 * max_leaves + 1


def _capacity(present: int, needed: int, most: int) -> int:
    return present if needed <= present else min(max(needed, 2 * present), most)


def _allocate(n_features: int, points: int, boxes: int, ids: int, counts: Counts) -> Tree:
    return Tree(
        nodes=np.empty((2 * max(points, boxes), NODE_COLUMNS), np.int32),
        points=np.empty((points, n_features), np.float32),
        boxes=np.empty((boxes, 2, n_features), np.float32),
        ids=np.empty((ids, ID_COLUMNS), np.int32),
        counts=counts,
    )


def _copy_into(tree: Tree, larger: Tree) -> Tree:
    for old, new in zip(tree[:-1], larger[:-1], strict=True):
        used = min(len(old), len(new))
        new[:used] = old[:used]
    return larger
