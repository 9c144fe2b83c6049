"""Insert (Algorithm 1), for many rows in one call."""

from collections.abc import Callable

from .distances import ZERO
from .jit import kernel
from .links import join_leaf, make_leaf, split
from .schema import (
    FAR,
    N_POINTS,
    NODE,
    NONE,
    ROOT,
    Floats,
    Scratch,
    Tree,
)
from .search import find_copy

# Bound by `specialise`.
search: Callable[[Tree, Scratch, Floats], None]
repair_masking: Callable[[Tree, int], None]
repair_balance: Callable[[Tree, int], None]


@kernel
def place_point(tree: Tree, scratch: Scratch, x: Floats) -> int:
    """Put x beside the leaf the search found; its new leaf, or NONE if it joined a copy."""
    if tree.counts[N_POINTS] == 0:
        tree.counts[ROOT] = make_leaf(tree, x)
        return NONE
    nearest = scratch.found.leaves[0, NODE]
    if scratch.found.distances[0, FAR] == ZERO:
        copy = find_copy(tree, x, nearest)
        if copy != NONE:
            join_leaf(tree, copy)
            return NONE
    return split(tree, nearest, x)


def insert_rows(tree: Tree, scratch: Scratch, rows: Floats) -> None:
    """Insert rows in order. There must be room for them."""
    for row in range(rows.shape[0]):
        x = rows[row]
        if tree.counts[N_POINTS] > 0:
            search(tree, scratch, x)
        new_leaf = place_point(tree, scratch, x)
        if new_leaf != NONE:
            repair_masking(tree, new_leaf)
            repair_balance(tree, new_leaf)
