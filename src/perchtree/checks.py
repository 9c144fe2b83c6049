"""Every invariant of a tree, stated and verified."""

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ._kernels.measure import mark_reached
from ._kernels.schema import (
    FIRST,
    LAST,
    LEAF,
    LEFT,
    N_BOXES,
    N_LEAVES,
    N_POINTS,
    NEXT,
    NONE,
    PARENT,
    RIGHT,
    ROOT,
    SIZE,
    Tree,
)
from ._validate import chunks
from .errors import InvariantError


def check_tree(tree: Tree) -> None:
    """Raise InvariantError, naming the node at fault, unless every invariant holds."""
    if tree.counts[N_POINTS] == 0:
        _require(np.array([tree.counts[ROOT] == NONE]), np.array([NONE]), "is the root of nothing")
        return
    live = _check_links(tree)
    internal = live[tree.nodes[live, LEFT] != NONE]
    leaves = live[tree.nodes[live, LEFT] == NONE]
    _check_leaves(tree, leaves)
    _check_sizes(tree, internal)
    _check_boxes(tree, internal)


def _require(holds: NDArray[np.bool_], nodes: NDArray[np.integer], what: str) -> None:
    if not holds.all():
        _fail(int(nodes[int(np.argmin(holds))]), what)


def _fail(node: int, what: str) -> NoReturn:
    raise InvariantError(f"node {node} {what}")


def _check_links(tree: Tree) -> NDArray[np.int64]:
    """Links are mutual, and a walk from the root meets each node once; the nodes it meets."""
    nodes, root = tree.nodes, int(tree.counts[ROOT])
    n_leaves, n_boxes = int(tree.counts[N_LEAVES]), int(tree.counts[N_BOXES])
    all_nodes = np.concatenate([2 * np.arange(n_leaves), 2 * np.arange(n_boxes) + 1])
    exists = np.zeros(len(nodes) + 1, bool)  # the last entry is for NONE
    exists[all_nodes] = True
    if not exists[root]:
        _fail(root, "is the root but does not exist")
    if nodes[root, PARENT] != NONE:
        _fail(root, "is the root but has a parent")
    is_leaf = nodes[all_nodes, LEFT] == NONE
    right_agrees = (nodes[all_nodes, RIGHT] == NONE) == is_leaf
    _require(right_agrees, all_nodes, "has one child only")
    _require(is_leaf | (all_nodes % 2 == 1), all_nodes, "has children but no box")
    internal = all_nodes[~is_leaf]
    for side in (LEFT, RIGHT):
        child = nodes[internal, side]
        in_range = (child >= 0) & (child < len(nodes))
        _require(in_range & exists[np.where(in_range, child, NONE)], internal, "has no such child")
        _require(nodes[child, PARENT] == internal, internal, "is not the parent of its child")
    _require(nodes[internal, LEFT] != nodes[internal, RIGHT], internal, "has one child twice")
    reached = np.zeros(len(nodes), bool)
    if not mark_reached(tree, reached):
        _fail(root, "is the root of a walk that meets a node twice")
    _require(reached[all_nodes], all_nodes, "is not reached from the root")
    return all_nodes


def _check_leaves(tree: Tree, leaves: NDArray[np.int64]) -> None:
    """Every id is in exactly one leaf, in a list that begins with its smallest."""
    n_points = int(tree.counts[N_POINTS])
    leaf_of = tree.ids[:n_points, LEAF]
    is_leaf = np.zeros(len(tree.nodes), bool)
    is_leaf[leaves] = True
    _require((leaf_of >= 0) & (leaf_of < len(is_leaf)), leaf_of, "holds an id but does not exist")
    _require(is_leaf[leaf_of], leaf_of, "holds an id but is not a leaf")
    sizes = np.bincount(leaf_of, minlength=len(tree.nodes))[leaves]
    _require(sizes == tree.nodes[leaves, SIZE], leaves, "does not hold as many ids as it counts")
    smallest = np.full(len(tree.nodes), n_points)
    np.minimum.at(smallest, leaf_of, np.arange(n_points))
    _require(
        smallest[leaves] == tree.nodes[leaves, FIRST], leaves, "does not begin its list of ids"
    )
    after = tree.ids[:n_points, NEXT]
    has_next = after != NONE
    same = leaf_of[after[has_next]] == leaf_of[has_next]
    _require(same, leaf_of[has_next], "has a list of ids that leaves it")
    ends = np.flatnonzero(~has_next)
    _require(tree.nodes[leaf_of[ends], LAST] == ends, leaf_of[ends], "does not end its list of ids")
    starts = np.bincount(after[has_next], minlength=n_points) == 0
    begins = np.flatnonzero(starts)
    _require(tree.nodes[leaf_of[begins], FIRST] == begins, leaf_of[begins], "has two lists of ids")


def _check_sizes(tree: Tree, internal: NDArray[np.int64]) -> None:
    left, right = tree.nodes[internal, LEFT], tree.nodes[internal, RIGHT]
    total = tree.nodes[left, SIZE] + tree.nodes[right, SIZE]
    _require(tree.nodes[internal, SIZE] == total, internal, "does not count its children's points")
    _require(tree.nodes[internal, FIRST] == NONE, internal, "has ids of its own but is not a leaf")


def _check_boxes(tree: Tree, internal: NDArray[np.int64]) -> None:
    """Boxes are exactly the union of their children's, and so of their leaves'."""
    for start, stop in chunks(tree.boxes[: len(internal), 0]):
        part = internal[start:stop]
        box = tree.boxes[part // 2]
        left, right = tree.nodes[part, LEFT], tree.nodes[part, RIGHT]
        lower = np.minimum(_corner(tree, left, 0), _corner(tree, right, 0))
        upper = np.maximum(_corner(tree, left, 1), _corner(tree, right, 1))
        exact = (box[:, 0] == lower).all(axis=1) & (box[:, 1] == upper).all(axis=1)
        _require(exact, part, "has a box that is not the union of its children's")


def _corner(tree: Tree, nodes: NDArray[np.int32], side: int) -> NDArray[np.float32]:
    corners = np.empty((len(nodes), tree.points.shape[1]), np.float32)
    is_point = nodes % 2 == 0
    corners[is_point] = tree.points[nodes[is_point] // 2]
    corners[~is_point] = tree.boxes[nodes[~is_point] // 2, side]
    return corners
