"""Exact nearest neighbours from matrix products: what BLAS leaves to be done."""

from typing import NamedTuple

import numpy as np

from .distances import ZERO, point_distance
from .jit import entry_point, kernel
from .schema import Counts, Doubles, Floats


class Block(NamedTuple):
    """Queries that are scanned together, and the best found for each so far, best first.

    - `rows`: float32 (m, d), the queries as they are;
    - `centred`: float32 (m, d), the same moved to the centre and scaled;
    - `halves`: float64 (m,), half their squared norms, less what rounding may have added;
    - `near`: float32 (m, k), squared distances; infinite where none is known;
    - `ranks`: int64 (m, k), the places of those neighbours in the order of ids.
    """

    rows: Floats
    centred: Floats
    halves: Doubles
    near: Floats
    ranks: Counts


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


@kernel
def offer(near: Floats, ranks: Counts, distance: np.float32, rank: int) -> None:
    """Take a neighbour among a query's best. At the same distance the earlier one stays first."""
    place = near.shape[0] - 1
    while place > 0 and distance < near[place - 1]:
        near[place] = near[place - 1]
        ranks[place] = ranks[place - 1]
        place -= 1
    near[place] = distance
    ranks[place] = rank


@entry_point
def scan_tile(
    block: Block,
    products: Floats,
    columns: Floats,
    halves: Floats,
    squared_scale: float,
    first_rank: int,
    diagonal: int,
) -> int:
    """Find what a tile of columns adds to each query's nearest; the distances computed.

    Query i may look at columns below i + `diagonal`. A first pass over the products only counts
    the columns that could matter: it is free of branches, and most often there are none. Those
    there are get their distance computed directly, so that the result is exact.
    """
    computed = 0
    last = block.near.shape[1] - 1
    for row in range(products.shape[0]):
        width = min(products.shape[1], row + diagonal)
        if block.near[row, last] == ZERO:
            continue  # copies: nothing is nearer, and of equals the first counts
        bound = threshold(block, row, squared_scale)
        close = np.int32(0)
        for column in range(width):
            close += np.int32(halves[column] - products[row, column] <= bound)
        if close == 0:
            continue
        for column in range(width):
            if halves[column] - products[row, column] <= bound:
                distance = point_distance(block.rows[row], columns[column])
                computed += 1
                if distance < block.near[row, last]:
                    offer(block.near[row], block.ranks[row], distance, first_rank + column)
                    bound = threshold(block, row, squared_scale)
    return computed
