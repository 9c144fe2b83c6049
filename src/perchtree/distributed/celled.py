"""A search in cells of which workers do the most: all that does not depend on the last inserts."""

import functools

import numpy as np
from numpy.typing import NDArray

from .._kernels.cells import Cells, link_rows
from .._kernels.numbering import point_node, point_nodes, row_of
from .._kernels.schema import DISTANCES, FIRST, LEAF, NEXT_ID, NONE, POINT_ROWS, Counts, Tree
from .._kernels.visiting import list_visits, search_cells
from ..search.cells import CellsSearch, State
from ..search.interface import Rows
from ..search.products import Nearest
from ..search.visiting import cells_without_points, make_visits, with_room
from .looking import Range
from .numbering import Numbering
from .parts import save_part
from .running import Run, Task
from .worker import CELLS

FEWEST_ROWS, MOST_ROWS = 256, 2048
"""Rows that a task looks for."""
_RANGES = 32
"""Tasks between two renewals, unless they would be smaller or larger."""


def range_rows(n_rows: int) -> int:
    """How many rows a task looks for, if there are so many up to the next renewal: the tree waits
    for the first task, and workers wait for the tree to take in what the last one has found."""
    return min(max(n_rows // _RANGES, FEWEST_ROWS), MOST_ROWS)


class _Interval:
    """Rows from one renewal to the next, as tasks look for them."""

    def __init__(self, state: State, start: int, n_rows: int, last_row: int) -> None:
        self._state, self._start, self._last_row = state, start, last_row
        self._length = range_rows(n_rows)
        self.stop = min(start + n_rows, last_row)
        """Later rows are only needed if some before them are left out."""

    def starts_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the tasks that look for these rows begin."""
        origin = np.where(rows < self.stop, self._start, self.stop)
        return np.asarray(rows - (rows - origin) % self._length)

    def task(self, start: int) -> Range:
        end = self.stop if start < self.stop else self._last_row
        return Range(self._state.since, self._state.width, start, min(start + self._length, end))

    def starts_from(self, row: int) -> range:
        """Where all tasks that look for this row and later ones begin."""
        first = int(self.starts_of(np.array([row]))[0])
        return range(first, self.stop, self._length)


class CellsOfWorkers:
    """Has workers look into the cells as they were made, and looks at later points itself."""

    def __init__(self, run: Run, numbering: Numbering, search: CellsSearch) -> None:
        self._run, self._numbering, self._search = run, numbering, search
        self._interval: _Interval
        self._later: Cells
        """The cells with the points that came since, which workers do not know."""
        self._seen = 0
        """Points with smaller ids are in those that workers know, or in these."""

    def renewed(self, tree: Tree, state: State) -> None:
        """Hand the cells to workers, and let them begin with the rows that come next."""
        job = self._run.job
        first = tree.nodes[point_nodes(int(tree.state[POINT_ROWS])), FIRST].astype(np.int64)
        rows = np.flatnonzero((first != NONE) & (first < state.since))
        cells = state.cells
        arrays = {
            "regions": cells.regions, "centres": cells.centres, "starts": cells.starts,
            "own": cells.own[rows],
            "numbers": self._numbering.numbers_of(first[rows]),
        }  # fmt: skip
        path = job.cells_path(state.since)
        self._run.own = {
            known: make for known, make in self._run.own.items() if known.parent != path.parent
        }
        self._run.own[path] = functools.partial(save_part, path, arrays)
        self._run.own[path]()
        self._later = cells_without_points(*cells[:3], len(tree.points))
        self._seen = state.since
        self._run.forget(CELLS)
        n_rows = state.renewal - max(state.since, job.first_number)
        self._interval = _Interval(state, self._row_of(state.since), n_rows, job.stop_row)
        for start in self._interval.starts_from(self._row_of(int(tree.state[NEXT_ID]))):
            self._run.order(self._task(start))

    def _row_of(self, next_id: int) -> int:
        """The row that was, or is about to be, inserted under an id."""
        number = int(self._numbering.numbers_of(np.array([next_id]))[0])
        return max(number - self._run.job.first_number, self._run.job.first_row)

    def _task(self, start: int) -> Task:
        about = self._interval.task(start)
        return Task(self._run.job.looked_path(about.since, start, about.stop), CELLS, (about,))

    def look(
        self, tree: Tree, state: State, rows: Rows, done: Counts
    ) -> tuple[Nearest, NDArray[np.int32]]:
        self._run.advance(0)
        next_id = int(tree.state[NEXT_ID])
        numbers = self._numbering.numbers_of(next_id + np.arange(len(rows)))
        found, opened = self._looked_up(state, numbers, done)
        self._take_notice(tree, state, next_id)
        if next_id > state.since:
            visits = make_visits(self._later, opened)
            n_opened = list_visits(visits, opened)
            search_cells(tree, self._later, visits, 0, n_opened, rows, *found, done)
        return found, opened

    def _looked_up(
        self, state: State, numbers: NDArray[np.int32], done: Counts
    ) -> tuple[Nearest, NDArray[np.int32]]:
        """What workers have found for rows with these numbers."""
        job = self._run.job
        found = Nearest.unknown(len(numbers), job.k)
        opened = np.empty((len(numbers), 1 + state.width), np.int32)
        starts = self._interval.starts_of(numbers.astype(np.int64) - job.first_number)
        for start in np.unique(starts).tolist():
            meta, arrays = self._run.result(self._task(start))
            here = np.flatnonzero(starts == start)
            there = np.searchsorted(arrays["rows"], numbers[here])
            found.near[here] = arrays["near"][there]
            found.ids[here] = self._numbering.ids_of(arrays["numbers"][there])
            opened[here] = arrays["opened"][there]
            done[DISTANCES] += meta["distances"] * len(here) // max(1, len(arrays["rows"]))
        return found, opened

    def _take_notice(self, tree: Tree, state: State, next_id: int) -> None:
        """Of points that were inserted since: those that have a leaf of their own."""
        ids = np.arange(self._seen, next_id)
        rows = row_of(tree.ids[ids, LEAF])
        rows = rows[tree.nodes[point_node(rows), FIRST] == ids]
        self._later = with_room(self._later, len(tree.points), len(rows))
        link_rows(self._later, rows, state.cells.own[rows])
        self._seen = next_id
