"""Exact nearest neighbours from matrix products: what BLAS leaves to be done."""

from typing import NamedTuple

import numpy as np

from .distances import point_distance
from .jit import entry_point, kernel
from .order import offer_point, precedes
from .schema import NONE, Doubles, Floats, Ints


class Block(NamedTuple):
    """Queries that are scanned together, and the best found for each so far, best first.

    - `rows`: float32 (m, d), the queries as they are;
    - `centred`: float32 (m, d), the same moved to the centre and scaled;
    - `halves`: float64 (m,), half their squared norms, less what rounding may have added;
    - `near`: float32 (m, k), squared distances; infinite where none is known;
    - `ids`: int32 (m, k), the ids of those neighbours; NONE likewise.
    """

    rows: Floats
    centred: Floats
    halves: Doubles
    near: Floats
    ids: Ints


@kernel
def rounding(n_features: int) -> float:
    """How far |x|^2 + |y|^2 - 2xy in float32 can be from a distance computed directly.

    As a share of |x|^2 + |y|^2, with u = 2^-24 for one rounding: d u for the product, 4 (d + 3) u
    for the two direct distances that are compared, 4 u for centring, some for the sums.
    """
    return 6.0 * (n_features + 8) * 2.0**-24


@entry_point
def centre_rows(
    rows: Floats, centre: Floats, scale: np.float32, centred: Floats, halves: Doubles
) -> None:
    """Move rows to the centre and scale them, by a power of two, so that norms are at most 1."""
    keep = 0.5 * (1.0 - rounding(rows.shape[1]))
    for row in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            value = (rows[row, j] - centre[j]) * scale
            centred[row, j] = value
            total += np.float64(value) * np.float64(value)
        halves[row] = keep * total


@kernel
def threshold(block: Block, row: int, squared_scale: float) -> np.float32:
    """What a column's half norm less the product must not exceed to be worth a closer look."""
    # Squares below float32's normal range are rounded to multiples of 2^-149.
    coarse = (block.rows.shape[1] + 1) * 2.0**-149
    worst = np.float64(block.near[row, block.near.shape[1] - 1]) + coarse
    return np.float32(0.5 * worst * squared_scale - block.halves[row] + 1e-30)


class Tile(NamedTuple):
    """Points that queries are compared with.

    - `points`: float32 (n, d), as they are;
    - `halves`: float32 (n,), half their squared norms, centred and scaled;
    - `ids`: int32 (n,), their ids; NONE for a row that holds no point.
    """

    points: Floats
    halves: Floats
    ids: Ints


@kernel
def belongs(block: Block, row: int, last: int, distance: np.float32, point_id: int) -> bool:
    """Whether a point is nearer than the last of a query's best, or as near with a smaller id."""
    near = block.near[row, last]
    return precedes(distance, distance, point_id, near, near, block.ids[row, last])


@entry_point
def scan_tile(
    block: Block, products: Floats, tile: Tile, squared_scale: float, diagonal: int
) -> int:
    """Find what a tile of points adds to each query's nearest; the distances computed.

    Query i may look at points below i + `diagonal`. A first pass over the products only counts
    the points that could matter: it is free of branches, and most often there are none. Those
    there are get their distance computed directly, so that the result is exact.
    """
    computed = 0
    last = block.near.shape[1] - 1
    for row in range(products.shape[0]):
        width = min(products.shape[1], row + diagonal)
        bound = threshold(block, row, squared_scale)
        close = np.int32(0)
        for column in range(width):
            close += np.int32(tile.halves[column] - products[row, column] <= bound)
        if close == 0:
            continue
        for column in range(width - 1, -1, -1):  # the newest first, as tiles are
            if tile.halves[column] - products[row, column] <= bound and tile.ids[column] != NONE:
                distance = point_distance(block.rows[row], tile.points[column])
                computed += 1
                if belongs(block, row, last, distance, tile.ids[column]):
                    offer_point(block.near[row], block.ids[row], distance, tile.ids[column])
                    bound = threshold(block, row, squared_scale)
    return computed


@entry_point
def merge_answers(near: Floats, ids: Ints, more_near: Floats, more_ids: Ints) -> None:
    """Merge further neighbours of each row into its k best: all arrays are (rows, k)."""
    for row in range(near.shape[0]):
        for rank in range(more_ids.shape[1]):
            other, point_id = more_near[row, rank], more_ids[row, rank]
            worst = near[row, near.shape[1] - 1]
            if point_id != NONE and precedes(
                other, other, point_id, worst, worst, ids[row, near.shape[1] - 1]
            ):
                offer_point(near[row], ids[row], other, point_id)
