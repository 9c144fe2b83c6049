"""The choice between A* and a scan, for rows that come in batches of any size."""

import numpy as np

from .. import _arrays
from .._kernels.rows import probe_rows
from .._kernels.schema import DISTANCES, N_LEAVES, Counts, Tree
from .axes import Axes
from .costs import distance_cost, product_cost, reduced_cost
from .images import FEW_ROWS
from .interface import Rows

TRIED = 32
"""A* is tried on one row in so many."""

SCAN_CALL = 300_000.0
"""What a scan costs beside the pairs, in nanoseconds: calls from Python."""


class Choice:
    """Remembers how A* did on the row that it was last tried on.

    Counted work decides, never clocks. A* is given up where it needs more distances than a scan for
    that row is worth, so trying costs little even where A* is hopeless.
    """

    def __init__(self) -> None:
        self._rows_left = 0
        self._worth = 0.0
        self._by_scan = False

    def prefers_scan(self, tree: Tree, rows: Rows, k: int, done: Counts, axes: Axes | None) -> bool:
        """Whether looking at all leaves is cheaper than A*."""
        n_leaves, n_rows = int(tree.state[N_LEAVES]), len(rows)
        if n_leaves == 0 or n_rows == 0:
            return True
        of_scan = SCAN_CALL / n_rows + n_leaves * scan_cost(axes, rows.shape[1], n_rows)
        worth = of_scan / distance_cost(rows.shape[1])
        if worth < 16:  # not even the descent to a leaf
            return True
        is_similar = self._worth / 1.5 < worth < self._worth * 1.5
        if n_rows > self._rows_left or not is_similar:
            memory = _arrays.make_astar(tree, k, _arrays.make_work())
            sample = np.ascontiguousarray(rows[::TRIED])
            probe_rows(tree, memory, sample, int(worth))
            done += memory.done
            self._by_scan = bool(memory.done[DISTANCES] > 0.7 * worth * len(sample))
            self._rows_left, self._worth = TRIED, worth
        self._rows_left -= n_rows
        return self._by_scan


def scan_cost(axes: Axes | None, n_features: int, n_rows: int) -> float:
    """What a scan costs per pair."""
    if axes is None:
        return product_cost(n_features, n_rows)
    return reduced_cost(axes.splits[n_rows > FEW_ROWS], axes.cost, n_rows)
