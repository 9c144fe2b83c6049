"""The best leaves a search has found, and when it may stop."""

import numpy as np

from .distances import INFINITY, max_to_box
from .jit import kernel
from .order import precedes
from .schema import BY_ID, FAR, FIRST, NEAR, NODE, NONE, Floats, Found, Ints, Tree
from .walk import is_point

_ROUNDING = np.float32(4 * np.finfo(np.float32).eps)
_SMALLEST = np.finfo(np.float32).tiny


@kernel
def loosen(bound: np.float32, n_features: int) -> np.float32:
    """A little more than `bound`.

    Sums of the same numbers in another order differ by a few roundings per term; a search that
    prunes above this never loses a tie.
    """
    return bound * (np.float32(1) + _ROUNDING * np.float32(n_features)) + _SMALLEST


@kernel
def clear(found: Found, bound: np.float32) -> None:
    """Start over, and accept only leaves whose d- is at most `bound`."""
    for rank in range(found.leaves.shape[0]):
        found.distances[rank, NEAR] = bound
        found.distances[rank, FAR] = INFINITY
        found.leaves[rank, BY_ID] = NONE
        found.leaves[rank, NODE] = NONE


@kernel
def belongs_before(found: Found, rank: int, near: np.float32, far: np.float32, first: int) -> bool:
    """Whether a leaf with this smallest id comes before the one at `rank`."""
    return precedes(
        near, far, first,
        found.distances[rank, NEAR], found.distances[rank, FAR], found.leaves[rank, BY_ID],
    )  # fmt: skip


@kernel
def offer_leaf(tree: Tree, found: Found, x: Floats, leaf: int, near: np.float32) -> None:
    """Add a leaf to the best if it belongs there."""
    rank = found.leaves.shape[0] - 1
    if near > found.distances[rank, NEAR]:
        return
    far = near if is_point(leaf) else max_to_box(tree, x, leaf)
    offer_answer(found, near, far, tree.nodes[leaf, FIRST], leaf)


@kernel
def offer_answer(found: Found, near: np.float32, far: np.float32, first: int, leaf: int) -> None:
    """Add a leaf whose distances and smallest id are known to the best, if it belongs there."""
    rank = found.leaves.shape[0] - 1
    if not belongs_before(found, rank, near, far, first):
        return
    while rank > 0 and belongs_before(found, rank - 1, near, far, first):
        found.distances[rank, NEAR] = found.distances[rank - 1, NEAR]
        found.distances[rank, FAR] = found.distances[rank - 1, FAR]
        found.leaves[rank, BY_ID] = found.leaves[rank - 1, BY_ID]
        found.leaves[rank, NODE] = found.leaves[rank - 1, NODE]
        rank -= 1
    found.distances[rank, NEAR] = near
    found.distances[rank, FAR] = far
    found.leaves[rank, BY_ID] = first
    found.leaves[rank, NODE] = leaf


@kernel
def copy_answer(
    distances: Floats, leaves: Ints, row: int, to_distances: Floats, to_leaves: Ints, to_row: int
) -> None:
    to_distances[to_row, NEAR] = distances[row, NEAR]
    to_distances[to_row, FAR] = distances[row, FAR]
    to_leaves[to_row, BY_ID] = leaves[row, BY_ID]
    to_leaves[to_row, NODE] = leaves[row, NODE]
