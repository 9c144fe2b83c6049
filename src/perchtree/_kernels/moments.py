"""What is known of the points below a node beside their box: count, mean, scatter and height.

Those of an internal node follow from its children's in O(d). They are merged, never subtracted, in
float64: nothing cancels, however far from zero the data is.
"""

import numpy as np

from .jit import kernel
from .prefetch import prefetch
from .schema import (
    HEIGHT,
    LEFT,
    LINKAGE,
    NONE,
    PARENT,
    RIGHT,
    SCATTER,
    SIZE,
    SQUARE,
    Tree,
)
from .walk import is_point, row_of

CLOSER = 1 - 1e-5
"""What is to be closer must be so by this factor: rounding must not look like a difference."""


@kernel
def mean_at(tree: Tree, node: int, j: int) -> float:
    """One coordinate of a node's mean; a leaf's point is its mean."""
    row = row_of(node)
    return np.float64(tree.points[row, j]) if is_point(node) else tree.means[row, j]


@kernel
def prefetch_mean(tree: Tree, node: int) -> None:
    """Fetch a node's mean, which will be read soon."""
    row = row_of(node)
    if is_point(node):
        prefetch(tree.points, row)
    else:
        prefetch(tree.means, row)


@kernel
def scatter(tree: Tree, node: int) -> float:
    """Sum of squared distances from the mean; copies of one point have none."""
    return 0.0 if is_point(node) else tree.moments[row_of(node), SCATTER]


@kernel
def stored_linkage(tree: Tree, node: int) -> float:
    """The linkage between an internal node's children."""
    return tree.moments[row_of(node), LINKAGE]


@kernel
def squared_height(tree: Tree, node: int) -> float:
    """The largest mean square at a node or below it, in a tree with a linkage; a point has none."""
    return 0.0 if is_point(node) else tree.moments[row_of(node), HEIGHT]


@kernel
def fit_height(tree: Tree, node: int) -> bool:
    """Make an internal node's height follow from its children's; whether it has changed."""
    below = squared_height(tree, tree.nodes[node, LEFT])
    below = max(below, squared_height(tree, tree.nodes[node, RIGHT]))
    row = row_of(node)
    before = tree.moments[row, HEIGHT]
    tree.moments[row, HEIGHT] = max(tree.moments[row, SQUARE], below)
    return bool(tree.moments[row, HEIGHT] != before)


@kernel
def fit_heights_up(tree: Tree, node: int) -> None:
    """Make heights fit from `node` towards the root, as far as they change.

    For changes of the tree's shape that leave all other moments further up as they are.
    """
    while node != NONE and fit_height(tree, node):
        node = tree.nodes[node, PARENT]


@kernel
def fit_leaf(tree: Tree, leaf: int) -> None:
    """The height of a collapsed leaf: any two points are as far apart as they are on average."""
    row = row_of(leaf)
    square = 2 * tree.moments[row, SCATTER] / max(1, tree.nodes[leaf, SIZE] - 1)
    tree.moments[row, SQUARE] = square
    tree.moments[row, HEIGHT] = square


@kernel
def squared_gap(tree: Tree, a: int, b: int) -> float:
    """The squared distance between two means."""
    total = 0.0
    for j in range(tree.points.shape[1]):
        gap = mean_at(tree, a, j) - mean_at(tree, b, j)
        total += gap * gap
    return total


@kernel
def ward_weight(size: float, other: float) -> float:
    """Half the harmonic mean of two sizes."""
    return size * (other / (size + other))


@kernel
def fit_mean(tree: Tree, node: int) -> float:
    """Make an internal node's mean that of its children's; the squared gap between those."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    mean = tree.means[row_of(node)]
    share = tree.nodes[right, SIZE] / tree.nodes[node, SIZE]
    total = 0.0
    for j in range(mean.shape[0]):
        start = mean_at(tree, left, j)
        gap = mean_at(tree, right, j) - start
        total += gap * gap
        mean[j] = start + share * gap
    return total


@kernel
def gap_to_union(tree: Tree, a: int, b: int, other: int) -> float:
    """The squared distance from the mean of what `a` and `b` hold to that of `other`."""
    share = tree.nodes[b, SIZE] / (tree.nodes[a, SIZE] + tree.nodes[b, SIZE])
    total = 0.0
    for j in range(tree.points.shape[1]):
        start = mean_at(tree, a, j)
        mean = start + share * (mean_at(tree, b, j) - start)
        gap = mean - mean_at(tree, other, j)
        total += gap * gap
    return total
