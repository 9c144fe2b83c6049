"""Edges between points that are among each other's nearest, and how much they weigh between nodes.

Each leaf lists its nearest neighbours. An edge joins two leaves that list each other; its weight
goes by the places that they have in each other's lists when they meet. The weight of all edges
between the two children of a node is kept at the node: an edge counts where its two ends meet.
"""

import numpy as np

from .distances import point_distance
from .jit import entry_point, kernel
from .links import graft, rotate
from .schema import (
    EDGES,
    LEFT,
    LENGTH,
    LINKAGE,
    NEIGHBOUR,
    NODE,
    NONE,
    PARENT,
    POINT_ROWS,
    RIGHT,
    SIZE,
    WEIGHT,
    Found,
    Ints,
    Tree,
)
from .walk import (
    first_leaf,
    is_leaf,
    lowest_common,
    next_leaf,
    point_node,
    row_of,
    sibling_of,
)

APART = 1e-3
"""Added to the mean weight of edges: with none, the average linkage alone decides."""

SAMPLED = 64
"""Leaves of a node whose edges are examined; larger nodes are sampled evenly."""


@kernel
def as_float(bits: int) -> float:
    """A length or a weight, from the whole number that stands for it in `Tree.lists`."""
    return np.int32(bits).view(np.float32)


@kernel
def as_bits(value: float) -> int:
    return np.float32(value).view(np.int32)


@kernel
def weight_of_places(place: int, other: int) -> float:
    """The weight of an edge between two leaves, by their places in each other's lists."""
    return np.float32(1 / (place + 1.0) + 1 / (other + 1.0))


@kernel
def listed(tree: Tree, row: int, place: int) -> int:
    """The leaf at a place of a list, or NONE: numbers are one larger there, so that zeros are
    empty."""
    return tree.lists[row, place, NEIGHBOUR] - 1


# The weight between the children of each node


@kernel
def stored_edges(tree: Tree, node: int) -> float:
    return tree.moments[row_of(node), EDGES]


@kernel
def nearness(size: float, other: float, weight: float) -> float:
    """What edges of this weight divide the linkage between nodes of these sizes by."""
    return weight / (size * other) + APART


@kernel
def count_edge(tree: Tree, node: int, weight: float) -> None:
    """Add a weight to those between a node's children, whose linkage follows.

    Earlier estimates must not make it negative.
    """
    row = row_of(node)
    before = tree.moments[row, EDGES]
    after = max(0.0, before + weight)
    size = tree.nodes[tree.nodes[node, LEFT], SIZE]
    other = tree.nodes[tree.nodes[node, RIGHT], SIZE]
    tree.moments[row, LINKAGE] *= nearness(size, other, before) / nearness(size, other, after)
    tree.moments[row, EDGES] = after


@kernel
def holds(tree: Tree, node: int, leaf: int) -> bool:
    """Whether a leaf is below a node. Sizes grow towards the root, which tells where to stop."""
    size = tree.nodes[node, SIZE]
    while tree.nodes[leaf, SIZE] < size:
        leaf = tree.nodes[leaf, PARENT]
    return bool(leaf == node)


@kernel
def leaf_at(tree: Tree, node: int, rank: int) -> int:
    """The leaf below a node that holds its point number `rank`, from left to right."""
    while not is_leaf(tree, node):
        left = tree.nodes[node, LEFT]
        if rank < tree.nodes[left, SIZE]:
            node = left
        else:
            rank -= tree.nodes[left, SIZE]
            node = tree.nodes[node, RIGHT]
    return node


@kernel
def weight_into(tree: Tree, leaf: int, node: int) -> float:
    """The weight of the edges from a leaf to those below a node."""
    row, total = row_of(leaf), 0.0
    for place in range(tree.lists.shape[1]):
        bits = tree.lists[row, place, WEIGHT]
        if bits != 0 and holds(tree, node, listed(tree, row, place)):
            total += np.float64(as_float(bits))
    return total


@kernel
def edges_between(tree: Tree, a: int, b: int) -> float:
    """The weight of the edges between two nodes, from those of the smaller one's leaves."""
    if tree.nodes[b, SIZE] < tree.nodes[a, SIZE]:
        a, b = b, a
    size, total = tree.nodes[a, SIZE], 0.0
    if size <= SAMPLED:
        leaf = first_leaf(tree, a)
        while leaf != NONE:
            total += weight_into(tree, leaf, b)
            leaf = next_leaf(tree, leaf, a)
        return total
    for sample in range(SAMPLED):
        total += weight_into(tree, leaf_at(tree, a, sample * size // SAMPLED), b)
    return total * (size / SAMPLED)


@kernel
def is_due(size: int, turn: int, always: int) -> bool:
    """Whether it is the turn of a node of this size; one of twice the size has half as many turns.

    Below twice `always` points it always is. So nodes of each size take about the same time.
    """
    every = 1
    while 2 * every * always <= size:
        every *= 2
    return turn & (every - 1) == 0


@kernel
def edges_of_left(tree: Tree, left: int, right: int, other: int, both: float) -> float:
    """The weight between the left one of two siblings and a third node, that of both being known.

    Only the smaller one's edges are looked at.
    """
    if tree.nodes[left, SIZE] <= tree.nodes[right, SIZE]:
        return min(both, edges_between(tree, left, other))
    return both - min(both, edges_between(tree, right, other))


@kernel
def turn_edges(tree: Tree, node: int) -> None:
    """`links.rotate`, with the weights of the two nodes whose children change."""
    parent = tree.nodes[node, PARENT]
    grandparent = tree.nodes[parent, PARENT]
    left, right = tree.nodes[parent, LEFT], tree.nodes[parent, RIGHT]
    both = stored_edges(tree, grandparent)
    total = both + stored_edges(tree, parent)
    of_left = edges_of_left(tree, left, right, sibling_of(tree, parent), both)
    between = of_left if node == left else both - of_left
    rotate(tree, node)
    tree.moments[row_of(parent), EDGES] = between
    tree.moments[row_of(grandparent), EDGES] = total - between


@kernel
def count_edges_of(tree: Tree, leaf: int, node: int, scale: float) -> None:
    """Add the weights of a leaf's edges that leave a node, times `scale`, where they end."""
    row = row_of(leaf)
    for place in range(tree.lists.shape[1]):
        bits = tree.lists[row, place, WEIGHT]
        neighbour = listed(tree, row, place)
        if bits != 0 and not holds(tree, node, neighbour):
            count_edge(tree, lowest_common(tree, node, neighbour), scale * as_float(bits))


@kernel
def count_edges_leaving(tree: Tree, node: int, sign: float) -> None:
    """Add the weights of the edges between a node and all that is not below it."""
    size = tree.nodes[node, SIZE]
    if size <= SAMPLED:
        leaf = first_leaf(tree, node)
        while leaf != NONE:
            count_edges_of(tree, leaf, node, sign)
            leaf = next_leaf(tree, leaf, node)
        return
    for sample in range(SAMPLED):
        leaf = leaf_at(tree, node, sample * size // SAMPLED)
        count_edges_of(tree, leaf, node, sign * (size / SAMPLED))


@kernel
def move_edges(tree: Tree, node: int, other: int, top: int) -> None:
    """`links.graft`, with the weights of all nodes between which edges come to count."""
    count_edges_leaving(tree, node, -1.0)
    graft(tree, node, other, top)
    tree.moments[row_of(tree.nodes[node, PARENT]), EDGES] = 0.0
    count_edges_leaving(tree, node, 1.0)


# Lists of nearest neighbours


@kernel
def place_in_list(tree: Tree, leaf: int, neighbour: int, length: int) -> int:
    """Where a leaf lists a neighbour at this distance, or NONE.

    (The number of a leaf that was removed may be in lists still, and stand for another one by now.)
    """
    row = row_of(leaf)
    for place in range(tree.lists.shape[1]):
        if listed(tree, row, place) == neighbour and tree.lists[row, place, LENGTH] == length:
            return place
    return NONE


@kernel
def forget_edge(tree: Tree, leaf: int, place: int) -> None:
    """Take away the edge, if it is one, from a leaf to the neighbour at a place of its list."""
    row = row_of(leaf)
    bits = tree.lists[row, place, WEIGHT]
    if bits == 0:
        return
    neighbour = listed(tree, row, place)
    back = place_in_list(tree, neighbour, leaf, tree.lists[row, place, LENGTH])
    tree.lists[row, place, WEIGHT] = 0
    tree.lists[row_of(neighbour), back, WEIGHT] = 0
    count_edge(tree, lowest_common(tree, leaf, neighbour), -as_float(bits))


@kernel
def copy_entry(tree: Tree, row: int, place: int, to: int) -> None:
    for column in range(tree.lists.shape[2]):
        tree.lists[row, to, column] = tree.lists[row, place, column]


@kernel
def clear_entry(tree: Tree, row: int, place: int) -> None:
    for column in range(tree.lists.shape[2]):
        tree.lists[row, place, column] = 0


@kernel
def enlist(tree: Tree, leaf: int, neighbour: int, length: int) -> int:
    """Let a leaf list a neighbour, in place of the farthest if the list is full; where it is then.

    NONE if all that are listed are nearer. Of equals, those that came first stay before.
    """
    place = place_in_list(tree, leaf, neighbour, length)
    if place != NONE:
        return place
    row, last = row_of(leaf), tree.lists.shape[1] - 1
    if listed(tree, row, last) != NONE and length >= tree.lists[row, last, LENGTH]:
        return NONE
    forget_edge(tree, leaf, last)
    place = last
    while place > 0 and (
        listed(tree, row, place - 1) == NONE or length < tree.lists[row, place - 1, LENGTH]
    ):
        copy_entry(tree, row, place - 1, place)
        place -= 1
    tree.lists[row, place, NEIGHBOUR] = neighbour + 1
    tree.lists[row, place, LENGTH] = length
    tree.lists[row, place, WEIGHT] = 0
    return place


@kernel
def meet(tree: Tree, leaf: int, neighbour: int, length: int) -> None:
    """Let two leaves list each other, if they are close enough; if both do, an edge joins them."""
    there = enlist(tree, leaf, neighbour, length)
    back = enlist(tree, neighbour, leaf, length)
    if there == NONE or back == NONE:
        return
    row = row_of(leaf)
    if tree.lists[row, there, WEIGHT] == 0:
        weight = weight_of_places(there, back)
        tree.lists[row, there, WEIGHT] = as_bits(weight)
        tree.lists[row_of(neighbour), back, WEIGHT] = as_bits(weight)
        count_edge(tree, lowest_common(tree, leaf, neighbour), weight)


@kernel
def meet_found(tree: Tree, found: Found, new_leaf: int) -> None:
    """Let a new leaf meet the neighbours that its search has found."""
    for rank in range(found.leaves.shape[0]):
        neighbour = found.leaves[rank, NODE]
        if neighbour != NONE:
            meet(tree, new_leaf, neighbour, as_bits(found.distances[rank, 0]))


@entry_point
def meet_rows(tree: Tree, leaves: Ints, neighbours: Ints) -> None:
    """Let leaves that are in the tree already meet their neighbours (leaves, k), nearest first."""
    for row in range(leaves.shape[0]):
        leaf = leaves[row]
        for rank in range(neighbours.shape[1]):
            neighbour = neighbours[row, rank]
            if neighbour != NONE:
                x, other = tree.points[row_of(leaf)], tree.points[row_of(neighbour)]
                meet(tree, leaf, neighbour, as_bits(point_distance(x, other)))


@kernel
def leave_lists(tree: Tree, leaf: int) -> None:
    """Take a leaf that is about to be removed out of the lists of those it has edges to."""
    row = row_of(leaf)
    for place in range(tree.lists.shape[1]):
        if tree.lists[row, place, WEIGHT] != 0:
            neighbour = listed(tree, row, place)
            back = place_in_list(tree, neighbour, leaf, tree.lists[row, place, LENGTH])
            forget_edge(tree, leaf, place)
            other, last = row_of(neighbour), tree.lists.shape[1] - 1
            for behind in range(back, last):
                copy_entry(tree, other, behind + 1, behind)
            clear_entry(tree, other, last)
        clear_entry(tree, row, place)


@entry_point
def count_all_edges(tree: Tree) -> None:
    """Make the weights at all nodes from lists that were filled at once."""
    for row in range(tree.state[POINT_ROWS]):
        leaf = point_node(row)
        for place in range(tree.lists.shape[1]):
            bits, neighbour = tree.lists[row, place, WEIGHT], listed(tree, row, place)
            if bits != 0 and leaf < neighbour:
                count_edge(tree, lowest_common(tree, leaf, neighbour), as_float(bits))


# What modes without edges have in their place


@kernel
def meet_nobody(tree: Tree, found: Found, new_leaf: int) -> None:
    """A tree without edges has no lists."""


@kernel
def leave_nothing(tree: Tree, leaf: int) -> None:
    """A tree without edges has no lists."""
