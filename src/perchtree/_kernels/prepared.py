"""Neighbours found in advance, for a whole batch, handed over one row after the other."""

from .jit import kernel
from .schema import BY_ID, FAR, LEAF, NEAR, NODE, NONE, Floats, Prepared, Tree


@kernel
def look_up(tree: Tree, work: Prepared, x: Floats) -> None:
    """Use the next neighbours as the answer of a search. Their leaves are known only now."""
    row = work.cursor[0]
    work.cursor[0] = row + 1
    for rank in range(work.ids.shape[1]):
        point_id = work.ids[row, rank]
        work.found.distances[rank, NEAR] = work.near[row, rank]
        work.found.distances[rank, FAR] = work.near[row, rank]
        work.found.leaves[rank, BY_ID] = point_id
        work.found.leaves[rank, NODE] = NONE if point_id == NONE else tree.ids[point_id, LEAF]
