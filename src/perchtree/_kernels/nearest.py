"""Nearest points of many rows, without inserting them."""

from .astar import astar
from .jit import entry_point, kernel
from .schema import (
    FIRST,
    NEAR,
    NEXT,
    NODE,
    NONE,
    AStar,
    Counts,
    Floats,
    Tree,
)
from .walk import is_point


@kernel
def offer_points(tree: Tree, work: AStar, rank: int, ids: Counts, squared: Floats) -> None:
    """Merge the ids of the leaf found at `rank` into the k best, by distance and then id."""
    near = work.found.distances[rank, NEAR]
    leaf = work.found.leaves[rank, NODE]
    last = ids.shape[0] - 1
    point_id = tree.nodes[leaf, FIRST]
    while point_id != NONE:
        if ids[last] == NONE or (near == squared[last] and point_id < ids[last]):
            place = last
            while place > 0 and (
                ids[place - 1] == NONE or (near == squared[place - 1] and point_id < ids[place - 1])
            ):
                ids[place] = ids[place - 1]
                squared[place] = squared[place - 1]
                place -= 1
            ids[place] = point_id
            squared[place] = near
        elif is_point(leaf):
            return  # ids of a single point ascend: no later one can belong
        point_id = tree.ids[point_id, NEXT]


@entry_point
def nearest_rows(tree: Tree, work: AStar, rows: Floats, ids: Counts, squared: Floats) -> None:
    """For each row the k nearest points, nearest first, into `ids` and `squared` (rows, k).

    The k nearest leaves hold the k nearest points; points at the same distance go by id.
    """
    for row in range(rows.shape[0]):
        astar(tree, work, rows[row])
        ids[row] = NONE
        for rank in range(min(ids.shape[1], work.found.leaves.shape[0])):
            if work.found.leaves[rank, NODE] != NONE:
                offer_points(tree, work, rank, ids[row], squared[row])
