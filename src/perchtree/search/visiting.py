"""The nearest points of many rows in the cells that are opened for them."""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.cells import Cells
from .._kernels.opening import REACH, Opening
from .._kernels.schema import POINT_ROWS, Counts, Tree
from .._kernels.visiting import Visits, plan_visits, search_cells, search_rows
from .._mapped import Mapped
from .interface import Rows
from .products import Nearest
from .threads import run_tasks

_TASK_ROWS = 2048
"""Rows that a thread takes at a time, at most: of more, each cell is visited for several."""
_KEYS = 2**22
"""Cells that are looked at together, for all rows."""


def make_opening(cells: Cells, width: int, n_rows: int) -> Opening:
    """Working memory for opening `width` cells, for at most so many rows together."""
    n_regions, n_cells = len(cells.regions), len(cells.centres)
    room = min(n_cells, REACH * width + int(np.diff(cells.starts).max()))
    n_together = max(1, min(n_rows, _KEYS // max(room, n_regions)))
    return Opening(
        to_regions=np.empty((n_together, n_regions), np.float32),
        region_keys=np.empty(n_regions, np.int64),
        region_items=np.empty(n_regions, np.int32),
        is_taken=np.empty((n_together, n_regions), bool),
        keys=np.empty((n_together, room), np.int64),
        counts=np.empty(n_together, np.int32),
    )


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
    n_together = max(1, min(_TASK_ROWS, -(-len(rows) // n_jobs)))

    def visit(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + n_together)
        own, work = rows[part], _arrays.make_work()
        visits = Visits(
            np.empty(len(cells.heads) + 1, np.int32), np.empty(len(own) * width, np.int32)
        )
        plan_visits(cells, make_opening(cells, width, len(own)), visits, own, opened[part], work)
        for first_cell, stop_cell in _stretches(mapped, cells, visits):
            go_on()
            search_cells(
                tree, cells, visits, first_cell, stop_cell, own, found.near[part], found.ids[part],
                work,
            )  # fmt: skip
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


def _stretches(mapped: Mapped | None, cells: Cells, visits: Visits) -> list[tuple[int, int]]:
    """Cells that are visited in one go, from one to before another: all of them, or, if points are
    mapped, as many as may be read at a time."""
    n_cells = len(cells.heads)
    if mapped is None:
        return [(0, n_cells)]
    n_read = np.cumsum(cells.counts * (np.diff(visits.starts) > 0), dtype=np.int64)
    most = mapped.scattered
    ends = np.searchsorted(n_read, np.arange(most, int(n_read[-1]) + most, most)) + 1
    stops = np.unique(np.minimum(ends, n_cells)).tolist()
    return list(zip([0, *stops[:-1]], stops, strict=True))
