"""Nearest points of many rows, without inserting them."""

from collections.abc import Callable

from .jit import kernel
from .schema import (
    FIRST,
    NEAR,
    NEXT,
    NODE,
    NONE,
    Counts,
    Floats,
    Scratch,
    Tree,
)
from .walk import is_point

# Bound by `specialise`.
search: Callable[[Tree, Scratch, Floats], None]


@kernel
def offer_points(tree: Tree, scratch: Scratch, rank: int, ids: Counts, squared: Floats) -> None:
    """Merge the ids of the leaf found at `rank` into the k best, by distance and then id."""
    near = scratch.found.distances[rank, NEAR]
    leaf = scratch.found.leaves[rank, NODE]
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


def nearest_rows(tree: Tree, scratch: Scratch, rows: Floats, ids: Counts, squared: Floats) -> None:
    """For each row the k nearest points, nearest first, into `ids` and `squared` (rows, k).

    The k nearest leaves hold the k nearest points; points at the same distance go by id.
    """
    for row in range(rows.shape[0]):
        search(tree, scratch, rows[row])
        ids[row] = NONE
        for rank in range(min(ids.shape[1], scratch.found.leaves.shape[0])):
            if scratch.found.leaves[rank, NODE] != NONE:
                offer_points(tree, scratch, rank, ids[row], squared[row])
