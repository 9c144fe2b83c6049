"""Exact search in collapsed mode by looking at every leaf."""

from typing import NamedTuple

import numpy as np

from .distances import INFINITY, ZERO, min_to_box
from .found import clear, loosen, offer_leaf
from .jit import entry_point, kernel
from .schema import (
    BOX_ROWS,
    DISTANCES,
    FEATURES,
    NEAR,
    POINT_ROWS,
    SCANNED,
    SIZE,
    AStar,
    Floats,
    Found,
    Ints,
    Tree,
)
from .walk import box_node, is_leaf, is_point, point_node, row_of


class Heads(NamedTuple):
    """The first features of a tile of leaves.

    - `lower`, `upper`: float32 (features, leaves), the corners of their boxes;
    - `sums`: float32 (leaves,), what they add to a row's d-.
    """

    lower: Floats
    upper: Floats
    sums: Floats


STEP = 16
"""Features summed before checking whether all leaves of a tile can be ruled out."""


@kernel
def scan_leaves(tree: Tree, work: AStar, x: Floats) -> None:
    """Put the nearest leaves of x into `work.found`, exactly, by looking at all of them."""
    clear(work.found, INFINITY)
    rows, box_rows = tree.state[POINT_ROWS], tree.state[BOX_ROWS]
    for place in range(rows + box_rows):
        leaf = point_node(place) if place < rows else box_node(place - rows)
        if is_leaf(tree, leaf) and tree.nodes[leaf, SIZE] > 0:
            offer_leaf(tree, work.found, x, leaf, min_to_box(tree, x, leaf))
            work.done[DISTANCES] += 1
    work.done[SCANNED] += 1


@kernel
def copy_heads(tree: Tree, nodes: Ints, heads: Heads) -> None:
    """The first features of some leaves, one column per leaf."""
    for place in range(nodes.shape[0]):
        leaf = nodes[place]
        row = row_of(leaf) if is_point(leaf) else tree.nodes[leaf, FEATURES]
        for j in range(heads.lower.shape[0]):
            if is_point(leaf):
                heads.lower[j, place] = tree.points[row, j]
                heads.upper[j, place] = tree.points[row, j]
            else:
                heads.lower[j, place] = tree.boxes[row, 0, j]
                heads.upper[j, place] = tree.boxes[row, 1, j]


@kernel
def add_features(heads: Heads, x: Floats, first: int, stop: int) -> None:
    """Add to `heads.sums` what some features add to d-(x, v), for all leaves of a tile."""
    for j in range(first, stop):
        value = x[j]
        for place in range(heads.sums.shape[0]):
            gap = value - min(max(value, heads.lower[j, place]), heads.upper[j, place])
            heads.sums[place] += gap * gap


@kernel
def are_beyond(sums: Floats, bound: float) -> bool:
    """Whether all sums are above a bound; free of branches, since most often they are."""
    close = np.int32(0)
    for place in range(sums.shape[0]):
        close += np.int32(sums[place] <= bound)
    return close == 0


@kernel
def offer_tile(tree: Tree, found: Found, x: Floats, nodes: Ints, heads: Heads) -> int:
    """Offer the leaves of a tile that are not too far by their first features; how many."""
    last, sums, n_features = found.distances.shape[0] - 1, heads.sums, heads.lower.shape[0]
    bound = loosen(found.distances[last, NEAR], x.shape[0])
    for place in range(sums.shape[0]):
        sums[place] = ZERO
    for first in range(0, n_features, STEP):
        add_features(heads, x, first, min(first + STEP, n_features))
        if are_beyond(sums, bound):
            return 0
    computed = 0
    for place in range(nodes.shape[0]):
        if sums[place] <= bound:
            offer_leaf(tree, found, x, nodes[place], min_to_box(tree, x, nodes[place]))
            bound = loosen(found.distances[last, NEAR], x.shape[0])
            computed += 1
    return computed


@entry_point
def scan_tiles(
    tree: Tree, nodes: Ints, rows: Floats, heads: Heads, distances: Floats, leaves: Ints
) -> int:
    """Find the nearest leaves of each row among `nodes`; the distances computed.

    `distances` and `leaves` (rows, k, 2) are as in `Found`. Many rows are compared with a tile of
    leaves, then with the next one, by some features first: in high dimension, these are often
    enough.
    """
    computed, width = 0, heads.sums.shape[0]
    for first in range(0, nodes.shape[0], width):
        tile = nodes[first : first + width]
        copy_heads(tree, tile, heads)
        for row in range(rows.shape[0]):
            found = Found(distances[row], leaves[row])
            computed += offer_tile(tree, found, rows[row], tile, heads)
    return computed
