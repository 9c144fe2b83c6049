"""The one place that allocates a tree's arrays and lets them grow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kernels.schema import (
    BOX_ROWS,
    COUNTS,
    FREE_BOX,
    FREE_POINT,
    ID_COLUMNS,
    MAX_LEAVES,
    MAX_POINTS,
    MOMENTS,
    N_POINTS,
    NODE_COLUMNS,
    NONE,
    POINT_ROWS,
    ROOT,
    AStar,
    Beam,
    Found,
    Prepared,
    Queue,
    Revised,
    Tree,
)


def empty_tree(n_features: int, max_leaves: int | None, *, with_moments: bool = False) -> Tree:
    counts = np.zeros(COUNTS, np.int64)
    counts[[ROOT, FREE_POINT, FREE_BOX]] = NONE
    counts[MAX_LEAVES] = NONE if max_leaves is None else max_leaves
    return Tree(
        nodes=np.empty((0, NODE_COLUMNS), np.int32),
        points=np.empty((0, n_features), np.float32),
        boxes=np.empty((0, 2, n_features), np.float32),
        means=np.empty((0, n_features if with_moments else 0)),
        moments=np.empty((0, MOMENTS)),
        ids=np.empty((0, ID_COLUMNS), np.int32),
        counts=counts,
    )


def with_room(tree: Tree, n_more: int) -> Tree:
    """The same tree with space for `n_more` points: arrays that are too small are replaced.

    The first call gets exactly the size it asks for; later growth at least doubles, so that
    many small inserts cost linear time. Memory that is not used yet is not resident.
    """
    n_points, points, boxes = tree.counts[[N_POINTS, POINT_ROWS, BOX_ROWS]].tolist()
    most_points, most_boxes = _most_rows(int(tree.counts[MAX_LEAVES]))
    point_rows = _capacity(tree.points, points + n_more, most_points)
    box_rows = _capacity(tree.boxes, boxes + n_more, most_boxes)
    ids = _capacity(tree.ids, n_points + n_more, MAX_POINTS)
    return _resized(tree, point_rows, box_rows, ids)


def trimmed(tree: Tree) -> Tree:
    """The same tree, not copied, without its spare capacity."""
    n_points, points, boxes = tree.counts[[N_POINTS, POINT_ROWS, BOX_ROWS]].tolist()
    return Tree(
        nodes=tree.nodes[: 2 * max(points, boxes)],
        points=tree.points[:points],
        boxes=tree.boxes[:boxes],
        means=tree.means[:boxes],
        moments=tree.moments[:boxes],
        ids=tree.ids[:n_points],
        counts=tree.counts,
    )


def copied(tree: Tree) -> Tree:
    """An independent copy, without spare capacity."""
    return Tree(**{name: array.copy() for name, array in trimmed(tree)._asdict().items()})


def _resized(tree: Tree, points: int, boxes: int, ids: int) -> Tree:
    used_ids, used_points, used_boxes = tree.counts[[N_POINTS, POINT_ROWS, BOX_ROWS]].tolist()
    return Tree(
        nodes=_resize(tree.nodes, 2 * max(points, boxes), 2 * max(used_points, used_boxes)),
        points=_resize(tree.points, points, used_points),
        boxes=_resize(tree.boxes, boxes, used_boxes),
        means=_resize(tree.means, boxes if has_moments(tree) else 0, used_boxes),
        moments=_resize(tree.moments, boxes if has_moments(tree) else 0, used_boxes),
        ids=_resize(tree.ids, ids, used_ids),
        counts=tree.counts,
    )


def has_moments(tree: Tree) -> bool:
    """Whether means and scatters are kept: trees with a linkage do."""
    return bool(tree.means.shape[1] > 0)


def estimate_bytes(tree: Tree, n_points: int) -> int:
    """What the arrays will take with so many points, all different, spare capacity aside."""
    most_points, most_boxes = _most_rows(int(tree.counts[MAX_LEAVES]))
    points, boxes = min(n_points, most_points), min(n_points, most_boxes)
    n_features = tree.points.shape[1]
    of_point = 4 * n_features
    of_box = 2 * of_point
    if has_moments(tree):
        of_box += 8 * (n_features + MOMENTS)
    of_nodes = 2 * max(points, boxes) * 4 * NODE_COLUMNS
    return int(points * of_point + boxes * of_box + of_nodes + n_points * 4 * ID_COLUMNS)


def _resize(array: NDArray[Any], length: int, used: int) -> NDArray[Any]:
    """An array of another length with the same rows in use; the same one if that fits."""
    if length == len(array):
        return array
    resized = np.empty((length, *array.shape[1:]), array.dtype)
    resized[:used] = array[:used]
    return resized


def _capacity(array: NDArray[Any], needed: int, most: int) -> int:
    needed = min(needed, most)
    return len(array) if needed <= len(array) else min(max(needed, 2 * len(array)), most)


def _most_rows(max_leaves: int) -> tuple[int, int]:
    """Most points and boxes at any time: with one leaf too many, all of them collapsed but one."""
    if max_leaves == NONE:
        return MAX_POINTS, MAX_POINTS
    return max_leaves + 1, 2 * max_leaves + 1


def make_astar(tree: Tree, k: int = 1) -> AStar:
    """Working memory for exact searches of k leaves in a tree of this capacity."""
    frontier = _frontier(tree)
    return AStar(np.empty(frontier, np.float32), np.empty(frontier, np.int32), make_found(k))


def suits(search: AStar | Beam | Prepared | Revised, tree: Tree) -> bool:
    """Whether working memory is large enough for a tree of this capacity."""
    return not isinstance(search, AStar) or len(search.keys) >= _frontier(tree)


def _frontier(tree: Tree) -> int:
    return len(tree.points) // 2 + 2


def make_beam(width: int, k: int = 1) -> Beam:
    """Working memory for beam searches of k leaves."""
    return Beam(
        np.empty((2, 2 * width), np.int64), np.empty((2, 2 * width), np.int32), make_found(k)
    )


def make_queue(tree: Tree) -> Queue:
    """Room for four times the nodes that can be collapsible at once, without any entry."""
    length = max(0, 2 * int(tree.counts[MAX_LEAVES]) + 4)
    count = np.full(1, NONE, np.int64)
    return Queue(np.empty(length, np.int64), np.empty(length, np.int32), count)


def make_found(k: int) -> Found:
    return Found(np.empty((k, 2), np.float32), np.empty((k, 2), np.int32))
