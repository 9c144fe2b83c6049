"""What is known of the points below a node beside their box: count, mean and scatter.

Those of an internal node follow from its children's in O(d). They are merged, never subtracted,
and means are kept relative to the first point: nothing cancels, however far from zero the data is.
"""

import numpy as np

from .jit import in_order, inlined, kernel
from .schema import LEFT, LINKAGE, MEAN, RIGHT, SCATTER, SIZE, Floats, Tree
from .walk import is_point, row_of

_ZERO, _ONE = np.float32(0), np.float32(1)


@inlined
def centre(tree: Tree, node: int) -> Floats:
    """A leaf's point, or the mean of a node less the origin: see `shift`."""
    row = row_of(node)
    return tree.points[row] if is_point(node) else tree.boxes[row, MEAN]


@kernel
def shift(node: int) -> np.float32:
    """How many times the origin is still in what `centre` returns."""
    return _ONE if is_point(node) else _ZERO


# Operations in a given order: only sums over features may be taken in any, so that they are
# vectorised. (Multiplied out, the differences below would be those of large numbers.)


@in_order
def relative(value: np.float32, times: np.float32, origin: np.float32) -> np.float32:
    """A coordinate of a `centre` relative to the origin."""
    return value - times * origin


@in_order
def difference(a: np.float32, b: np.float32) -> np.float32:
    return a - b


@in_order
def towards(start: np.float32, share: np.float32, gap: np.float32) -> np.float32:
    return start + share * gap


@kernel
def scatter(tree: Tree, node: int) -> float:
    """Sum of squared distances from the mean; copies of one point have none."""
    return 0.0 if is_point(node) else tree.moments[row_of(node), SCATTER]


@kernel
def stored_linkage(tree: Tree, node: int) -> float:
    """The linkage between an internal node's children."""
    return tree.moments[row_of(node), LINKAGE]


@kernel
def squared_gap(tree: Tree, a: int, b: int) -> float:
    """The squared distance between two means."""
    a_centre, b_centre = centre(tree, a), centre(tree, b)
    a_shift, b_shift = shift(a), shift(b)
    origin = tree.origin
    total = _ZERO
    for j in range(origin.shape[0]):
        a_value = relative(a_centre[j], a_shift, origin[j])
        gap = difference(a_value, relative(b_centre[j], b_shift, origin[j]))
        total += gap * gap
    return np.float64(total)


@kernel
def ward_weight(size: float, other: float) -> float:
    """Half the harmonic mean of two sizes."""
    return size * (other / (size + other))


@kernel
def fit_mean(tree: Tree, node: int) -> float:
    """Make an internal node's mean that of its children's; the squared gap between those."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    left_centre, right_centre = centre(tree, left), centre(tree, right)
    left_shift, right_shift = shift(left), shift(right)
    origin, mean = tree.origin, tree.boxes[row_of(node), MEAN]
    share = np.float32(tree.nodes[right, SIZE] / tree.nodes[node, SIZE])
    total = _ZERO
    for j in range(origin.shape[0]):
        start = relative(left_centre[j], left_shift, origin[j])
        gap = difference(relative(right_centre[j], right_shift, origin[j]), start)
        total += gap * gap
        mean[j] = towards(start, share, gap)
    return np.float64(total)


@kernel
def gap_to_union(tree: Tree, a: int, b: int, other: int) -> float:
    """The squared distance from the mean of what `a` and `b` hold to that of `other`."""
    a_centre, b_centre, other_centre = centre(tree, a), centre(tree, b), centre(tree, other)
    a_shift, b_shift, other_shift = shift(a), shift(b), shift(other)
    origin = tree.origin
    share = np.float32(tree.nodes[b, SIZE] / (tree.nodes[a, SIZE] + tree.nodes[b, SIZE]))
    total = _ZERO
    for j in range(origin.shape[0]):
        start = relative(a_centre[j], a_shift, origin[j])
        gap = difference(relative(b_centre[j], b_shift, origin[j]), start)
        mean = towards(start, share, gap)
        gap = difference(mean, relative(other_centre[j], other_shift, origin[j]))
        total += gap * gap
    return np.float64(total)
