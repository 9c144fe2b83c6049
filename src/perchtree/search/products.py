"""Exact nearest neighbours of a batch by tiled matrix products."""

import functools
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._kernels.scan import Block, Memory, Tile, centre_rows, scan_tile
from .._kernels.schema import NONE, Counts
from .threads import one_blas_thread, run_tasks

# Measured from d = 16 to 2,048: larger tiles gain 3 % at most, 256 x 512 loses up to a fifth; the
# products of a tile stay in the cache. Plain direct distances took 3 to 6 times as long. Blocks of
# 1,024 rows left a thread idle at the end of each batch: whole builds took 3 to 5 % longer.
BLOCK_ROWS = 512
TILE_COLUMNS = 512
MOST_PRODUCTS = 2**17
WIDEST_TILE = 2**15
"""For few rows tiles are wider: calls from Python would otherwise cost more than the products. But
those of 100 rows with 5,000 points do not stay in the cache, and took a third longer."""


class Nearest(NamedTuple):
    """For each row its k nearest points, nearest first."""

    near: NDArray[np.float32]
    """Squared distances; infinite where there are fewer points."""
    ids: NDArray[np.int32]

    @classmethod
    def unknown(cls, n_rows: int, k: int) -> "Nearest":
        """None found yet."""
        return cls(np.full((n_rows, k), np.inf, np.float32), np.full((n_rows, k), NONE, np.int32))


class Points(NamedTuple):
    """Contiguous rows of points with their ids; NONE marks a row that holds no point."""

    rows: NDArray[np.float32]
    ids: NDArray[np.int32]


class Columns(NamedTuple):
    """Rows in the form of which products are taken: of all features, or of fewer columns.

    - `heads`: float32 (n, w), of which products are taken;
    - `rests`: float32 (n,), the norm of what they leave out;
    - `halves`: float64 (n,), half the squared norms, less what rounding may have added;
    - `image`: float32 (n, more), rotated coordinates, the heads among them; or no columns;
    - `last_rests`: float32 (n,), the norm of what these leave out.
    """

    heads: NDArray[np.float32]
    rests: NDArray[np.float32]
    halves: NDArray[np.float64]
    image: NDArray[np.float32]
    last_rests: NDArray[np.float32]


class Space(Protocol):
    """Where rows are compared with points: what products are taken of."""

    @property
    def split(self) -> int:
        """How many rotated coordinates products are taken of."""

    @property
    def squared_scale(self) -> float: ...

    def queries(self, part: slice) -> Columns: ...

    def reader(self) -> Callable[[slice], Columns]:
        """Give access to parts of the points, one at a time, for one thread."""


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
    answers = Nearest.unknown(len(rows), k)
    scan(rows, points, AllFeatures(rows, points.rows, bounds), answers, n_jobs)
    return answers


def scan_earlier(points: Points, k: int, n_jobs: int = 1) -> Nearest:
    """Find the k nearest of each of some points among those before it."""
    answers = Nearest.unknown(len(points.rows), k)
    space = AllFeatures(points.rows, points.rows, None)
    scan(points.rows, points, space, answers, n_jobs, earlier=True)
    return answers


def scan(
    rows: NDArray[np.float32],
    points: Points,
    space: Space,
    answers: Nearest,
    n_jobs: int,
    *,
    earlier: bool = False,
    stop: threading.Event | None = None,
) -> Counts:
    """Improve the answers for rows by points; how much had to be looked at, and computed.

    With `earlier` the points are the rows, and each is only compared with those before it.
    """
    counts = np.zeros((len(rows) // BLOCK_ROWS + 1, 2), np.int64)

    def scan_block(first: int, go_on: Callable[[], None]) -> None:
        part = slice(first, min(first + BLOCK_ROWS, len(rows)))
        queries = space.queries(part)
        block = Block(rows[part], queries.halves, queries.rests, queries.image, queries.last_rests,
                      answers.near[part], answers.ids[part])  # fmt: skip
        stop = part.stop if earlier else len(points.rows)
        _scan_tiles(
            block, queries.heads, Points(points.rows[:stop], points.ids[:stop]), space,
            first if earlier else None, counts[first // BLOCK_ROWS], go_on,
        )  # fmt: skip

    with one_blas_thread():
        # Later blocks have more earlier rows: begin with them, and threads end together.
        starts = range(0, len(rows), BLOCK_ROWS)[::-1]
        run_tasks([functools.partial(scan_block, start) for start in starts], n_jobs, stop)
    return np.asarray(counts.sum(axis=0))


def _scan_tiles(
    block: Block,
    heads: NDArray[np.float32],
    points: Points,
    space: Space,
    start: int | None,
    counts: Counts,
    go_on: Callable[[], None],
) -> None:
    """Compare a block with tile after tile; if `start` is given, query i only with points
    before `start` + i.

    The newest points come first: in data that arrives in some order they are the nearest, and
    bounds are tight at once. (Sorted numbers took seven times as long from the other end.)
    """
    read = space.reader()
    widest = min(
        max(TILE_COLUMNS, MOST_PRODUCTS // len(heads)), WIDEST_TILE, max(1, len(points.rows))
    )
    memory = np.empty(len(heads) * widest, np.float32)
    marks = np.zeros(widest // 8 + 1, np.uint64)
    working = Memory(marks.view(np.uint8), marks, np.empty(widest + 8, np.int32), counts)
    for first in range(0, len(points.rows), widest)[::-1]:
        go_on()
        part = slice(first, min(first + widest, len(points.rows)))
        width = part.stop - first
        columns = read(part)
        products = memory[: len(heads) * width].reshape(-1, width)
        np.matmul(heads, columns.heads.T, out=products)
        tile = Tile(points.rows[part], columns.halves.astype(np.float32), columns.rests,
                    columns.image, columns.last_rests, points.ids[part])  # fmt: skip
        diagonal = width if start is None else start - first
        scan_tile(block, products, tile, space.split, space.squared_scale, diagonal, working)


class AllFeatures:
    """Products of all features, moved to a centre so that they are accurate."""

    split = 0

    def __init__(
        self,
        rows: NDArray[np.float32],
        points: NDArray[np.float32],
        bounds: NDArray[np.float32] | None,
    ) -> None:
        self._rows, self._points = rows, points
        self._centre, self._scale = _find_frame(rows, bounds)
        self.squared_scale = float(self._scale) ** 2

    def queries(self, part: slice) -> Columns:
        return self._columns(self._rows[part], np.empty_like(self._rows[part]))

    def reader(self) -> Callable[[slice], Columns]:
        memory = np.empty((0, self._points.shape[1]), np.float32)

        def read(part: slice) -> Columns:
            nonlocal memory
            if len(memory) < part.stop - part.start:
                memory = np.empty((part.stop - part.start, memory.shape[1]), np.float32)
            return self._columns(self._points[part], memory[: part.stop - part.start])

        return read

    def _columns(self, rows: NDArray[np.float32], centred: NDArray[np.float32]) -> Columns:
        halves, nothing = np.empty(len(rows)), np.zeros(len(rows), np.float32)
        centre_rows(rows, self._centre, self._scale, centred, halves)
        return Columns(centred, nothing, halves, np.empty((len(rows), 0), np.float32), nothing)


def _find_frame(
    rows: NDArray[np.float32], bounds: NDArray[np.float32] | None
) -> tuple[NDArray[np.float32], np.float32]:
    """Centre and scale such that no norm is above 1: nothing overflows, little underflows."""
    if len(rows) == 0:
        return np.zeros(rows.shape[1], np.float32), np.float32(1)
    centre = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    if bounds is not None:
        lower, upper = np.minimum(lower, bounds[0]), np.maximum(upper, bounds[1])
    return centre, find_scale(centre.astype(np.float64), lower, upper)


def find_scale(
    centre: NDArray[np.float64], lower: NDArray[np.float32], upper: NDArray[np.float32]
) -> np.float32:
    """The power of two that brings all of a box within 1 of the centre."""
    sides = np.maximum(upper.astype(np.float64) - centre, centre - lower.astype(np.float64))
    reach = float(np.sqrt((sides**2).sum()))
    exponent = -np.ceil(np.log2(reach)) if reach > 0 else 0.0
    return np.float32(2.0 ** np.clip(exponent, -120, 120))
