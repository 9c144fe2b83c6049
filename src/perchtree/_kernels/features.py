"""The features of a node: its box and its mean.

Small nodes, which hold at most MOST_SMALL points, keep neither: both are computed from their
points, so that they depend on the node alone. All other kernels that need a box or a mean ask here.

What is asked for most often is inlined: a call passes all arrays of the tree, which in low
dimension took longer than what was called.
"""

import numpy as np

from .jit import inlined, kernel
from .schema import (
    FEATURE_ROWS,
    FEATURES,
    FREE_FEATURES,
    LEFT,
    NONE,
    RIGHT,
    SIZE,
    SMALL,
    Doubles,
    Floats,
    Tree,
)
from .walk import is_point, point_node, row_of

MOST_SMALL = 4
"""The largest SMALL. Six in ten internal nodes have no more points. With 8 it would be eight in
ten, but to find and read as many points took longer than to read a mean."""

ONE, OTHER, UNION = range(3)
SPARES = 3
"""Rows of `Tree.spare`, each for the mean or the box of one node at a time."""


@inlined
def is_small(tree: Tree, node: int) -> bool:
    """Whether a node has points below it, but no features of its own."""
    return bool(not is_point(node) and tree.nodes[node, FEATURES] == NONE)


@kernel
def points_of(tree: Tree, node: int) -> tuple[int, int, int, int, int]:
    """How many leaves a small node has, and these; in place of the third and fourth the first one
    again, if there are fewer.

    Whether a child is a point is told from its number, so no leaf's row of `nodes` is read.
    """
    a, b, c, d = tree.nodes[node, LEFT], tree.nodes[node, RIGHT], NONE, NONE
    count = 2
    while count < MOST_SMALL:
        if not is_point(a):
            inner, a = a, tree.nodes[a, LEFT]
        elif not is_point(b):
            inner, b = b, tree.nodes[b, LEFT]
        elif c != NONE and not is_point(c):
            inner, c = c, tree.nodes[c, LEFT]
        else:
            break
        count += 1
        if c == NONE:
            c = tree.nodes[inner, RIGHT]
        else:
            d = tree.nodes[inner, RIGHT]
    return count, a, b, a if c == NONE else c, a if d == NONE else d


# Rows of features


@kernel
def take_features(tree: Tree, node: int) -> None:
    """Give a node a row of features: a free one, or the next new one."""
    row = tree.state[FREE_FEATURES]
    if row == NONE:
        row = tree.state[FEATURE_ROWS]
        tree.state[FEATURE_ROWS] = row + 1
    else:
        tree.state[FREE_FEATURES] = tree.nodes[point_node(row), FEATURES]
    tree.nodes[node, FEATURES] = row


@kernel
def return_features(tree: Tree, node: int) -> None:
    """Free a node's row of features, if it has one, and erase it."""
    row = tree.nodes[node, FEATURES]
    if row == NONE:
        return
    for j in range(tree.boxes.shape[2]):
        tree.boxes[row, 0, j] = 0
        tree.boxes[row, 1, j] = 0
    if tree.moments.shape[0] > 0:
        for j in range(tree.means.shape[1]):
            tree.means[row, j] = 0
    tree.nodes[point_node(row), FEATURES] = tree.state[FREE_FEATURES]
    tree.state[FREE_FEATURES] = row
    tree.nodes[node, FEATURES] = NONE


@kernel
def change_features(tree: Tree, node: int) -> None:
    """Give a node a row of features, or free it."""
    if tree.nodes[node, FEATURES] == NONE:
        take_features(tree, node)
    else:
        return_features(tree, node)


@inlined
def resize(tree: Tree, node: int, size: int) -> None:
    """Count the points below a node that is not a point: it has features if there are many.

    New features are yet to be made.
    """
    tree.nodes[node, SIZE] = size
    if (size > tree.state[SMALL]) != (tree.nodes[node, FEATURES] != NONE):
        change_features(tree, node)


# Boxes


@kernel
def extend_box(box: Floats, x: Floats) -> bool:
    """Make a box hold x; whether it had to grow."""
    grew = False
    for j in range(x.shape[0]):
        if x[j] < box[0, j]:
            box[0, j] = x[j]
            grew = True
        if x[j] > box[1, j]:
            box[1, j] = x[j]
            grew = True
    return grew


@kernel
def gather_box(tree: Tree, node: int, box: Floats) -> None:
    """The box of a small node, from its points."""
    _, a, b, c, d = points_of(tree, node)
    one, two = tree.points[row_of(a)], tree.points[row_of(b)]
    three, four = tree.points[row_of(c)], tree.points[row_of(d)]
    for j in range(box.shape[1]):
        box[0, j] = min(min(one[j], two[j]), min(three[j], four[j]))
        box[1, j] = max(max(one[j], two[j]), max(three[j], four[j]))


@inlined
def spare_box(tree: Tree, place: int) -> Floats:
    """A place in `Tree.spare`, as corners (2, d)."""
    return tree.spare[place].view(np.float32).reshape((2, tree.spare.shape[1]))


@inlined
def bring_box(tree: Tree, node: int, place: int) -> None:
    """To be called before corners of a node are used: the box of a small node is put into
    `spare`."""
    if is_small(tree, node):
        gather_box(tree, node, spare_box(tree, place))


@inlined
def lower_corner(tree: Tree, node: int, place: int) -> Floats:
    if is_point(node):
        corner = tree.points[row_of(node)]
    elif tree.nodes[node, FEATURES] == NONE:
        corner = spare_box(tree, place)[0]
    else:
        corner = tree.boxes[tree.nodes[node, FEATURES], 0]
    return corner


@inlined
def upper_corner(tree: Tree, node: int, place: int) -> Floats:
    if is_point(node):
        corner = tree.points[row_of(node)]
    elif tree.nodes[node, FEATURES] == NONE:
        corner = spare_box(tree, place)[1]
    else:
        corner = tree.boxes[tree.nodes[node, FEATURES], 1]
    return corner


@kernel
def fit_box(tree: Tree, node: int) -> None:
    """Make the box of an internal node that has one the union of its children's."""
    row = tree.nodes[node, FEATURES]
    if row == NONE:
        return
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    bring_box(tree, left, ONE)
    bring_box(tree, right, OTHER)
    left_lower, left_upper = lower_corner(tree, left, ONE), upper_corner(tree, left, ONE)
    right_lower, right_upper = lower_corner(tree, right, OTHER), upper_corner(tree, right, OTHER)
    box = tree.boxes[row]
    for j in range(box.shape[1]):
        box[0, j] = min(left_lower[j], right_lower[j])
        box[1, j] = max(left_upper[j], right_upper[j])


# Means


@kernel
def gather_mean(tree: Tree, node: int, mean: Doubles) -> None:
    """The mean of a small node, from its points."""
    count, a, b, c, d = points_of(tree, node)
    size = tree.nodes[node, SIZE]
    of_two = of_three = of_four = 1.0 / size
    if size > count:  # there are copies
        of_two, of_three = tree.nodes[b, SIZE] / size, tree.nodes[c, SIZE] / size
        of_four = tree.nodes[d, SIZE] / size
    one, two = tree.points[row_of(a)], tree.points[row_of(b)]
    if count == 2:
        for j in range(mean.shape[0]):
            mean[j] = np.float64(one[j]) + of_two * (np.float64(two[j]) - np.float64(one[j]))
        return
    three, four = tree.points[row_of(c)], tree.points[row_of(d)]
    for j in range(mean.shape[0]):
        start = np.float64(one[j])
        moved = of_two * (np.float64(two[j]) - start)
        moved += of_three * (np.float64(three[j]) - start)
        moved += of_four * (np.float64(four[j]) - start)
        mean[j] = start + moved


@inlined
def bring_mean(tree: Tree, node: int, place: int) -> None:
    """To be called before the mean of a node is used: that of a small node is put into `spare`."""
    if is_small(tree, node):
        gather_mean(tree, node, tree.spare[place])


@inlined
def mean_of(tree: Tree, node: int, place: int) -> Doubles:
    """The mean of a node that is not a point."""
    row = tree.nodes[node, FEATURES]
    return tree.spare[place] if row == NONE else tree.means[row]
