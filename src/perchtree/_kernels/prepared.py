"""Answers found in advance, for a whole batch, in the tree as it stood before."""

from collections.abc import Callable

from .astar import astar, limited_astar
from .distances import min_to_box
from .found import offer_leaf
from .jit import entry_point, kernel
from .schema import (
    BY_ID,
    FAR,
    LEAF,
    NEAR,
    NODE,
    NONE,
    SIZE,
    AStar,
    Floats,
    Ints,
    Prepared,
    Revised,
    Tree,
)
from .walk import is_leaf

# Bound by `specialise`.
search: Callable[[Tree, AStar, Floats], None]


def search_rows(tree: Tree, work: AStar, rows: Floats, distances: Floats, leaves: Ints) -> None:
    """The nearest leaves of each row: `distances` and `leaves` (rows, k, 2) are as in `Found`."""
    for row in range(rows.shape[0]):
        search(tree, work, rows[row])
        for rank in range(leaves.shape[1]):
            copy_answer(
                work.found.distances, work.found.leaves, rank, distances[row], leaves[row], rank
            )


@entry_point
def probe_rows(tree: Tree, work: AStar, rows: Floats, limit: int) -> None:
    """Search for each row, but give up after `limit` distances: `work.done` tells the work."""
    for row in range(rows.shape[0]):
        limited_astar(tree, work, rows[row], limit)


@kernel
def copy_answer(
    distances: Floats, leaves: Ints, row: int, to_distances: Floats, to_leaves: Ints, to_row: int
) -> None:
    to_distances[to_row, NEAR] = distances[row, NEAR]
    to_distances[to_row, FAR] = distances[row, FAR]
    to_leaves[to_row, BY_ID] = leaves[row, BY_ID]
    to_leaves[to_row, NODE] = leaves[row, NODE]


@kernel
def look_up(tree: Tree, work: Prepared, x: Floats) -> None:
    """Take the next neighbours as the answer of a search. Their leaves are known only now."""
    row = work.cursor[0]
    work.cursor[0] = row + 1
    for rank in range(work.ids.shape[1]):
        point_id = work.ids[row, rank]
        work.found.distances[rank, NEAR] = work.near[row, rank]
        work.found.distances[rank, FAR] = work.near[row, rank]
        work.found.leaves[rank, BY_ID] = point_id
        work.found.leaves[rank, NODE] = NONE if point_id == NONE else tree.ids[point_id, LEAF]


@kernel
def revise(tree: Tree, work: Revised, x: Floats) -> None:
    """Take the next answer and compare it with every leaf that has changed since.

    If the leaf itself has changed, another unchanged one may now be the best: search again.
    """
    row = work.cursor[0]
    work.cursor[0] = row + 1
    leaf = work.leaves[row, NODE]
    if leaf == NONE or not stands(tree, work, leaf):
        astar(tree, work.again, x)
        again = work.again.found
        copy_answer(again.distances, again.leaves, 0, work.found.distances, work.found.leaves, 0)
        return
    copy_answer(work.distances, work.leaves, row, work.found.distances, work.found.leaves, 0)
    for place in range(work.cursor[1]):
        other = work.changed[place]
        if tree.nodes[other, SIZE] > 0 and is_leaf(tree, other):
            offer_leaf(tree, work.found, x, other, min_to_box(tree, x, other))


@kernel
def stands(tree: Tree, work: Revised, leaf: int) -> bool:
    """Whether a leaf is what it was when the batch was searched."""
    if work.has_changed[leaf] or tree.nodes[leaf, SIZE] == 0:
        return False
    return is_leaf(tree, leaf)


@kernel
def record_leaves(work: Revised, new_leaf: int, collapsed: int) -> None:
    """Note the leaves that an insert has made or changed."""
    for leaf in (new_leaf, collapsed):
        if leaf != NONE and not work.has_changed[leaf]:
            work.has_changed[leaf] = True
            work.changed[work.cursor[1]] = leaf
            work.cursor[1] += 1
