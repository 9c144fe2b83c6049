"""The choice between A* and a scan, for rows that come in batches of any size."""

from collections.abc import Callable

import numpy as np

from .. import _arrays
from .._kernels.rows import probe_rows
from .._kernels.schema import DISTANCES, N_LEAVES, Counts, Tree
from .costs import cold_distance_cost, distance_cost
from .interface import Leaves, Rows

TRIED = 32
"""A* is tried on one row in so many, where there are many."""

MOST_PASSED = 512
"""So many rows go by a scan, at most, before A* is tried again on few."""

SHALLOW = 16
"""So few distances do not even lead down to a leaf."""

SCAN_CALL = 600_000.0
"""What a scan costs beside the pairs, in nanoseconds: calls from Python."""


class Choice:
    """Remembers how A* did when it was last tried.

    Counted work decides, never clocks. A* is given up where it needs more distances than a scan for
    that row is worth, so trying costs little even where A* is hopeless.
    """

    def __init__(self) -> None:
        self.by_scan = False
        """What was found to be cheaper."""
        self._rows_left = 0
        self._pass = TRIED
        self._worth = 0.0

    def decide(self, tree: Tree, rows: Rows, k: int, done: Counts, of_pair: float) -> None:
        """Find out by some of many rows, given what a scan costs per pair."""
        worth = self._distances_worth(tree, rows, of_pair, distance_cost)
        if worth < SHALLOW:
            self.by_scan = True
        elif not self._is_known(worth, len(rows)):
            memory = _arrays.make_astar(tree, k, _arrays.make_work())
            sample = np.ascontiguousarray(rows[::TRIED])
            probe_rows(tree, memory, sample, int(worth))
            done += memory.done
            self._keep(memory.done[DISTANCES] > 0.7 * worth * len(sample), worth, TRIED)

    def search_few(
        self, tree: Tree, rows: Rows, k: int, done: Counts, of_pair: float
    ) -> Leaves | None:
        """Find out by all of few rows; their nearest leaves, if A* came to its end.

        One row says little about the next: unless A* is by far the cheaper search, it is tried on
        each row, until it has to be given up. Then a scan takes the next ones, twice as many each
        time.
        """
        worth = self._distances_worth(tree, rows, of_pair, cold_distance_cost)
        if worth < SHALLOW:
            self.by_scan = True
        if worth < SHALLOW or self._is_known(worth, len(rows)):
            return None
        found, memory = Leaves.unknown(len(rows), k), _arrays.make_astar(tree, k, done)
        most = 0
        for row in range(len(rows)):
            before = done[DISTANCES]
            probe_rows(tree, memory, rows[row : row + 1], int(worth))
            most = max(most, int(done[DISTANCES] - before))
            if most >= int(worth):
                self._pass = min(2 * self._pass, MOST_PASSED) if self.by_scan else TRIED
                self._keep(True, worth, self._pass)
                return None
            found.distances[row], found.leaves[row] = memory.found
        self._keep(False, worth, TRIED if most < worth / 8 else 0)
        return found

    def _distances_worth(
        self, tree: Tree, rows: Rows, of_pair: float, of_distance: Callable[[int], float]
    ) -> float:
        """How many distances of A* cost as much as a scan, per row."""
        n_leaves, n_rows = int(tree.state[N_LEAVES]), len(rows)
        if n_leaves == 0 or n_rows == 0:
            return 0.0
        of_scan = SCAN_CALL / n_rows + n_leaves * of_pair
        return of_scan / of_distance(rows.shape[1])

    def _is_known(self, worth: float, n_rows: int) -> bool:
        """Whether what was found last holds for these rows, too."""
        known = n_rows <= self._rows_left and self._worth / 1.5 < worth < self._worth * 1.5
        self._rows_left -= n_rows
        return known

    def _keep(self, by_scan: bool, worth: float, n_rows: int) -> None:
        """Take it to hold for so many rows more."""
        self.by_scan, self._worth, self._rows_left = bool(by_scan), worth, n_rows
