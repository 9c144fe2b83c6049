"""Exact nearest neighbours of a batch by tiled matrix products."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.scan import Block, Tile, centre_rows, scan_tile
from .._kernels.schema import NONE
from .threads import one_blas_thread, run_tasks

# Measured from d = 16 to 2,048: larger tiles gain 3 % at most, 256 x 512 loses up to a fifth; the
# products of a tile stay in the cache. Plain direct distances took 3 to 6 times as long.
BLOCK_ROWS = 1024
TILE_COLUMNS = 512


class Nearest(NamedTuple):
    """For each row its k nearest points, nearest first."""

    near: NDArray[np.float32]
    """Squared distances; infinite where there are fewer points."""
    ids: NDArray[np.int32]
    computed: int
    """Distances computed directly."""


class Points(NamedTuple):
    """Contiguous rows of points with their ids; NONE marks a row that holds no point."""

    rows: NDArray[np.float32]
    ids: NDArray[np.int32]


class _Frame(NamedTuple):
    """Where the data is moved to before products are taken, so that they are accurate."""

    centre: NDArray[np.float32]
    scale: np.float32
    squared_scale: float


def scan_points(
    rows: NDArray[np.float32],
    points: Points,
    bounds: NDArray[np.float32] | None,
    k: int,
    n_jobs: int = 1,
) -> Nearest:
    """Find the k nearest points of each row; at the same distance the smaller id comes first.

    `bounds` is the lower and upper corner of a box around the points.
    """
    return _scan(rows, points, _make_frame(rows, bounds), k, n_jobs, earlier=False)


def scan_earlier(points: Points, k: int, n_jobs: int = 1) -> Nearest:
    """Find the k nearest of each of some points among those before it."""
    return _scan(points.rows, points, _make_frame(points.rows, None), k, n_jobs, earlier=True)


def _scan(
    rows: NDArray[np.float32], points: Points, frame: _Frame, k: int, n_jobs: int, *, earlier: bool
) -> Nearest:
    near = np.full((len(rows), k), np.inf, np.float32)
    ids = np.full((len(rows), k), NONE, np.int32)
    computed = np.zeros(len(rows) // BLOCK_ROWS + 1, np.int64)

    def scan_block(first: int, go_on: Callable[[], None]) -> None:
        part = slice(first, min(first + BLOCK_ROWS, len(rows)))
        block = Block(rows[part], np.empty_like(rows[part]), np.empty(part.stop - first),
                      near[part], ids[part])  # fmt: skip
        centre_rows(block.rows, frame.centre, frame.scale, block.centred, block.halves)
        stop = part.stop if earlier else len(points.rows)
        computed[first // BLOCK_ROWS] = _scan_tiles(
            block, Points(points.rows[:stop], points.ids[:stop]), frame,
            first if earlier else None, go_on,
        )  # fmt: skip

    with one_blas_thread():
        # Later blocks have more earlier rows: begin with them, and threads end together.
        starts = range(0, len(rows), BLOCK_ROWS)[::-1]
        run_tasks([functools.partial(scan_block, start) for start in starts], n_jobs)
    return Nearest(near, ids, int(computed.sum()))


def _scan_tiles(
    block: Block, points: Points, frame: _Frame, start: int | None, go_on: Callable[[], None]
) -> int:
    """Compare a block with tile after tile; if `start` is given, query i only with points
    before `start` + i. Returns the number of distances computed directly.

    The newest points come first: in data that arrives in some order they are the nearest, and
    bounds are tight at once. (Sorted numbers took seven times as long from the other end.)
    """
    centred = np.empty((TILE_COLUMNS, block.rows.shape[1]), np.float32)
    halves = np.empty(TILE_COLUMNS, np.float64)
    memory = np.empty(len(block.rows) * TILE_COLUMNS, np.float32)
    computed = 0
    for first in range(0, len(points.rows), TILE_COLUMNS)[::-1]:
        go_on()
        columns = points.rows[first : first + TILE_COLUMNS]
        width = len(columns)
        centre_rows(columns, frame.centre, frame.scale, centred[:width], halves[:width])
        products = memory[: len(block.rows) * width].reshape(-1, width)
        np.dot(block.centred, centred[:width].T, out=products)
        tile = Tile(columns, halves[:width].astype(np.float32), points.ids[first : first + width])
        diagonal = width if start is None else start - first
        computed += scan_tile(block, products, tile, frame.squared_scale, diagonal)
    return computed


def _make_frame(rows: NDArray[np.float32], bounds: NDArray[np.float32] | None) -> _Frame:
    """Centre and scale such that no norm is above 1: nothing overflows, little underflows."""
    if len(rows) == 0:
        return _Frame(np.zeros(rows.shape[1], np.float32), np.float32(1), 1.0)
    centre = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    if bounds is not None:
        lower, upper = np.minimum(lower, bounds[0]), np.maximum(upper, bounds[1])
    sides = np.maximum(upper.astype(np.float64) - centre, centre - lower.astype(np.float64))
    reach = float(np.sqrt((sides**2).sum()))
    exponent = -np.ceil(np.log2(reach)) if reach > 0 else 0.0
    scale = np.float32(2.0 ** np.clip(exponent, -120, 120))
    return _Frame(centre, scale, float(scale) ** 2)
