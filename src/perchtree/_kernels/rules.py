"""The tests that decide on a rotation of `node` with its `sibling` and `aunt`.

Each rule is a small function; `rotate` holds the loops that use them.
"""

from .distances import (
    INFINITY,
    ZERO,
    interval_max,
    interval_min,
    leaf_distance,
    published_max,
    published_min,
)
from .jit import kernel
from .schema import NONE, SIZE, Tree
from .walk import first_leaf, next_leaf

_TIE = 1e-12
"""Balances closer than this are equal: rounding must not look like an improvement."""


@kernel
def published_masked(tree: Tree, node: int, sibling: int, aunt: int) -> bool:
    """Equation 4: all of `node` is surely closer to the aunt than to the sibling."""
    return bool(published_min(tree, node, sibling) > published_max(tree, node, aunt))


@kernel
def published_overlap(tree: Tree, node: int, sibling: int, aunt: int) -> bool:
    """Condition 2 of section 4.1: some of `node` may be closer to the aunt than to the sibling."""
    return bool(published_max(tree, node, sibling) > published_min(tree, node, aunt))


@kernel
def improves_size(tree: Tree, node: int, sibling: int, aunt: int) -> bool:
    """Condition 1 of section 4.1 as the authors' program tests it: sizes differ less."""
    size = tree.nodes[node, SIZE]
    other = tree.nodes[sibling, SIZE]
    outer = tree.nodes[aunt, SIZE]
    return bool(abs(other - (size + outer)) < abs(size + other - outer))


@kernel
def interval_masked(tree: Tree, node: int, sibling: int, aunt: int) -> bool:
    """Equation 4 with true bounds between boxes."""
    return bool(interval_min(tree, node, sibling) > interval_max(tree, node, aunt))


@kernel
def interval_overlap(tree: Tree, node: int, sibling: int, aunt: int) -> bool:
    """Condition 2 of section 4.1 with true bounds: if it says no, equation 1 does not hold."""
    return bool(interval_max(tree, node, sibling) > interval_min(tree, node, aunt))


@kernel
def exactly_masked(tree: Tree, node: int, sibling: int, aunt: int) -> bool:
    """Equation 1, evaluated exhaustively: a point of `node` is closer to one of the aunt's points
    than to one of the sibling's."""
    x = first_leaf(tree, node)
    while x != NONE:
        farthest = ZERO
        y = first_leaf(tree, sibling)
        while y != NONE:
            farthest = max(farthest, leaf_distance(tree, x, y))
            y = next_leaf(tree, y, sibling)
        nearest = INFINITY
        z = first_leaf(tree, aunt)
        while z != NONE:
            nearest = min(nearest, leaf_distance(tree, x, z))
            z = next_leaf(tree, z, aunt)
        if farthest > nearest:
            return True
        x = next_leaf(tree, x, node)
    return False


@kernel
def local_balance(size: int, other: int) -> float:
    """Definition 3 for one node, given the sizes of its children."""
    return min(size, other) / max(size, other)


@kernel
def improves_ratio(tree: Tree, node: int, sibling: int, aunt: int) -> bool:
    """Condition 1 of section 4.1 by Definition 3: the balance of the two nodes that change
    improves."""
    size = tree.nodes[node, SIZE]
    other = tree.nodes[sibling, SIZE]
    outer = tree.nodes[aunt, SIZE]
    before = local_balance(size, other) + local_balance(size + other, outer)
    after = local_balance(size, outer) + local_balance(size + outer, other)
    return bool(after > before + _TIE)
