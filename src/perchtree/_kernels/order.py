"""How answers of searches are merged: by distance, then by id. One rule, everywhere."""

import numpy as np

from .jit import kernel
from .schema import NONE, Floats, Ints


@kernel
def precedes(
    near: float, far: float, point_id: int, other_near: float, other_far: float, other_id: int
) -> bool:
    """Whether one answer comes before another: by d-, then d+ (the tighter box), then id.

    Anything comes before no answer, whose id is NONE.
    """
    if other_id == NONE:
        return True
    if near != other_near:
        return bool(near < other_near)
    if far != other_far:
        return bool(far < other_far)
    return bool(point_id < other_id)


@kernel
def offer_point(near: Floats, ids: Ints, distance: np.float32, point_id: int) -> None:
    """Add a point to a row's best, nearest first, in place of the last of them."""
    place = near.shape[0] - 1
    while place > 0 and precedes(
        distance, distance, point_id, near[place - 1], near[place - 1], ids[place - 1]
    ):
        near[place] = near[place - 1]
        ids[place] = ids[place - 1]
        place -= 1
    near[place] = distance
    ids[place] = point_id
