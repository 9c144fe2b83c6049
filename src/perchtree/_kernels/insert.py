"""Insert (Algorithm 1), for many rows in one call."""

from collections.abc import Callable
from typing import Any

from .copies import find_copy
from .distances import ZERO
from .jit import kernel
from .links import join_leaf, make_leaf, split
from .schema import (
    FAR,
    NODE,
    NONE,
    PARENT,
    ROOT,
    Floats,
    Found,
    Queue,
    Scratch,
    Tree,
    Upkeep,
)
from .walk import first_leaf

# Bound by `specialise`.
search: Callable[[Tree, Any, Floats], None]
repair: Callable[[Tree, Upkeep, Found, int], None]
settle_copy: Callable[[Tree, Upkeep, int], None]
note_change: Callable[[Tree, Queue, int], None]
collapse_surplus: Callable[[Tree, Upkeep], int]
record: Callable[[Any, int, int], None]


@kernel
def no_collapse(tree: Tree, upkeep: Upkeep) -> int:
    """Without a bound on the leaves, nothing is collapsed."""
    return NONE


@kernel
def no_record(work: Any, new_leaf: int, collapsed: int) -> None:
    """A search in the current tree needs no record of what has changed."""


@kernel
def copy_of(tree: Tree, found: Found, x: Floats) -> int:
    """The leaf that holds a copy of x already, or NONE, given what the search found."""
    if found.distances[0, FAR] > ZERO:
        return NONE
    return find_copy(tree, x, found.leaves[0, NODE])


def insert_rows(tree: Tree, scratch: Scratch, rows: Floats) -> None:
    """Insert rows in order. There must be room for them."""
    upkeep, found = scratch.upkeep, scratch.search.found
    for row in range(rows.shape[0]):
        x = rows[row]
        if tree.state[ROOT] == NONE:
            tree.state[ROOT] = make_leaf(tree, x)
            continue
        search(tree, scratch.search, x)
        copy = copy_of(tree, found, x)
        if copy != NONE:
            join_leaf(tree, copy)
            settle_copy(tree, upkeep, copy)
            continue
        nearest = found.leaves[0, NODE]
        if nearest == NONE:  # all distances are infinite: anywhere is as good
            nearest = first_leaf(tree, tree.state[ROOT])
        new_leaf = split(tree, nearest, x)
        repair(tree, upkeep, found, new_leaf)
        note_change(tree, upkeep.queue, tree.nodes[new_leaf, PARENT])
        record(scratch.search, new_leaf, collapse_surplus(tree, upkeep))
