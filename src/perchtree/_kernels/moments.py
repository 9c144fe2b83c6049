"""What is known of the points below a node besides their box: count, mean, scatter and height.

Those of an internal node follow from its children's in O(d). They are merged, never subtracted, in
float64: nothing cancels, however far from zero the data is.
"""

import numpy as np

from .features import ONE, OTHER, UNION, bring_mean, mean_of, points_of
from .jit import inlined, kernel
from .prefetch import prefetch
from .schema import (
    FEATURES,
    HEIGHT,
    LEFT,
    LINKAGE,
    NONE,
    PARENT,
    RIGHT,
    SCATTER,
    SIZE,
    SQUARE,
    Doubles,
    Tree,
)
from .walk import is_point, row_of

CLOSER = 1 - 1e-5
"""To be closer, a node must be closer by this factor, so that rounding does not look like a
difference."""


@kernel
def prefetch_points(tree: Tree, node: int) -> None:
    """Fetch the points of a small node."""
    count, a, b, c, d = points_of(tree, node)
    prefetch(tree.points, row_of(a))
    prefetch(tree.points, row_of(b))
    if count > 2:
        prefetch(tree.points, row_of(c))
    if count > 3:
        prefetch(tree.points, row_of(d))


@inlined
def prefetch_mean(tree: Tree, node: int) -> None:
    """Fetch a node's mean, which will be read soon, or the points of which it is made."""
    if is_point(node):
        prefetch(tree.points, row_of(node))
    elif tree.nodes[node, FEATURES] != NONE:
        prefetch(tree.means, tree.nodes[node, FEATURES])
    else:
        prefetch_points(tree, node)


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
    """Update heights from `node` towards the root, as far as they change.

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
    """The squared distance between two means; a leaf's point is its mean."""
    if is_point(a):
        return gap_from(tree, tree.points[row_of(a)], b)
    bring_mean(tree, a, ONE)
    return gap_from(tree, mean_of(tree, a, ONE), b)


@kernel
def squared_gaps(tree: Tree, node: int, left: int, right: int) -> tuple[float, float]:
    """The squared distances from the mean of one node to those of two others."""
    if is_point(node):
        x = tree.points[row_of(node)]
        return gap_from(tree, x, left), gap_from(tree, x, right)
    bring_mean(tree, node, ONE)
    mean = mean_of(tree, node, ONE)
    return gap_from(tree, mean, left), gap_from(tree, mean, right)


@inlined
def gap_from(tree: Tree, mean: Doubles, node: int) -> float:
    """The squared distance from a mean, or a point, to that of a node."""
    if is_point(node):
        return gap_between(mean, tree.points[row_of(node)])
    bring_mean(tree, node, OTHER)
    return gap_between(mean, mean_of(tree, node, OTHER))


@inlined
def gap_between(one: Doubles, other: Doubles) -> float:
    total = 0.0
    for j in range(one.shape[0]):
        gap = np.float64(other[j]) - np.float64(one[j])
        total += gap * gap
    return total


@kernel
def ward_weight(size: float, other: float) -> float:
    """Half the harmonic mean of two sizes."""
    return size * (other / (size + other))


@kernel
def fit_mean(tree: Tree, node: int) -> float:
    """Make the mean of an internal node, if it keeps one, that of its children's; the squared gap
    between those."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    row = tree.nodes[node, FEATURES]
    if row == NONE:
        return squared_gap(tree, left, right)
    share = tree.nodes[right, SIZE] / tree.nodes[node, SIZE]
    return join_means(tree, left, right, share, tree.means[row])


@inlined
def join_means(tree: Tree, a: int, b: int, share: float, mean: Doubles) -> float:
    """Put the mean of what two nodes hold into `mean`, `share` being the second one's of the
    points; the squared gap between the two."""
    if is_point(a):
        return join_mean(tree, tree.points[row_of(a)], b, share, mean)
    bring_mean(tree, a, ONE)
    return join_mean(tree, mean_of(tree, a, ONE), b, share, mean)


@inlined
def join_mean(tree: Tree, one: Doubles, b: int, share: float, mean: Doubles) -> float:
    """Put the mean of what a mean (or point) stands for and what a node holds into `mean`; the
    squared gap between the two."""
    if is_point(b):
        return move_between(one, tree.points[row_of(b)], share, mean)
    bring_mean(tree, b, OTHER)
    return move_between(one, mean_of(tree, b, OTHER), share, mean)


@inlined
def move_between(one: Doubles, other: Doubles, share: float, mean: Doubles) -> float:
    total = 0.0
    for j in range(mean.shape[0]):
        start = np.float64(one[j])
        gap = np.float64(other[j]) - start
        total += gap * gap
        mean[j] = start + share * gap
    return total


@kernel
def gap_to_union(tree: Tree, a: int, b: int, other: int) -> float:
    """The squared distance from the mean of what `a` and `b` hold to that of `other`."""
    share = tree.nodes[b, SIZE] / (tree.nodes[a, SIZE] + tree.nodes[b, SIZE])
    union = tree.spare[UNION]
    join_means(tree, a, b, share, union)
    return gap_from(tree, union, other)
