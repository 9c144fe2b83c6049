"""Leaves near a leaf, found from its place in the tree: approximate, at bounded cost.

A removal is not preceded by a search, and an exact one would cost far more than the repair. But
points that are close are mostly close in the tree: so climb, and descend where points are near.
"""

from .heap import pop, push
from .jit import kernel
from .moments import CLOSER, scatter, squared_gap
from .order import precedes
from .schema import FIRST, LEFT, NONE, PARENT, RIGHT, SIZE, Nearby, Tree
from .walk import is_leaf, sibling_of

CLIMBED = 64
"""Levels climbed at most."""

EXPANDED = 16
"""Nodes looked into at most."""


@kernel
def spread_gap(tree: Tree, leaf: int, node: int) -> float:
    """The mean squared distance from a leaf's mean to the points below a node.

    (The distance of the means alone makes large nodes look near.)
    """
    return squared_gap(tree, leaf, node) + scatter(tree, node) / tree.nodes[node, SIZE]


@kernel
def offer_near(tree: Tree, nearby: Nearby, leaf: int, gap: float) -> None:
    """Take a leaf among the nearest, in place of the last of them, if it belongs there."""
    place = nearby.leaves.shape[0]
    while place > 0 and belongs_before(tree, nearby, place - 1, leaf, gap):
        place -= 1
        if place + 1 < nearby.leaves.shape[0]:
            nearby.near[place + 1] = nearby.near[place]
            nearby.leaves[place + 1] = nearby.leaves[place]
    if place < nearby.leaves.shape[0]:
        nearby.near[place] = gap
        nearby.leaves[place] = leaf


@kernel
def belongs_before(tree: Tree, nearby: Nearby, place: int, leaf: int, gap: float) -> bool:
    """Whether a leaf comes before the one at `place`."""
    other = nearby.leaves[place]
    if other == NONE:
        return True
    near, first = nearby.near[place], tree.nodes[other, FIRST]
    return precedes(gap, gap, tree.nodes[leaf, FIRST], near, near, first)


@kernel
def offer_node(tree: Tree, nearby: Nearby, count: int, leaf: int, node: int) -> int:
    """Take a leaf among the nearest, or a node among those to look into; how many these are."""
    gap = spread_gap(tree, leaf, node)
    if not is_leaf(tree, node):
        return push(nearby.keys, nearby.nodes, count, gap, node)
    offer_near(tree, nearby, node, gap)
    return count


@kernel
def find_nearby(tree: Tree, nearby: Nearby, leaf: int) -> None:
    """Leaves near a leaf, the nearest first, into `nearby.leaves`."""
    for rank in range(nearby.leaves.shape[0]):
        nearby.leaves[rank] = NONE
    count, node, levels = 0, leaf, 0
    while tree.nodes[node, PARENT] != NONE and levels < CLIMBED:
        count = offer_node(tree, nearby, count, leaf, sibling_of(tree, node))
        node = tree.nodes[node, PARENT]
        levels += 1
    for _ in range(EXPANDED):
        if count == 0:
            return
        node = nearby.nodes[0]
        count = pop(nearby.keys, nearby.nodes, count)
        count = offer_node(tree, nearby, count, leaf, tree.nodes[node, LEFT])
        count = offer_node(tree, nearby, count, leaf, tree.nodes[node, RIGHT])


@kernel
def find_orphan(tree: Tree, leaf: int) -> int:
    """The leaf beside a leaf: in its sibling's subtree, always down to the nearer child, the left
    one of equals."""
    node = sibling_of(tree, leaf)
    while not is_leaf(tree, node):
        left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
        to_left, to_right = spread_gap(tree, leaf, left), spread_gap(tree, leaf, right)
        node = right if to_right < CLOSER * to_left else left
    return node


@kernel
def no_orphan(tree: Tree, leaf: int) -> int:
    """Rotations by boxes look for nobody."""
    return NONE
