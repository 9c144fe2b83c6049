"""The nearest points of many rows in the cells that are opened for them."""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.cells import Cells
from .._kernels.opening import REACH, Opening
from .._kernels.schema import NONE, Counts, Tree
from .._kernels.visiting import Visits, search_cells
from .interface import Rows
from .products import Nearest
from .threads import run_tasks

TASK_ROWS = 2048
"""Rows that a thread takes at a time, at most: of more, each cell is visited for several."""
KEYS = 2**22
"""Cells that are looked at together, for all rows."""


def cells_without_points(
    regions: NDArray[np.float32], centres: NDArray[np.float32], starts: NDArray[np.int32],
    n_rows: int,
) -> Cells:  # fmt: skip
    """Cells with these centres, into which so many rows can be put."""
    return Cells(
        regions=regions,
        centres=centres,
        starts=starts,
        heads=np.full(len(centres), NONE, np.int32),
        counts=np.zeros(len(centres), np.int32),
        lists=np.full((n_rows, 3), NONE, np.int32),
    )


def with_room(cells: Cells, n_rows: int) -> Cells:
    """The cells, so that as many rows as a tree has got meanwhile can be put into them."""
    lists = cells.lists
    if len(lists) >= n_rows:
        return cells
    larger = np.full((n_rows, lists.shape[1]), NONE, np.int32)
    larger[: len(lists)] = lists
    return cells._replace(lists=larger)


def make_opening(cells: Cells, width: int, n_rows: int) -> Opening:
    """Working memory for opening `width` cells, for at most so many rows together."""
    n_regions, n_cells = len(cells.regions), len(cells.centres)
    room = min(n_cells, REACH * width + int(np.diff(cells.starts).max()))
    n_together = max(1, min(n_rows, KEYS // max(room, n_regions)))
    return Opening(
        to_regions=np.empty((n_together, n_regions), np.float32),
        region_keys=np.empty(n_regions, np.int64),
        region_items=np.empty(n_regions, np.int32),
        is_taken=np.empty((n_together, n_regions), bool),
        keys=np.empty((n_together, room), np.int64),
        counts=np.empty(n_together, np.int32),
    )


def make_visits(cells: Cells, opened: NDArray[np.int32]) -> Visits:
    """Working memory for visiting the cells that were opened, or will be."""
    n_rows, width = opened.shape
    return Visits(np.empty(len(cells.heads) + 1, np.int32), np.empty(n_rows * width, np.int32))


def visit_cells(
    tree: Tree, cells: Cells, width: int, rows: Rows, k: int, n_jobs: int, done: Counts
) -> tuple[Nearest, NDArray[np.int32]]:
    """The k nearest points of each row in its `width` nearest cells, and these cells.

    The cells are (rows, 1 + width): first the nearest one, then all that were opened.
    """
    found = Nearest.unknown(len(rows), k)
    opened = np.empty((len(rows), 1 + width), np.int32)
    counts = []
    n_together = max(1, min(TASK_ROWS, -(-len(rows) // n_jobs)))

    def visit(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + n_together)
        own, work = rows[part], _arrays.make_work()
        search_cells(
            tree, cells, make_opening(cells, width, len(own)), make_visits(cells, opened[part]),
            own, found.near[part], found.ids[part], opened[part], work,
        )  # fmt: skip
        counts.append(work)

    run_tasks(
        [functools.partial(visit, first) for first in range(0, len(rows), n_together)], n_jobs
    )
    done += np.sum(counts, axis=0, dtype=done.dtype)
    return found, opened
