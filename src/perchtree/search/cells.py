"""Approximate search in cells: the tree as it once stood is the index of points to come.

Cells are rebuilt at fixed numbers of inserts, from the tree as it then is, and stay as they are
in between; only their lists of points change. So an answer is a function of what was done to the
tree, whatever the batches, threads and restarts.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.cells import Cells, link_rows, unlink_free
from .._kernels.numbering import row_of
from .._kernels.prepared import look_up
from .._kernels.sampling import is_sampled
from .._kernels.schema import (
    CELLS_CHECKED,
    CELLS_FOUND,
    DISTANCES,
    LEAF,
    N_POINTS,
    NEXT_ID,
    NONE,
    POINT_ROWS,
    RENEWALS,
    Counts,
    Prepared,
    Tree,
)
from .._kernels.visiting import Batch, list_batch, search_all_before, search_batch
from . import renewing
from .copies import PER_POINT, Copies
from .interface import Finder, Leaves, Part, Rows, Search
from .products import Nearest
from .renewing import CELL_SIZE, choose_width, new_cells
from .restoring import restored_cells, restored_numbers
from .threads import run_tasks
from .visiting import visit_all, visit_cells, with_room

SMALLEST_TREE = 4096
"""With fewer points, all of them are looked at."""
AGAIN = 4
"""Cells are rebuilt after a quarter as many inserts as there were points."""
_ENOUGH = 64
"""Points that must have come since, to tell how many cells have to be opened for new ones."""
_TASK_ROWS = 64
"""Rows that a thread takes at a time."""
_LISTED = 16
"""Bytes of each row in lists of cells, and of each id."""
PART_ROWS = 4096
_PART_CELLS = 2**22
"""Rows that are searched together, and cells that are opened for all of them."""


class State(NamedTuple):
    """Cells, and what was decided when they were made."""

    cells: Cells
    width: int
    """How many cells are opened for a row."""
    fullest: int
    """No cell takes more rows: all are rebuilt before that."""
    since: int
    """The id of the next point when they were made."""
    renewal: int
    """The id before which all are rebuilt in any case."""


class Elsewhere(Protocol):
    """Whoever looks into cells in place of this process."""

    def renewed(self, tree: Tree, state: State) -> None:
        """Cells were rebuilt."""

    def look(
        self, tree: Tree, state: State, rows: Rows, done: Counts
    ) -> tuple[Nearest, NDArray[np.int32]]:
        """Find what `CellsSearch._look` would, for rows that are inserted next."""
        ...


class CellsSearch(Search):
    """Looks for the neighbours of new points in the nearest cells; questions go to all points."""

    def __init__(self, k: int, recall: float, exact: Search) -> None:
        super().__init__(k)
        self._recall, self._exact = recall, exact
        self._copies = Copies()
        self._state: State | None = None
        self._known = 0
        """Points with smaller ids are in cells."""
        self._rows_of = np.empty(0, np.int32)
        """The row of each of these points."""
        self._own: tuple[int, NDArray[np.int32]] = 0, np.empty(0, np.int32)
        """The first id of the rows searched last, and the cells that they will be in."""
        self._elsewhere: Elsewhere | None = None

    @contextlib.contextmanager
    def looking_elsewhere(self, tree: Tree, elsewhere: Elsewhere) -> Iterator[None]:
        """Let somebody else look into the cells for rows to be inserted."""
        self._elsewhere = elsewhere
        if self._state is not None:
            elsewhere.renewed(tree, self._state)
        try:
            yield
        finally:
            self._elsewhere = None

    # Inserting

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        self._exact.n_jobs = self.n_jobs
        while len(rows) > 0:
            next_id = int(tree.state[NEXT_ID])
            if self._known < next_id:  # an interruption kept us from hearing of these
                self.added(tree, range(self._known, next_id))
            if self._is_due(tree):
                self._renew(tree, done)
            if self._state is None:
                part = rows[: SMALLEST_TREE - int(tree.state[N_POINTS])]
                yield from self._exact.parts(tree, part, done)
            else:
                most = min(PART_ROWS, max(1, _PART_CELLS // self._state.width))
                part, finder = self._find_ahead(
                    tree, self._state, rows[: min(most, self._state.renewal - next_id)], done
                )
                if len(part) == 0:
                    self._renew(tree, done)
                else:
                    yield Part(part, finder)
            rows = rows[len(part) :]

    def _is_due(self, tree: Tree) -> bool:
        if self._state is None:
            return bool(tree.state[N_POINTS] >= SMALLEST_TREE)
        return bool(tree.state[NEXT_ID] >= self._state.renewal)

    def _renew(self, tree: Tree, done: Counts) -> None:
        """Make cells of the tree as it stands; of few points, none."""
        n_points, next_id = int(tree.state[N_POINTS]), int(tree.state[NEXT_ID])
        before, self._state = self._state, None
        self._rows_of, self._known = row_of(tree.ids[:next_id, LEAF]), next_id
        if n_points < SMALLEST_TREE:
            return
        cells = new_cells(tree)
        self._state = State(
            cells,
            width=self._choose_width(tree, cells, before),
            fullest=max(16 * renewing.CELL_SIZE, 4 * int(np.sqrt(n_points))),
            since=next_id,
            renewal=next_id + n_points // AGAIN,
        )
        done[RENEWALS] += 1
        if self._elsewhere is not None:
            self._elsewhere.renewed(tree, self._state)

    def _choose_width(self, tree: Tree, cells: Cells, before: State | None) -> int:
        """How many of these cells to open, as the latest points tell.

        They tell what it took in the cells before; of more cells it takes more, about as the root
        grows. Where they are too few, older points tell, which find their neighbours too easily:
        so only half as many may be missed.
        """
        if before is None or int(tree.state[NEXT_ID]) - before.since < _ENOUGH:
            width: float = choose_width(tree, cells, None, (1 + self._recall) / 2, self._exact)
        else:
            width = choose_width(tree, before.cells, before.since, self._recall, self._exact)
            width *= np.sqrt(len(cells.centres) / len(before.cells.centres))
        return min(max(1, round(width)), len(cells.centres))

    def _find_ahead(
        self, tree: Tree, state: State, rows: Rows, done: Counts
    ) -> tuple[Rows, Finder]:
        """The neighbours of rows, in the tree and among each other.

        Only of the rows before the first one whose cell is full: cells are then rebuilt.
        """
        if self._elsewhere is None:
            found, opened = self._look(tree, state, rows, self.k, done)
        else:
            found, opened = self._elsewhere.look(tree, state, rows, done)
        next_id = int(tree.state[NEXT_ID])
        copied = self._copies.find_before(tree, rows)
        batch = Batch(
            rows, next_id, opened,
            np.full_like(state.cells.counts, NONE), np.empty(len(rows), np.int32),
            state.cells.counts.copy(),
        )  # fmt: skip
        n_rows = list_batch(batch, copied == NONE, state.fullest)
        found = Nearest(found.near[:n_rows], found.ids[:n_rows])
        rows, copied = rows[:n_rows], copied[:n_rows]
        done[DISTANCES] += self._look_at_batch(batch, found)
        is_new = copied == NONE
        for row in np.flatnonzero(is_new & (found.ids[:, 0] == NONE)).tolist():
            answer = self._look_everywhere(tree, batch, row, is_new, self.k)
            found.near[row], found.ids[row] = answer
        found.near[~is_new, 0], found.ids[~is_new, 0] = 0, copied[~is_new]
        self._check_sample(tree, batch, is_new, found, done)
        self._own = next_id, opened[:n_rows, 0].copy()
        memory = Prepared(found.ids, found.near, np.zeros(1, np.int64), _arrays.make_found(self.k))
        return rows, Finder(look_up, memory)

    def _look(
        self, tree: Tree, state: State, rows: Rows, k: int, done: Counts
    ) -> tuple[Nearest, NDArray[np.int32]]:
        """The k nearest points of each row in its nearest cells, and these cells."""
        return visit_cells(tree, state.cells, state.width, rows, k, self.n_jobs, done)

    def _look_at_batch(self, batch: Batch, found: Nearest) -> int:
        """Compare rows with those before them in their cells; how many distances that took."""
        counts = []

        def look(first: int, go_on: Callable[[], None]) -> None:
            go_on()
            stop = min(first + _TASK_ROWS, len(found.ids))
            counts.append(search_batch(batch, first, stop, found.near, found.ids))

        starts = range(0, len(found.ids), _TASK_ROWS)
        run_tasks([functools.partial(look, start) for start in starts], self.n_jobs)
        return sum(counts)

    def _check_sample(
        self, tree: Tree, batch: Batch, is_new: NDArray[np.bool_], found: Nearest, done: Counts
    ) -> None:
        """For a sample of inserts, look at every point: was the nearest found?"""
        for row in range(len(is_new)):
            if is_sampled(batch.first_id + row):
                near, _ = self._look_everywhere(tree, batch, row, is_new, 1)
                done[CELLS_CHECKED] += 1
                done[CELLS_FOUND] += found.near[row, 0] <= near[0]

    def _look_everywhere(
        self, tree: Tree, batch: Batch, row: int, is_new: NDArray[np.bool_], k: int
    ) -> Nearest:
        """The k nearest leaves of a row of a batch, in the tree and among new rows before it."""
        found = Nearest.unknown(1, k)
        near, ids = found.near[0], found.ids[0]
        visit_all(tree, batch.rows[row], near, ids)
        search_all_before(batch, row, is_new, near, ids)
        return Nearest(near, ids)

    def estimate_bytes(self, tree: Tree, n_points: int) -> int:
        """Cells, and what exact search keeps: that tells how many cells have to be opened."""
        own = n_points * cells_bytes(tree.points.shape[1])
        return own + self._exact.estimate_bytes(tree, n_points)

    # Keeping cells up to date

    def added(self, tree: Tree, ids: range) -> None:
        start, stop = self._known, ids.stop
        self._copies.note(tree, range(start, stop))
        self._known = stop
        if self._state is None:
            return
        rows = row_of(tree.ids[start:stop, LEAF])
        own_start, own = self._own
        if own_start != start or len(own) < len(rows):
            points = np.ascontiguousarray(tree.points[rows])
            own = self._look(tree, self._state, points, 1, _arrays.make_work())[1][:, 0].copy()
        cells = with_room(self._state.cells, len(tree.points), len(rows))
        self._state = self._state._replace(cells=cells)
        link_rows(cells, rows, own[: len(rows)])
        self._rows_of = _written(self._rows_of, start, rows)

    def removed(self, tree: Tree, ids: NDArray[np.int64]) -> None:
        if self._state is not None:
            sums = np.empty((1, tree.points.shape[1]))
            unlink_free(tree, self._state.cells, self._rows_of[ids], sums)

    # Files

    def kept(self, tree: Tree) -> dict[str, NDArray[Any]]:
        if self._state is None:
            return {}
        cells, *numbers = self._state
        return {
            "regions": cells.regions.copy(),
            "centres": cells.centres.copy(),
            "starts": cells.starts,
            "cells": cells.own[: int(tree.state[POINT_ROWS])].copy(),
            "numbers": np.array(numbers, np.int64),
            "hashes": self._copies.kept(tree),
        }

    def restore(self, tree: Tree, kept: Mapping[str, NDArray[Any]]) -> None:
        next_id = int(tree.state[NEXT_ID])
        self._known = next_id
        if kept:
            self._state = State(restored_cells(tree, kept), *restored_numbers(kept))
            self._rows_of = row_of(tree.ids[:next_id, LEAF])
            if "hashes" in kept:
                self._copies.restore(tree, kept["hashes"])

    # Asking

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        self._exact.n_jobs = self.n_jobs
        return self._exact.nearest(tree, rows, k, done)

    def near(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        if self._state is None:
            return self.nearest(tree, rows, k, done)
        found, _ = self._look(tree, self._state, rows, k, done)
        answers = Leaves.of_points(tree, found.near, found.ids)
        short = np.flatnonzero(found.ids[:, -1] == NONE)
        if len(short) > 0:  # too few points in its cells
            exact = self.nearest(tree, np.ascontiguousarray(rows[short]), k, done)
            answers.distances[short], answers.leaves[short] = exact
        return answers


def cells_bytes(n_features: int) -> int:
    """What cells take, about, per point: its share of a centre, lists, and the hash of its row."""
    return 4 * n_features // (CELL_SIZE // 2) + _LISTED + PER_POINT


def _written(array: NDArray[np.int32], start: int, values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Write values behind the first `start` ones of an array, which grows if it must."""
    if start + len(values) > len(array):
        larger = np.full(max(2 * len(array), start + len(values)), NONE, np.int32)
        larger[:start] = array[:start]
        array = larger
    array[start : start + len(values)] = values
    return array
