"""Neighbours found in advance, batch by batch."""

from .astar import astar, limited_astar
from .jit import entry_point, kernel
from .schema import (
    BY_ID,
    FAR,
    LEAF,
    NEAR,
    NODE,
    AStar,
    Floats,
    Ints,
    Prepared,
    Tree,
)


@kernel
def look_up(tree: Tree, work: Prepared, x: Floats) -> None:
    """Take the next neighbour as the answer of a search. Its leaf is known only now."""
    row = work.cursor[0]
    work.cursor[0] = row + 1
    work.found.distances[0, NEAR] = work.near[row]
    work.found.distances[0, FAR] = work.near[row]
    work.found.leaves[0, BY_ID] = work.ids[row]
    work.found.leaves[0, NODE] = tree.ids[work.ids[row], LEAF]


@entry_point
def search_rows(tree: Tree, work: AStar, rows: Floats, ids: Ints, near: Floats) -> None:
    """The nearest leaf of each row in the tree as it stands: its smallest id, its distance."""
    for row in range(rows.shape[0]):
        astar(tree, work, rows[row])
        ids[row] = work.found.leaves[0, BY_ID]
        near[row] = work.found.distances[0, NEAR]


@entry_point
def probe_rows(tree: Tree, work: AStar, rows: Floats, limit: int) -> None:
    """Search for each row, but give up after `limit` distances: `tree.counts` tells the work."""
    for row in range(rows.shape[0]):
        limited_astar(tree, work, rows[row], limit)
