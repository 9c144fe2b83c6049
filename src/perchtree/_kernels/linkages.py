"""How far apart two nodes are, computed from their moments: the rules of linkage modes."""

import math
from collections.abc import Callable

import numpy as np

from .features import fit_box, resize
from .jit import kernel
from .moments import (
    CLOSER,
    fit_height,
    fit_mean,
    gap_to_union,
    scatter,
    squared_gap,
    squared_gaps,
    stored_linkage,
    ward_weight,
)
from .schema import LEFT, LINKAGE, NONE, PARENT, RIGHT, SCATTER, SIZE, SQUARE, Ints, Tree
from .walk import row_of

# Bound by `specialise`: (squared gap between means, size, other size, scatter, other scatter).
Formula = Callable[[float, float, float, float, float], float]
formula: Formula


@kernel
def ward(gap: float, size: float, other: float, scatter: float, other_scatter: float) -> float:
    """By how much a merge increases the sum of squares within clusters."""
    return ward_weight(size, other) * gap


@kernel
def average(gap: float, size: float, other: float, scatter: float, other_scatter: float) -> float:
    """The mean squared distance between points of one and of the other, times a size factor.

    The factor, the fourth root of Ward's weight, keeps the tree shallow: without it large clusters
    take up one point after another, in trees hundreds of levels deep.
    """
    mean_square = gap + scatter / size + other_scatter / other
    return mean_square * math.sqrt(math.sqrt(ward_weight(size, other)))


def linkage_given(tree: Tree, a: int, b: int, gap: float) -> float:
    """The linkage between two nodes, given the squared gap between their means."""
    return formula(
        gap,
        tree.nodes[a, SIZE],
        tree.nodes[b, SIZE],
        scatter(tree, a),
        scatter(tree, b),
    )


def fit_moments(tree: Tree, node: int) -> None:
    """Compute an internal node's mean, scatter, linkage and height from its children's."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    gap = fit_mean(tree, node)
    size, other = tree.nodes[left, SIZE], tree.nodes[right, SIZE]
    own, others = scatter(tree, left), scatter(tree, right)
    row = row_of(node)
    tree.moments[row, SCATTER] = own + others + ward_weight(size, other) * gap
    tree.moments[row, LINKAGE] = formula(gap, size, other, own, others)
    tree.moments[row, SQUARE] = gap + own / size + others / other
    fit_height(tree, node)


def fit_moments_up(tree: Tree, node: int, top: int) -> None:
    """Update the moments of `node` and its ancestors, up to `top`; with NONE, to the root."""
    while node != NONE:
        fit_moments(tree, node)
        if node == top:
            return
        node = tree.nodes[node, PARENT]


def fit_nodes(tree: Tree, nodes: Ints) -> None:
    """Make counts, boxes and moments of internal nodes follow from their children's, which come
    first."""
    for place in range(nodes.shape[0]):
        node = nodes[place]
        left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
        resize(tree, node, tree.nodes[left, SIZE] + tree.nodes[right, SIZE])
        fit_box(tree, node)
        fit_moments(tree, node)


def closer_child(tree: Tree, left: int, right: int, other: int, enough: float) -> int:
    """Which of two siblings is closer than `enough` to a third node, the closer one if both are;
    NONE if none is."""
    left_gap, right_gap = squared_gaps(tree, other, left, right)
    to_left = linkage_given(tree, left, other, left_gap)
    to_right = linkage_given(tree, right, other, right_gap)
    if min(to_left, to_right) >= enough:
        return NONE
    return left if to_left < CLOSER * to_right else right


def is_closer(tree: Tree, leaf: int, a: int, b: int, top: int, enough: float) -> bool:
    """Whether two nodes, which meet at `top`, are closer than `enough` to each other.

    `leaf` is the one for whose sake they are compared.
    """
    return bool(linkage_given(tree, a, b, squared_gap(tree, a, b)) < enough)


def linkage_of_union(tree: Tree, a: int, b: int, other: int) -> float:
    """The linkage that the union of `a` and `b` would have with `other`."""
    size, more = tree.nodes[a, SIZE], tree.nodes[b, SIZE]
    within = scatter(tree, a) + scatter(tree, b)
    within += ward_weight(size, more) * squared_gap(tree, a, b)
    return formula(
        gap_to_union(tree, a, b, other),
        size + more,
        tree.nodes[other, SIZE],
        within,
        scatter(tree, other),
    )


@kernel
def sibling_linkage(tree: Tree, left: int, right: int) -> np.float32:
    """The linkage between two siblings, as their parent has it: what collapsing goes by."""
    return np.float32(stored_linkage(tree, tree.nodes[left, PARENT]))
