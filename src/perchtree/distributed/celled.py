"""A search in cells of which workers do the most: all that does not depend on the last inserts."""

import numpy as np
from numpy.typing import NDArray

from .._kernels.cells import CELL
from .._kernels.numbering import point_nodes, row_of
from .._kernels.scan import merge_answers
from .._kernels.schema import (
    DISTANCES,
    FIRST,
    LEAF,
    NEXT_ID,
    NONE,
    POINT_ROWS,
    Counts,
    Tree,
)
from .._kernels.visiting import Batch, list_batch, search_batch
from ..search.cells import CellsSearch, State
from ..search.interface import Rows
from ..search.products import Nearest
from .looking import Range
from .numbering import Numbering
from .parts import save_part
from .running import Run, Task
from .worker import CELLS

RANGE = 2048
"""Rows that a task looks for."""
_NEVER_FULL = 2**31 - 1


class _Since:
    """Points that came since the cells were made, with the cells they are in."""

    def __init__(self, n_features: int) -> None:
        self.n = 0
        self.rows = np.empty((RANGE, n_features), np.float32)
        self.ids = np.empty(RANGE, np.int32)
        self.own = np.empty(RANGE, np.int32)

    def extend(self, rows: Rows, ids: NDArray[np.int64], own: NDArray[np.int32]) -> None:
        self.make_room(len(ids))
        part = slice(self.n, self.n + len(ids))
        self.rows[part], self.ids[part], self.own[part] = rows, ids, own
        self.n += len(ids)

    def make_room(self, n_more: int) -> None:
        """Let the arrays grow, so that rows can be written behind those that are there."""
        if self.n + n_more > len(self.ids):
            for name in ("rows", "ids", "own"):
                array = getattr(self, name)
                larger = np.empty((2 * (self.n + n_more), *array.shape[1:]), array.dtype)
                larger[: self.n] = array[: self.n]
                setattr(self, name, larger)


class CellsOfWorkers:
    """Has workers look into the cells as they were made, and looks at later points itself."""

    def __init__(self, run: Run, numbering: Numbering, search: CellsSearch) -> None:
        self._run, self._numbering, self._search = run, numbering, search
        self._since = _Since(1)
        self._seen = 0
        """Points with smaller ids are in cells, or in `_since`."""

    def renewed(self, tree: Tree, state: State) -> None:
        """Hand the cells to workers, and let them begin with the rows that come next."""
        job = self._run.job
        first = tree.nodes[point_nodes(int(tree.state[POINT_ROWS])), FIRST].astype(np.int64)
        rows = np.flatnonzero((first != NONE) & (first < state.since))
        cells = state.cells
        arrays = {
            "regions": cells.regions, "centres": cells.centres, "starts": cells.starts,
            "own": np.ascontiguousarray(cells.lists[rows, CELL]),
            "numbers": self._numbering.numbers_of(first[rows]),
        }  # fmt: skip
        save_part(job.cells_path(state.since), arrays)
        self._since, self._seen = _Since(tree.points.shape[1]), state.since
        self._run.forget(CELLS)
        begin = self._next_row(int(tree.state[NEXT_ID]))
        begin -= (begin - job.first_row) % RANGE
        end = min(begin + state.renewal - int(tree.state[NEXT_ID]) + RANGE, job.stop_row)
        for start in range(begin, end, RANGE):
            self._run.order(self._task(state, start))

    def _next_row(self, next_id: int) -> int:
        """The row that was, or is about to be, inserted under an id."""
        number = int(self._numbering.numbers_of(np.array([next_id]))[0])
        return number - self._run.job.first_number

    def _task(self, state: State, start: int) -> Task:
        job = self._run.job
        about = Range(state.since, state.width, start, min(start + RANGE, job.stop_row))
        return Task(job.looked_path(state.since, start), CELLS, (about,))

    def look(
        self, tree: Tree, state: State, rows: Rows, done: Counts
    ) -> tuple[Nearest, NDArray[np.int32]]:
        self._run.advance(0)
        next_id = int(tree.state[NEXT_ID])
        numbers = self._numbering.numbers_of(next_id + np.arange(len(rows)))
        found, opened = self._looked_up(state, numbers, done)
        self._take_notice(tree, state, next_id)
        done[DISTANCES] += self._look_at_later(state, rows, opened, found)
        return found, opened

    def _looked_up(
        self, state: State, numbers: NDArray[np.int32], done: Counts
    ) -> tuple[Nearest, NDArray[np.int32]]:
        """What workers have found for rows with these numbers."""
        job = self._run.job
        found = Nearest.unknown(len(numbers), job.k)
        opened = np.empty((len(numbers), 1 + state.width), np.int32)
        ranges = (numbers - job.first_number - job.first_row) // RANGE
        for place in np.unique(ranges).tolist():
            task = self._task(state, job.first_row + place * RANGE)
            meta, arrays = self._run.result(task)
            here = np.flatnonzero(ranges == place)
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
        own = tree.nodes[tree.ids[ids, LEAF], FIRST] == ids
        ids, rows = ids[own], rows[own]
        self._since.extend(tree.points[rows], ids, state.cells.lists[rows, CELL])
        self._seen = next_id

    def _look_at_later(
        self, state: State, rows: Rows, opened: NDArray[np.int32], found: Nearest
    ) -> int:
        """Compare rows with points in their cells that came since; how many distances that took."""
        since, stop = self._since, self._since.n + len(rows)
        if since.n == 0:
            return 0
        since.make_room(len(rows))
        since.rows[since.n : stop] = rows
        all_opened = np.empty((stop, opened.shape[1]), np.int32)
        all_opened[: since.n, 0] = since.own[: since.n]
        all_opened[since.n :] = opened
        batch = Batch(
            since.rows[:stop], 0, all_opened, np.full_like(state.cells.heads, NONE),
            np.empty(stop, np.int32), np.zeros_like(state.cells.counts),
        )  # fmt: skip
        is_listed = np.zeros(stop, bool)
        is_listed[: since.n] = True
        list_batch(batch, is_listed, _NEVER_FULL)
        later = Nearest.unknown(stop, found.ids.shape[1])
        n_distances = search_batch(batch, since.n, stop, *later)
        places = later.ids[since.n :]
        ids = np.where(places == NONE, NONE, since.ids[np.maximum(places, 0)])
        merge_answers(*found, later.near[since.n :], ids)
        return int(n_distances)
