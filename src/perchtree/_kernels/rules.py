"""The tests that decide on a rotation of `node` with its `sibling` and `aunt`.

Each rule is a small function; `rotate` holds the loops that use them.
"""

from .distances import published_max, published_min
from .jit import kernel
from .schema import (
    SIZE,
    Tree,
)


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
