"""The linkage by neighbours: how far apart two nodes are, and how much weight edges have between
them."""

from .edges import edges_between, edges_of_left, is_due, nearness, stored_edges
from .jit import kernel
from .linkages import average
from .moments import (
    CLOSER,
    fit_height,
    fit_mean,
    gap_to_union,
    scatter,
    squared_gap,
    squared_gaps,
    ward_weight,
)
from .schema import LEFT, LINKAGE, NONE, PARENT, RIGHT, SCATTER, SIZE, SQUARE, Tree
from .walk import row_of

OFTEN_TURNED = 32
"""Below twice this many points, a node is considered for an interchange whenever it changes."""

OFTEN_COMPARED = 16
"""Below twice this many points in the smaller of them, two nodes are compared for every leaf."""


@kernel
def joined(
    gap: float, size: float, other: float, scatter: float, other_scatter: float, weight: float
) -> float:
    """The average linkage divided by the mean weight of edges between a point of one and a point
    of the other: close to each other, and neighbours of each other."""
    return average(gap, size, other, scatter, other_scatter) / nearness(size, other, weight)


@kernel
def linkage_given(tree: Tree, a: int, b: int, gap: float, weight: float) -> float:
    """The linkage between two nodes, given the squared gap and the weight of edges between them."""
    return joined(
        gap, tree.nodes[a, SIZE], tree.nodes[b, SIZE], scatter(tree, a), scatter(tree, b), weight
    )


@kernel
def fit_moments(tree: Tree, node: int) -> None:
    """Make an internal node's mean, scatter and linkage follow from its children's."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    gap = fit_mean(tree, node)
    size, other = tree.nodes[left, SIZE], tree.nodes[right, SIZE]
    own, others = scatter(tree, left), scatter(tree, right)
    row = row_of(node)
    tree.moments[row, SCATTER] = own + others + ward_weight(size, other) * gap
    tree.moments[row, LINKAGE] = linkage_given(tree, left, right, gap, stored_edges(tree, node))
    tree.moments[row, SQUARE] = gap + own / size + others / other
    fit_height(tree, node)


@kernel
def closer_child(tree: Tree, left: int, right: int, other: int, enough: float) -> int:
    """As in `linkages`, but large nodes are not considered each time that they grow by one point.

    The weight of edges to both is known: it bounds that to each, and edges are only looked at
    where it matters.
    """
    size = tree.nodes[left, SIZE] + tree.nodes[right, SIZE]
    if not is_due(size, size, OFTEN_TURNED):
        return NONE
    both = stored_edges(tree, tree.nodes[other, PARENT])
    to_left, to_right = squared_gaps(tree, other, left, right)
    if (
        linkage_given(tree, left, other, to_left, both) >= enough
        and linkage_given(tree, right, other, to_right, both) >= enough
    ):
        return NONE
    of_left = edges_of_left(tree, left, right, other, both)
    from_left = linkage_given(tree, left, other, to_left, of_left)
    from_right = linkage_given(tree, right, other, to_right, both - of_left)
    if min(from_left, from_right) >= enough:
        return NONE
    return left if from_left < CLOSER * from_right else right


@kernel
def is_closer(tree: Tree, leaf: int, a: int, b: int, top: int, enough: float) -> bool:
    """As in `linkages`, but large nodes are only compared for one in so many leaves.

    What is kept at `top` bounds the weight of edges between the two.
    """
    if not is_due(min(tree.nodes[a, SIZE], tree.nodes[b, SIZE]), row_of(leaf), OFTEN_COMPARED):
        return False
    gap, most = squared_gap(tree, a, b), stored_edges(tree, top)
    if linkage_given(tree, a, b, gap, most) >= enough:
        return False
    weight = min(most, edges_between(tree, a, b))
    return bool(linkage_given(tree, a, b, gap, weight) < enough)


@kernel
def linkage_of_union(tree: Tree, a: int, b: int, other: int) -> float:
    """The linkage that the union of `a` and `b` would have with `other`."""
    size, more = tree.nodes[a, SIZE], tree.nodes[b, SIZE]
    within = scatter(tree, a) + scatter(tree, b)
    within += ward_weight(size, more) * squared_gap(tree, a, b)
    return joined(
        gap_to_union(tree, a, b, other),
        size + more,
        tree.nodes[other, SIZE],
        within,
        scatter(tree, other),
        edges_between(tree, a, other) + edges_between(tree, b, other),
    )
