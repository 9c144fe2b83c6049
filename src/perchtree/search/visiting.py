"""The nearest points of many rows in the cells that are opened for them."""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.cells import BLOCK, Cells
from .._kernels.opening import BUCKETS, REACH, Opening
from .._kernels.schema import NONE, POINT_ROWS, Counts, Tree
from .._kernels.visiting import Visits, list_visits, open_for, search_cells, search_rows
from .._mapped import Mapped
from .interface import Rows
from .products import Nearest
from .threads import run_tasks

TASK_ROWS = 2048
"""Rows that a thread takes at a time, at most: of more, each cell is visited for several."""
KEPT = 2**20
"""Distances from cells that are kept at a time, for all rows: they should stay in the cache."""


def cells_without_points(
    regions: NDArray[np.float32], centres: NDArray[np.float32], starts: NDArray[np.int32],
    n_rows: int,
) -> Cells:  # fmt: skip
    """Cells with these centres, and none of the rows of a tree in them."""
    return Cells(
        regions=regions,
        centres=centres,
        starts=starts,
        counts=np.zeros(len(centres), np.int32),
        blocks=np.full((len(centres), BLOCK), NONE, np.int32),
        following=np.full(len(centres), NONE, np.int32),
        n_blocks=np.array([len(centres)], np.int32),
        own=np.full(n_rows, NONE, np.int32),
    )


def with_room(cells: Cells, n_rows: int, n_more: int) -> Cells:
    """The cells, so that `n_more` of a tree's `n_rows` rows can be put into them."""
    wanted = int(cells.n_blocks[0]) + n_more
    if len(cells.following) < wanted:
        n_blocks = wanted + len(cells.centres) // 4
        cells = cells._replace(
            blocks=_enlarged(cells.blocks, n_blocks), following=_enlarged(cells.following, n_blocks)
        )
    if len(cells.own) < n_rows:
        cells = cells._replace(own=_enlarged(cells.own, n_rows))
    return cells


def _enlarged(array: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    larger = np.full((length, *array.shape[1:]), NONE, np.int32)
    larger[: len(array)] = array
    return larger


def make_opening(cells: Cells, width: int, n_rows: int) -> Opening:
    """Working memory for opening `width` cells, for at most so many rows together."""
    n_regions, n_cells = len(cells.regions), len(cells.centres)
    sizes = np.diff(cells.starts)
    room = min(n_cells, REACH * width + int(sizes.max()))
    n_together = max(1, min(n_rows, KEPT // max(room, n_regions)))
    return Opening(
        to_regions=np.empty((n_together, n_regions), np.float32),
        is_taken=np.empty((n_together, n_regions), bool),
        to_cells=np.empty((n_together, room), np.float32),
        counts=np.empty(n_together, np.int32),
        sizes=sizes,
        ones=np.ones(room, np.int32),
        histogram=np.empty(BUCKETS, np.int64),
    )


def make_visits(cells: Cells, opened: NDArray[np.int32]) -> Visits:
    """Working memory for visiting the cells that were opened, or will be."""
    n_rows, width = opened.shape
    n_cells = len(cells.centres)
    return Visits(
        np.empty(n_cells + 1, np.int32), np.empty(n_rows * width, np.int32),
        np.empty(min(n_cells, n_rows * width), np.int32),
    )  # fmt: skip


def visit_cells(
    tree: Tree, cells: Cells, width: int, rows: Rows, k: int, n_jobs: int, done: Counts
) -> tuple[Nearest, NDArray[np.int32]]:
    """The k nearest points of each row in its `width` nearest cells, and these cells.

    The cells are (rows, 1 + width): first the nearest one, then all that were opened.
    """
    found = Nearest.unknown(len(rows), k)
    opened = np.empty((len(rows), 1 + width), np.int32)
    counts = []
    mapped = Mapped.behind(tree.points)
    n_together = max(1, min(TASK_ROWS, -(-len(rows) // n_jobs)))

    def visit(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + n_together)
        own, work = rows[part], _arrays.make_work()
        open_for(cells, make_opening(cells, width, len(own)), own, opened[part], work)
        visits = make_visits(cells, opened[part])
        n_opened = list_visits(visits, opened[part])
        for start, stop in _stretches(mapped, cells, visits.cells[:n_opened]):
            go_on()
            search_cells(
                tree, cells, visits, start, stop, own, found.near[part], found.ids[part], work
            )
            if mapped is not None:
                mapped.have_read()
        counts.append(work)

    run_tasks(
        [functools.partial(visit, first) for first in range(0, len(rows), n_together)], n_jobs
    )
    done += np.sum(counts, axis=0, dtype=done.dtype)
    return found, opened


def visit_all(tree: Tree, row: NDArray[np.float32], near: Rows, ids: NDArray[np.int32]) -> None:
    """Improve the nearest points of a row by all points, in the order of their rows."""
    mapped, n_rows = Mapped.behind(tree.points), int(tree.state[POINT_ROWS])
    step = n_rows if mapped is None else max(1, mapped.step // tree.points[0].nbytes)
    for first in range(0, n_rows, max(1, step)):
        search_rows(tree, first, min(first + step, n_rows), row, near, ids)
        if mapped is not None:
            mapped.have_read()


def _stretches(
    mapped: Mapped | None, cells: Cells, opened: NDArray[np.int32]
) -> list[tuple[int, int]]:
    """Cells that are visited in one go, from one place among those that were opened to before
    another: all of them, or, if points are mapped, as many as may be read at a time."""
    if mapped is None or len(opened) == 0:
        return [(0, len(opened))]
    n_read = np.cumsum(cells.counts[opened], dtype=np.int64)
    most = mapped.scattered
    ends = np.searchsorted(n_read, np.arange(most, int(n_read[-1]) + most, most)) + 1
    stops = np.unique(np.minimum(ends, len(opened))).tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))
