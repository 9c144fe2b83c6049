"""Insert (Algorithm 1), for many rows in one call."""

from collections.abc import Callable
from typing import Any

from .copies import find_copy
from .distances import ZERO
from .jit import kernel
from .links import join_leaf, make_leaf, split
from .schema import (
    FAR,
    N_POINTS,
    NODE,
    NONE,
    PARENT,
    ROOT,
    Floats,
    Found,
    Queue,
    Scratch,
    Tree,
)

# Bound by `specialise`.
search: Callable[[Tree, Any, Floats], None]
repair_masking: Callable[[Tree, Queue, int], None]
repair_balance: Callable[[Tree, Queue, int], None]
note_change: Callable[[Tree, Queue, int], None]
collapse_surplus: Callable[[Tree, Queue], int]
record: Callable[[Any, int, int], None]


@kernel
def no_collapse(tree: Tree, queue: Queue) -> int:
    """Without a bound on the leaves, nothing is collapsed."""
    return NONE


@kernel
def no_record(work: Any, new_leaf: int, collapsed: int) -> None:
    """A search in the current tree needs no record of what has changed."""


@kernel
def place_point(tree: Tree, found: Found, x: Floats) -> int:
    """Put x beside the leaf the search found; its new leaf, or NONE if it joined a copy."""
    if tree.counts[N_POINTS] == 0:
        tree.counts[ROOT] = make_leaf(tree, x)
        return NONE
    nearest = found.leaves[0, NODE]
    if found.distances[0, FAR] == ZERO:
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
            search(tree, scratch.search, x)
        new_leaf = place_point(tree, scratch.search.found, x)
        if new_leaf != NONE:
            repair_masking(tree, scratch.queue, new_leaf)
            repair_balance(tree, scratch.queue, new_leaf)
            note_change(tree, scratch.queue, tree.nodes[new_leaf, PARENT])
            record(scratch.search, new_leaf, collapse_surplus(tree, scratch.queue))
