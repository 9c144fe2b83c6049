"""Exact nearest neighbours from matrix products: what BLAS leaves to be done."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .distances import INFINITY, ZERO, point_distance
from .jit import entry_point, kernel
from .order import offer_point, precedes
from .prefetch import prefetch
from .schema import NONE, Counts, Doubles, Floats, Ints

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

FETCHED_AHEAD = 6
"""Points that could matter are scattered: their images are fetched so many places ahead."""

LOOKED, COMPUTED = range(2)
"""Entries of a scan's counts: pairs that products could not rule out, distances computed."""


class Memory(NamedTuple):
    """Working memory for a tile of n points: which columns could matter.

    - `marks`: uint8 (n + 7,), one per column; `words`: uint64, the same memory, eight at a time;
    - `columns`: int32 (n + 8,), those that are marked;
    - `counts`: int64 (2,), LOOKED and COMPUTED.
    """

    marks: Bytes
    words: Words
    columns: Ints
    counts: Counts


class Block(NamedTuple):
    """Queries that are scanned together, and the best found for each so far, best first.

    - `rows`: float32 (m, d), the queries as they are;
    - `halves`: float64 (m,), half their squared norms, less what rounding may have added;
    - `rests`: float32 (m,), the norm of what products leave out;
    - `image`: float32 (m, w), all rotated coordinates there are, for a second bound; or w = 0;
    - `last_rests`: float32 (m,), the norm of what these leave out;
    - `near`: float32 (m, k), squared distances; infinite where none is known;
    - `ids`: int32 (m, k), the ids of those neighbours; NONE likewise.
    """

    rows: Floats
    halves: Doubles
    rests: Floats
    image: Floats
    last_rests: Floats
    near: Floats
    ids: Ints


class Tile(NamedTuple):
    """Points that queries are compared with.

    - `points`: float32 (n, d), as they are;
    - `halves`: float32 (n,); `rests`, `image`, `last_rests`: as in `Block`;
    - `ids`: int32 (n,), their ids; NONE for a row that holds no point.
    """

    points: Floats
    halves: Floats
    rests: Floats
    image: Floats
    last_rests: Floats
    ids: Ints


@kernel
def rounding(n_features: int, n_columns: int) -> float:
    """How far a bound from products can be above a distance computed directly.

    As a share of |x|^2 + |y|^2, x and y being centred, with u = 2^-24 for one rounding:

    - 4 (d + 3) u for the two direct distances that are compared;
    - (w + 4) u for products of w columns and the few sums around them: by Cauchy and Schwarz the
      absolute values of all terms add up to |x| |y| at most;
    - 4 u for centring in float32;
    - for rotated coordinates, 6 e where e |x| bounds the error of the whole image of x. They are
      sums in float64: with axes orthonormal up to (d + 8) 2^-48, squares of norms are right up to
      a share of (d + 8) 2^-46, the norm of the rest, a root of a difference, up to
      sqrt(d + 8) 2^-23 = 2 sqrt(d + 8) u, and float32 adds 2 u.

    The bound itself never fails without rounding: for any matrix V with |V| <= 1, the rest
    sqrt(|x|^2 - |V x|^2) is a seminorm of x, so |Vx - Vy|^2 + (rest of x - rest of y)^2 is at most
    |x - y|^2.
    """
    of_image = 16.0 * np.sqrt(n_features + 8.0)
    return (4.0 * (n_features + 8) + 2.0 * (n_columns + 16) + of_image) * 2.0**-24


@entry_point
def centre_rows(
    rows: Floats, centre: Floats, scale: np.float32, centred: Floats, halves: Doubles
) -> None:
    """Move rows to the centre and scale them, by a power of two, so that norms are at most 1."""
    keep = 0.5 * (1.0 - rounding(rows.shape[1], rows.shape[1]))
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
def belongs(block: Block, row: int, last: int, distance: np.float32, point_id: int) -> bool:
    """Whether a point is nearer than the last of a query's best, or as near with a smaller id."""
    near = block.near[row, last]
    return precedes(distance, distance, point_id, near, near, block.ids[row, last])


@kernel
def first_bound(
    product: np.float32, half: np.float32, rest: np.float32, other_rest: np.float32
) -> np.float32:
    """A column's half norm less the product, the rests being taken for parallel."""
    return half - product - rest * other_rest


@kernel
def mark_close(
    products: Floats, tile: Tile, rest: np.float32, bound: np.float32, marks: Bytes
) -> None:
    """Mark the columns within the bound; free of branches."""
    for column in range(products.shape[0]):
        marks[column] = np.uint8(
            first_bound(products[column], tile.halves[column], rest, tile.rests[column]) <= bound
        )


@kernel
def list_close(marks: Bytes, words: Words, width: int, columns: Ints) -> int:
    """List the columns that are marked; how many there are. Most words of marks are empty."""
    n_words = (width + 7) // 8
    for column in range(width, 8 * n_words):
        marks[column] = 0
    count = 0
    for word in range(n_words):
        if words[word] != 0:
            for column in range(8 * word, 8 * word + 8):
                columns[count] = column
                count += np.int32(marks[column])
    return count


@kernel
def dot(x: Floats, y: Floats) -> np.float32:
    total = ZERO
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@kernel
def second_bound(
    block: Block, row: int, product: np.float32, tile: Tile, column: int, split: int
) -> np.float32:
    """A column's half norm less the product of all rotated coordinates: what is left to compare
    after the first `split` of them, which `product` has."""
    more = dot(block.image[row, split:], tile.image[column, split:])
    beyond = block.last_rests[row] * tile.last_rests[column]
    return tile.halves[column] - product - more - beyond


@kernel
def compare_directly(block: Block, row: int, tile: Tile, column: int) -> bool:
    """Compute a distance; whether the point was taken among the query's best."""
    last = block.near.shape[1] - 1
    distance = point_distance(block.rows[row], tile.points[column])
    if not belongs(block, row, last, distance, tile.ids[column]):
        return False
    for rank in range(last + 1):
        if block.ids[row, rank] == tile.ids[column]:  # it was among the most promising
            return False
    offer_point(block.near[row], block.ids[row], distance, tile.ids[column])
    return True


@kernel
def try_promising(block: Block, row: int, products: Floats, tile: Tile) -> int:
    """Begin with the k columns of the smallest bounds: while fewer than k neighbours are known,
    nothing can be ruled out. Returns the number of distances computed."""
    rest, before = block.rests[row], -INFINITY
    for rank in range(block.near.shape[1]):
        best, lowest = NONE, INFINITY
        for column in range(products.shape[0]):
            bound = first_bound(products[column], tile.halves[column], rest, tile.rests[column])
            if before < bound and bound < lowest and tile.ids[column] != NONE:
                best, lowest = column, bound
        if best == NONE:
            return rank
        compare_directly(block, row, tile, best)
        before = lowest
    return block.near.shape[1]


@entry_point
def scan_tile(
    block: Block,
    products: Floats,
    tile: Tile,
    split: int,
    squared_scale: float,
    diagonal: int,
    memory: Memory,
) -> None:
    """Find what a tile of points adds to each query's nearest.

    `products` are of the first `split` rotated coordinates, or of all of the features. Query i may
    look at points below i + `diagonal`. A first pass over the products only looks for points that
    could matter: it is free of branches. Those there are get a second bound from the rest of
    their image, and the few left their distance computed directly, so that the result is exact.
    """
    last = block.near.shape[1] - 1
    has_second = block.image.shape[1] > split
    looked, computed = 0, 0
    for row in range(products.shape[0]):
        width = max(0, min(products.shape[1], row + diagonal))
        if block.ids[row, last] == NONE:
            computed += try_promising(block, row, products[row, :width], tile)
        bound = threshold(block, row, squared_scale)
        mark_close(products[row, :width], tile, block.rests[row], bound, memory.marks)
        n_close = list_close(memory.marks, memory.words, width, memory.columns)
        for place in range(n_close - 1, -1, -1):  # the newest first, as tiles are
            column = memory.columns[place]
            product = products[row, column]
            if has_second and place >= FETCHED_AHEAD:
                prefetch(tile.image, memory.columns[place - FETCHED_AHEAD])
            # The bound may have become tighter since the column was listed.
            first = first_bound(product, tile.halves[column], block.rests[row], tile.rests[column])
            if tile.ids[column] == NONE or first > bound:
                continue
            looked += 1
            if has_second and second_bound(block, row, product, tile, column, split) > bound:
                continue
            computed += 1
            if compare_directly(block, row, tile, column):
                bound = threshold(block, row, squared_scale)
    memory.counts[LOOKED] += looked
    memory.counts[COMPUTED] += computed


@entry_point
def find_equal(points: Floats, ids: Ints, x: Floats) -> bool:
    """Whether some row that holds a point equals x."""
    for row in range(points.shape[0]):
        if ids[row] == NONE:
            continue
        equal = True
        for j in range(x.shape[0]):
            if points[row, j] != x[j]:
                equal = False
                break
        if equal:
            return True
    return False


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
