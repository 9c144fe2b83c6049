"""Every invariant of a tree, stated and verified."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ._arrays import has_edges, has_moments
from ._centres import node_boxes, node_centres
from ._kernels.features import MOST_SMALL
from ._kernels.measure import mark_reached
from ._kernels.numbering import box_node, is_point, point_node, row_of
from ._kernels.schema import (
    BOX_ROWS,
    EDGES,
    FEATURE_ROWS,
    FEATURES,
    FIRST,
    FREE_BOX,
    FREE_FEATURES,
    FREE_POINT,
    HEIGHT,
    LAST,
    LEAF,
    LEFT,
    LENGTH,
    LINKAGE,
    MAX_LEAVES,
    N_LEAVES,
    N_POINTS,
    NEIGHBOUR,
    NEXT,
    NEXT_ID,
    NONE,
    PARENT,
    POINT_ROWS,
    PREVIOUS,
    RIGHT,
    ROOT,
    SCATTER,
    SIZE,
    SMALL,
    SQUARE,
    WEIGHT,
    Counts,
    Queue,
    Tree,
)
from ._validate import MAX_NORM, chunks
from .errors import InvariantError
from .table import internal_nodes, living_ids

Nodes = NDArray[np.int64]


def check_tree(tree: Tree) -> None:
    """Raise InvariantError, naming the node at fault, unless every invariant holds."""
    internal, leaves = check_structure(tree)
    _check_free(tree)
    _check_features(tree, leaves)
    _check_boxes(tree, internal)
    if has_moments(tree):
        within, means = _scatter(tree, leaves), node_centres(tree, leaves)
        _require(np.isfinite(within) & (within >= 0), leaves, "has no scatter")
        _require(np.asarray(np.isfinite(means).all(axis=1)), leaves, "has no mean")
        with np.errstate(invalid="ignore", over="ignore"):  # comparisons tell
            _check_moments(tree, internal)
            _check_leaf_heights(tree, leaves)


def check_structure(tree: Tree) -> tuple[Nodes, Nodes]:
    """Check all that is used as a place in an array: nodes, ids and state, but no features.

    Returns the internal nodes and the leaves. A tree that passes cannot make a kernel read or
    write out of bounds or loop forever, whatever its features are.
    """
    ids, root = living_ids(tree), tree.state[[ROOT]]
    as_many = np.array([len(ids) == tree.state[N_POINTS]])
    _require(as_many, root, "is the root of another number of points than there are ids")
    if len(ids) == 0:
        _require(root == NONE, root, "is the root of an empty tree")
        _require(tree.state[[N_LEAVES]] == 0, root, "has leaves in an empty tree")
        live = _live_nodes(tree)
        _require(np.zeros(len(live), bool), live, "is used in an empty tree")
        _check_feature_rows(tree, live)
        return live, live
    live = _check_links(tree)
    internal = live[tree.nodes[live, LEFT] != NONE]
    leaves = live[tree.nodes[live, LEFT] == NONE]
    _require(np.array([len(leaves) == tree.state[N_LEAVES]]), leaves, "is one of too many leaves")
    if tree.state[MAX_LEAVES] == NONE:
        _require(is_point(leaves), leaves, "is a leaf without a point")
    _check_leaves(tree, leaves, ids)
    _check_sizes(tree, internal)
    _check_feature_rows(tree, live)
    if has_edges(tree):
        _check_lists(tree, leaves)
    return internal, leaves


def _require(holds: NDArray[np.bool_], nodes: NDArray[np.integer], what: str) -> None:
    if not holds.all():
        _fail(int(nodes[int(np.argmin(holds))]), what)


def _fail(node: int, what: str) -> NoReturn:
    raise InvariantError(f"node {node} {what}")


def _check_links(tree: Tree) -> NDArray[np.int64]:
    """Links are mutual, and a walk from the root meets each node once; the nodes it meets."""
    nodes, root = tree.nodes, int(tree.state[ROOT])
    all_nodes = _live_nodes(tree)
    exists = np.zeros(len(nodes) + 1, bool)  # the last entry is for NONE
    exists[all_nodes] = True
    if not (0 <= root < len(nodes) and exists[root]):
        _fail(root, "is the root but does not exist")
    if nodes[root, PARENT] != NONE:
        _fail(root, "is the root but has a parent")
    is_leaf = nodes[all_nodes, LEFT] == NONE
    right_agrees = (nodes[all_nodes, RIGHT] == NONE) == is_leaf
    _require(right_agrees, all_nodes, "has one child only")
    _require(is_leaf | ~is_point(all_nodes), all_nodes, "has children but no box")
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


def _live_nodes(tree: Tree) -> NDArray[np.int64]:
    """All nodes in use: those of the rows ever used that are not in a list of free ones."""
    points = point_node(np.arange(int(tree.state[POINT_ROWS])))
    boxes = box_node(np.arange(int(tree.state[BOX_ROWS])))
    live = []
    for kind, head in ((points, FREE_POINT), (boxes, FREE_BOX)):
        free = kind[tree.nodes[kind, SIZE] == 0]
        _require(tree.nodes[free, LEFT] == NONE, free, "is free but has children")
        listed: list[int] = []
        node = int(tree.state[head])
        while 0 <= node < len(tree.nodes) and len(listed) <= len(free):
            listed.append(node)
            node = int(tree.nodes[node, PARENT])
        if node != NONE:
            _fail(node, "is listed as free but does not exist, or is listed twice")
        _require(np.isin(listed, free), np.array(listed), "is in use but listed as free")
        _require(np.isin(free, listed), free, "is free but not listed")
        live.append(kind[tree.nodes[kind, SIZE] > 0])
    return np.concatenate(live)


def _check_feature_rows(tree: Tree, live: Nodes) -> None:
    """Nodes have rows of features, each one of its own, if they hold many points; every other row
    ever used is in the list of free ones."""
    small, n_rows = int(tree.state[SMALL]), int(tree.state[FEATURE_ROWS])
    if not 0 <= small <= MOST_SMALL or (small and tree.state[MAX_LEAVES] != NONE):
        _fail(int(tree.state[ROOT]), f"is the root of a tree in which {small} points are few")
    nodes = live[~is_point(live)]
    rows = tree.nodes[nodes, FEATURES]
    has_row = tree.nodes[nodes, SIZE] > small
    _require((rows != NONE) == has_row, nodes, "has features and few points, or neither")
    _require((rows >= NONE) & (rows < n_rows), nodes, "has features that do not exist")
    holder = np.full(n_rows, NONE)
    holder[rows[has_row]] = nodes[has_row]
    _require(holder[rows[has_row]] == nodes[has_row], nodes[has_row], "has features of another")
    listed: list[int] = []
    row = int(tree.state[FREE_FEATURES])
    while 0 <= row < n_rows and len(listed) <= n_rows and holder[row] == NONE:
        listed.append(row)
        row = int(tree.nodes[point_node(row), FEATURES])
    if row != NONE:
        _fail(point_node(row), "lists features as free that are in use or do not exist")
    _require(np.array([len(set(listed)) == np.count_nonzero(holder == NONE)]),
             np.array([tree.state[ROOT]]), "is the root of features that nobody has")  # fmt: skip


def check_collapsed(
    tree: Tree, queue: Queue, find_keys: Callable[[Tree, Counts, Counts], None]
) -> None:
    """Not more leaves than allowed, and every collapsible node is queued under its key."""
    root = np.array([tree.state[ROOT]])
    within = tree.state[N_LEAVES] <= tree.state[MAX_LEAVES]
    _require(np.array([within]), root, "is the root of more leaves than allowed")
    if queue.count[0] == NONE:
        return
    nodes = tree.nodes
    internal = internal_nodes(tree)
    is_leaf = nodes[:, LEFT] == NONE
    pairs = internal[is_leaf[nodes[internal, LEFT]] & is_leaf[nodes[internal, RIGHT]]]
    count = int(queue.count[0])
    queued = set(zip(queue.keys[:count].tolist(), queue.nodes[:count].tolist(), strict=True))
    keys = np.empty(len(pairs), np.int64)
    find_keys(tree, pairs, keys)
    holds = np.array(
        [pair in queued for pair in zip(keys.tolist(), pairs.tolist(), strict=True)], bool
    )
    _require(holds, pairs, "can be collapsed but is not queued")


def _check_free(tree: Tree) -> None:
    """Free rows contain nothing but zeros."""
    points = point_node(np.arange(int(tree.state[POINT_ROWS])))
    boxes = box_node(np.arange(int(tree.state[BOX_ROWS])))
    for nodes, features in ((points, tree.points), (points, tree.lists), (boxes, tree.moments)):
        if len(features):
            free = nodes[tree.nodes[nodes, SIZE] == 0]
            _require(_are_zeros(features[row_of(free)]), free, "is free but has features")
    is_free = np.ones(int(tree.state[FEATURE_ROWS]), bool)
    is_free[tree.nodes[boxes[tree.nodes[boxes, SIZE] > tree.state[SMALL]], FEATURES]] = False
    rows = np.flatnonzero(is_free)
    for features in (tree.boxes, tree.means):
        if len(features):
            erased = _are_zeros(features[rows])
            _require(erased, point_node(rows), "lists features as free that are not erased")


def _are_zeros(rows: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(~rows.any(axis=tuple(range(1, rows.ndim))))


def _check_leaves(tree: Tree, leaves: NDArray[np.int64], ids: NDArray[np.int64]) -> None:
    """Every id is in exactly one leaf, in a list that begins with its smallest."""
    next_id = int(tree.state[NEXT_ID])
    leaf_of = tree.ids[ids, LEAF]
    is_leaf = np.zeros(len(tree.nodes), bool)
    is_leaf[leaves] = True
    _require((leaf_of >= 0) & (leaf_of < len(is_leaf)), leaf_of, "holds an id but does not exist")
    _require(is_leaf[leaf_of], leaf_of, "holds an id but is not a leaf")
    sizes = np.bincount(leaf_of, minlength=len(tree.nodes))[leaves]
    _require(sizes == tree.nodes[leaves, SIZE], leaves, "does not hold as many ids as it counts")
    smallest = np.full(len(tree.nodes), next_id)
    np.minimum.at(smallest, leaf_of, ids)
    _require(
        smallest[leaves] == tree.nodes[leaves, FIRST], leaves, "does not begin its list of ids"
    )
    for column, end in ((NEXT, LAST), (PREVIOUS, FIRST)):
        beside = tree.ids[:next_id, column]
        on = beside[ids]
        _require((on >= NONE) & (on < next_id), leaf_of, "has a list of ids that leads nowhere")
        _require(_ends(beside)[ids], leaf_of, "has a list of ids without an end")
        is_end = on == NONE
        same = tree.ids[on[~is_end], LEAF] == leaf_of[~is_end]
        _require(same, leaf_of[~is_end], "has a list of ids that leaves it")
        _require(
            tree.nodes[leaf_of[is_end], end] == ids[is_end], leaf_of[is_end],
            "does not end its list of ids, or has two",
        )  # fmt: skip
    after = tree.ids[ids, NEXT]
    inner = after != NONE
    mutual = tree.ids[after[inner], PREVIOUS] == ids[inner]
    _require(mutual, leaf_of[inner], "has a list of ids that differs from its end")


def _ends(after: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether following `after` from each id comes to an end; steps are doubled.

    Entries out of range, of ids that are not in the tree, count as an end.
    """
    steps = np.append(np.where((after < 0) | (after >= len(after)), NONE, after), NONE)
    for _ in range(len(after).bit_length()):
        steps = steps[steps]
    ends: NDArray[np.bool_] = steps[:-1] == NONE
    return ends


def _check_sizes(tree: Tree, internal: NDArray[np.int64]) -> None:
    left, right = tree.nodes[internal, LEFT], tree.nodes[internal, RIGHT]
    total = tree.nodes[left, SIZE] + tree.nodes[right, SIZE]
    _require(tree.nodes[internal, SIZE] == total, internal, "does not count its children's points")
    _require(tree.nodes[internal, FIRST] == NONE, internal, "has ids of its own but is not a leaf")


def _check_lists(tree: Tree, leaves: Nodes) -> None:
    """Edges are between leaves, and both ends list each other at the same distance and weight."""
    listed = tree.lists[row_of(leaves), :, NEIGHBOUR].astype(np.int64) - 1
    known = (listed >= NONE) & (listed < len(tree.nodes))
    _require(np.asarray(known.all(axis=1)), leaves, "lists a neighbour that does not exist")
    lengths = tree.lists[row_of(leaves), :, LENGTH]
    weights = tree.lists[row_of(leaves), :, WEIGHT]
    is_edge = weights != 0
    owner = np.repeat(leaves, is_edge.sum(axis=1))
    other, length, weight = listed[is_edge], lengths[is_edge], weights[is_edge]
    usual = (weight > 0) & (weight <= np.float32(2).view(np.int32)) & (length >= 0)
    _require(usual, owner, "has an edge of a strange weight or length")
    is_leaf = np.zeros(len(tree.nodes) + 1, bool)
    is_leaf[leaves] = True
    _require(is_leaf[other] & (other != owner), owner, "has an edge to what is not another leaf")
    forth = np.lexsort((length, weight, other, owner))
    back = np.lexsort((length, weight, owner, other))
    for one, two in ((owner, other), (other, owner), (length, length), (weight, weight)):
        _require(one[forth] == two[back], owner[forth], "has an edge that its other end lacks")
    twice = (np.diff(owner[forth]) == 0) & (np.diff(other[forth]) == 0)
    _require(~twice, owner[forth][1:], "has an edge twice")


def _check_boxes(tree: Tree, internal: NDArray[np.int64]) -> None:
    """Boxes are exactly the union of their children's, and so of their leaves'."""
    internal = internal[tree.nodes[internal, FEATURES] != NONE]
    for start, stop in chunks(tree.boxes[: len(internal), 0]):
        part = internal[start:stop]
        box = tree.boxes[tree.nodes[part, FEATURES]]
        left, right = (node_boxes(tree, tree.nodes[part, side]) for side in (LEFT, RIGHT))
        lower = np.minimum(left[:, 0], right[:, 0])
        upper = np.maximum(left[:, 1], right[:, 1])
        exact = (box[:, 0] == lower).all(axis=1) & (box[:, 1] == upper).all(axis=1)
        _require(exact, part, "has a box that is not the union of its children's")


def _check_features(tree: Tree, leaves: NDArray[np.int64]) -> None:
    """What leaves hold is finite, and boxes are not inside out."""
    for start, stop in chunks(tree.points[: len(leaves)]):
        part = leaves[start:stop]
        boxes = node_boxes(tree, part)
        lower, upper = boxes[:, 0], boxes[:, 1]
        # Boxes, too, are made of points, so no corner has a larger coordinate than they may.
        within = (lower >= -MAX_NORM) & (upper <= MAX_NORM) & (lower <= upper)
        fine = within.all(axis=1)
        if tree.state[MAX_LEAVES] == NONE:
            fine &= (lower.astype(float) ** 2).sum(axis=1) <= 1.001 * MAX_NORM**2
        _require(np.asarray(fine), part, "has features out of range, or out of order")


def _check_moments(tree: Tree, internal: NDArray[np.int64]) -> None:
    """Means, scatters and mean squares follow from the children's, up to rounding, and heights
    exactly."""
    linkages = tree.moments[row_of(internal), LINKAGE]
    _require(np.isfinite(linkages) & (linkages >= 0), internal, "has no linkage")
    between = tree.moments[row_of(internal), EDGES:]
    fine = np.isfinite(between) & (between >= 0)
    _require(
        np.asarray(fine.all(axis=1)), internal, "has edges of a strange weight between its children"
    )
    for part in np.array_split(internal, max(1, len(internal) * tree.points.shape[1] // 2**20)):
        left, right = tree.nodes[part, LEFT], tree.nodes[part, RIGHT]
        size, other = (tree.nodes[side, SIZE].astype(float) for side in (left, right))
        one = node_centres(tree, left)
        gap = node_centres(tree, right) - one
        mean = one + gap * (other / (size + other))[:, np.newaxis]
        reach = np.abs(node_boxes(tree, part)).max(axis=1).astype(float)
        exact = np.abs(mean - node_centres(tree, part)) <= 1e-12 * reach
        _require(exact.all(axis=1), part, "has a mean that is not that of its children")
        between = size * other / (size + other) * (gap**2).sum(axis=1)
        total = _scatter(tree, left) + _scatter(tree, right) + between
        slack = 1e-9 * total + 1e-20 * (size + other) * (reach**2).sum(axis=1)
        exact = np.abs(total - _scatter(tree, part)) <= slack
        _require(exact, part, "has a scatter that does not follow from its children's")
        within = _scatter(tree, left) / size + _scatter(tree, right) / other
        _check_squares(tree, part, (gap**2).sum(axis=1) + within, (reach**2).sum(axis=1))
        below = np.maximum(_moment(tree, left, HEIGHT), _moment(tree, right, HEIGHT))
        exact = _moment(tree, part, HEIGHT) == np.maximum(_moment(tree, part, SQUARE), below)
        _require(exact, part, "has a height that does not follow from its children's")


def _check_leaf_heights(tree: Tree, leaves: NDArray[np.int64]) -> None:
    collapsed = leaves[~is_point(leaves)]
    others = np.maximum(1, tree.nodes[collapsed, SIZE] - 1)
    _check_squares(tree, collapsed, 2 * _scatter(tree, collapsed) / others, 0.0)
    exact = _moment(tree, collapsed, HEIGHT) == _moment(tree, collapsed, SQUARE)
    _require(exact, collapsed, "has a height that is not that of its points")


def _check_squares(tree: Tree, nodes: NDArray[np.int64], squares: Any, reach: Any) -> None:
    exact = np.abs(_moment(tree, nodes, SQUARE) - squares) <= 1e-9 * squares + 1e-12 * reach
    _require(exact, nodes, "has a mean square that does not follow from its children's")


def _scatter(tree: Tree, nodes: NDArray[np.integer]) -> NDArray[np.float64]:
    return _moment(tree, nodes, SCATTER)


def _moment(tree: Tree, nodes: NDArray[np.integer], column: int) -> NDArray[np.float64]:
    moments = np.zeros(len(nodes))
    has_box = ~is_point(nodes)
    moments[has_box] = tree.moments[row_of(nodes[has_box]), column]
    return moments
