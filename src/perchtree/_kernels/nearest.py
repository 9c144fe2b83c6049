"""Nearest points of many rows, from their nearest leaves."""

from .jit import entry_point, kernel
from .order import precedes
from .schema import (
    FAR,
    FIRST,
    NEAR,
    NEXT,
    NODE,
    NONE,
    Counts,
    Floats,
    Ints,
    Tree,
)
from .walk import is_point


@kernel
def belongs_at(
    near: float, far: float, point_id: int, distances: Floats, ids: Counts, place: int
) -> bool:
    """Whether a point comes before the one at `place`."""
    return precedes(near, far, point_id, distances[place, NEAR], distances[place, FAR], ids[place])


@kernel
def offer_points(
    tree: Tree, leaf: int, near: float, far: float, ids: Counts, distances: Floats
) -> None:
    """Merge the ids of a leaf into the k best."""
    last = ids.shape[0] - 1
    point_id = tree.nodes[leaf, FIRST]
    while point_id != NONE:
        if belongs_at(near, far, point_id, distances, ids, last):
            place = last
            while place > 0 and belongs_at(near, far, point_id, distances, ids, place - 1):
                ids[place] = ids[place - 1]
                distances[place, NEAR] = distances[place - 1, NEAR]
                distances[place, FAR] = distances[place - 1, FAR]
                place -= 1
            ids[place] = point_id
            distances[place, NEAR] = near
            distances[place, FAR] = far
        elif is_point(leaf):
            return  # ids of a single point ascend: no later one can belong
        point_id = tree.ids[point_id, NEXT]


@entry_point
def points_of_leaves(
    tree: Tree, leaves: Ints, near_far: Floats, ids: Counts, distances: Floats
) -> None:
    """For each row the k nearest points, nearest first: `ids` (rows, k), `distances` (rows, k, 2).

    The k nearest leaves hold them: `leaves` (rows, leaves, 2) and their distances, as in `Found`.
    """
    for row in range(leaves.shape[0]):
        ids[row] = NONE
        for rank in range(leaves.shape[1]):
            leaf = leaves[row, rank, NODE]
            if leaf != NONE:
                near, far = near_far[row, rank, NEAR], near_far[row, rank, FAR]
                offer_points(tree, leaf, near, far, ids[row], distances[row])
