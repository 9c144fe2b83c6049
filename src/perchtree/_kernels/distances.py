"""Squared distances between points, boxes and nodes: section 4.3.

One function computes each kind of distance everywhere, so that every path through the code
sees the same number. All are squared; float32 throughout.
"""

import numpy as np

from .features import ONE, OTHER, bring_box, lower_corner, upper_corner
from .jit import kernel
from .schema import (
    FEATURES,
    NONE,
    SIZE,
    Floats,
    Tree,
)
from .walk import first_leaf, is_point, next_leaf, row_of

INFINITY = np.float32(np.inf)
ZERO = np.float32(0)

EXACT_SIZE = 20
"""Up to this many points, published distances to a node are taken over its points."""


@kernel
def point_distance(x: Floats, y: Floats) -> np.float32:
    total = ZERO
    for j in range(x.shape[0]):
        gap = x[j] - y[j]
        total += gap * gap
    return total


@kernel
def box_min(x: Floats, lower: Floats, upper: Floats) -> np.float32:
    """Equation 2: d-(x, v), a lower bound on the distance to the points in the box."""
    total = ZERO
    for j in range(x.shape[0]):
        gap = max(max(lower[j] - x[j], x[j] - upper[j]), ZERO)
        total += gap * gap
    return total


@kernel
def box_max(x: Floats, lower: Floats, upper: Floats) -> np.float32:
    """Equation 3: d+(x, v), an upper bound on the distance to the points in the box."""
    total = ZERO
    for j in range(x.shape[0]):
        gap = max(upper[j] - x[j], x[j] - lower[j])
        total += gap * gap
    return total


@kernel
def min_to_box(tree: Tree, x: Floats, node: int) -> np.float32:
    """d- from x to a node's box, or to its point; exact for a leaf that is a point.

    The node must not be small.
    """
    if is_point(node):
        return point_distance(x, tree.points[row_of(node)])
    row = tree.nodes[node, FEATURES]
    return box_min(x, tree.boxes[row, 0], tree.boxes[row, 1])


@kernel
def max_to_box(tree: Tree, x: Floats, node: int) -> np.float32:
    """d+ from x to a node's box, or to its point. The node must not be small."""
    if is_point(node):
        return point_distance(x, tree.points[row_of(node)])
    row = tree.nodes[node, FEATURES]
    return box_max(x, tree.boxes[row, 0], tree.boxes[row, 1])


@kernel
def min_to_node(tree: Tree, x: Floats, node: int) -> np.float32:
    """d- as published: exact over a small subtree's leaves, equation 2 above that."""
    if tree.nodes[node, SIZE] > EXACT_SIZE:
        return min_to_box(tree, x, node)
    smallest = INFINITY
    leaf = first_leaf(tree, node)
    while leaf != NONE:
        smallest = min(smallest, min_to_box(tree, x, leaf))
        leaf = next_leaf(tree, leaf, node)
    return smallest


@kernel
def max_to_node(tree: Tree, x: Floats, node: int) -> np.float32:
    """d+ as published: exact over a small subtree's leaves, equation 3 above that."""
    if tree.nodes[node, SIZE] > EXACT_SIZE:
        return max_to_box(tree, x, node)
    largest = ZERO
    leaf = first_leaf(tree, node)
    while leaf != NONE:
        largest = max(largest, max_to_box(tree, x, leaf))
        leaf = next_leaf(tree, leaf, node)
    return largest


@kernel
def min_from_corners(tree: Tree, node: int, other: int) -> np.float32:
    """The smaller d- from the two corners of `other` to `node`."""
    bring_box(tree, other, ONE)
    nearest = min_to_node(tree, lower_corner(tree, other, ONE), node)
    if is_point(other):  # both corners are the point
        return nearest
    return min(nearest, min_to_node(tree, upper_corner(tree, other, ONE), node))


@kernel
def max_from_corners(tree: Tree, node: int, other: int) -> np.float32:
    """The larger d+ from the two corners of `other` to `node`."""
    bring_box(tree, other, ONE)
    farthest = max_to_node(tree, lower_corner(tree, other, ONE), node)
    if is_point(other):
        return farthest
    return max(farthest, max_to_node(tree, upper_corner(tree, other, ONE), node))


@kernel
def published_min(tree: Tree, a: int, b: int) -> np.float32:
    """d-(a, b) of section 4.3 as the authors' program computes it.

    The corners of each box are measured against the other node. Not a true lower bound: the
    nearest parts of two boxes need not be corners.
    """
    return max(min_from_corners(tree, a, b), min_from_corners(tree, b, a))


@kernel
def published_max(tree: Tree, a: int, b: int) -> np.float32:
    """d+(a, b) of section 4.3 as the authors' program computes it."""
    return min(max_from_corners(tree, a, b), max_from_corners(tree, b, a))


@kernel
def interval_min(tree: Tree, a: int, b: int) -> np.float32:
    """d-(a, b) between two boxes, side by side: no two points of theirs are closer."""
    bring_box(tree, a, ONE)
    bring_box(tree, b, OTHER)
    a_lower, a_upper = lower_corner(tree, a, ONE), upper_corner(tree, a, ONE)
    b_lower, b_upper = lower_corner(tree, b, OTHER), upper_corner(tree, b, OTHER)
    total = ZERO
    for j in range(a_lower.shape[0]):
        gap = max(max(a_lower[j] - b_upper[j], b_lower[j] - a_upper[j]), ZERO)
        total += gap * gap
    return total


@kernel
def interval_max(tree: Tree, a: int, b: int) -> np.float32:
    """d+(a, b) between two boxes, side by side: no two points of theirs are farther apart."""
    bring_box(tree, a, ONE)
    bring_box(tree, b, OTHER)
    a_lower, a_upper = lower_corner(tree, a, ONE), upper_corner(tree, a, ONE)
    b_lower, b_upper = lower_corner(tree, b, OTHER), upper_corner(tree, b, OTHER)
    total = ZERO
    for j in range(a_lower.shape[0]):
        gap = max(a_upper[j] - b_lower[j], b_upper[j] - a_lower[j])
        total += gap * gap
    return total


@kernel
def leaf_distance(tree: Tree, a: int, b: int) -> np.float32:
    """The distance between two leaves that are points."""
    return point_distance(tree.points[row_of(a)], tree.points[row_of(b)])
