"""The tree as boxes to draw: one row for each time that a part has half as many points.

A box is a chain of merges of one binary order of size, such as 512 to 1,023 points: of the two
parts of a merge at most one can be of the same order, so a chain never forks. Whatever splits off
along it, and the two parts at its end, are drawn below it, side by side. So a tree of n points has
at most log2(n) + 1 rows, also where single points split off one after the other, which in a binary
picture would take thousands.

Boxes of one order never overlap: those in view are found by bisection.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_spans
from .._kernels.schema import NONE
from ..table import NodeTable

Numbers = NDArray[np.int64]


class Runs(NamedTuple):
    """A clustering along the order of the tree: where the cluster changes."""

    starts: Numbers
    labels: Numbers

    def labels_within(self, starts: Numbers, ends: Numbers) -> Numbers:
        """The cluster that each span of points lies in; -1 if it has parts of several."""
        places = np.searchsorted(self.starts, starts, "right") - 1
        last = np.append(self.starts[1:], np.iinfo(np.int64).max)[places]
        return np.where(ends <= last, self.labels[places], NONE)


class Boxes:
    """The boxes of a tree, from the largest order down, each order from left to right.

    Parts of a box are in the order of their smallest ids: a point that is added moves nothing
    that is to the left of it.

    Attributes
    ----------
    order : int64 (n,)
        The number of the point at each position, from left to right.
    positions : int64 (n,)
        The position of each point.
    numbers : int64 (n_boxes,)
        The top of each chain, in the numbering of the table.
    starts, sizes, levels : int64 (n_boxes,)
        First position, number of points, and row of each box.
    edges : int64 (orders + 2,)
        Where the boxes of each order end: those of order k are from `edges[k + 1]` to `edges[k]`.
        The last order is 1: single points have no box.
    """

    def __init__(self, table: NodeTable) -> None:
        self.table, n_points = table, table.n_points
        firsts = table.smallest[table.children]
        children = np.take_along_axis(table.children, firsts.argsort(axis=1), axis=1)
        self.order = np.empty(n_points, np.int64)
        spans = np.empty(len(table.parents), np.int64)
        find_spans(children, table.sizes, spans, self.order)
        self.positions = spans[:n_points]
        orders = orders_of(table.sizes)
        above = np.append(orders[table.parents[:-1]], NONE)  # the root has nothing above it
        numbers = np.flatnonzero((orders != above) & (orders > 0))
        numbers = numbers[np.lexsort((spans[numbers], -orders[numbers]))]
        self.numbers, self.starts, self.sizes = numbers, spans[numbers], table.sizes[numbers]
        n_orders = int(orders[-1]) + 1
        self.edges = np.searchsorted(-orders[numbers], -np.arange(n_orders + 1) + 1, "left")
        self.levels, self.parents = self._placed(above[numbers])

    def _placed(self, above: Numbers) -> tuple[Numbers, Numbers]:
        """The row of each box, and the box above it, given the orders of merges above boxes."""
        levels = np.zeros(len(self.numbers), np.int64)
        parents = np.full(len(self.numbers), NONE, np.int64)
        for k in range(len(self.edges) - 2, 0, -1):
            own = np.arange(self.edges[k + 1], self.edges[k])
            for order in np.unique(above[own]).tolist():
                if order != NONE:
                    some = own[above[own] == order]
                    parents[some] = self._holding(order, self.starts[some])
                    levels[some] = levels[parents[some]] + 1
        return levels, parents

    def _holding(self, order: int, positions: Numbers) -> Numbers:
        """The last box of an order that begins at or before each position."""
        low, high = int(self.edges[order + 1]), int(self.edges[order])
        return np.searchsorted(self.starts[low:high], positions, "right") + (low - 1)

    @property
    def n_orders(self) -> int:
        """The orders that there are, that of single points included."""
        return len(self.edges) - 1

    @functools.cached_property
    def heights(self) -> NDArray[np.float64]:
        return self.table.heights[self.numbers]

    @functools.cached_property
    def firsts(self) -> Numbers:
        """The smallest id in each box."""
        return self.table.ids[self.order[self.starts]]

    def within(self, left: int, right: int, smallest: int) -> Numbers:
        """Boxes of at least this many points that have some from `left` up to `right`."""
        found = []
        for order in range(self.n_orders - 1, max(int(orders_of(np.array(smallest))), 1) - 1, -1):
            low, high = int(self.edges[order + 1]), int(self.edges[order])
            first, last = low + np.searchsorted(self.starts[low:high], [left, right])
            if first > low and self.starts[first - 1] + self.sizes[first - 1] > left:
                first -= 1
            found.append(np.arange(first, last))
        boxes: Numbers = np.concatenate(found) if found and left < right else np.empty(0, np.int64)
        return boxes[self.sizes[boxes] >= smallest]

    def holding(self, position: int, order: int) -> int | None:
        """The box of an order that holds a position; None if there is none."""
        if not 1 <= order < self.n_orders or self.edges[order + 1] == self.edges[order]:
            return None
        box = int(self._holding(order, np.array(position)))
        low = int(self.edges[order + 1])
        is_inside = box >= low and position < self.starts[box] + self.sizes[box]
        return box if is_inside else None

    def path(self, position: int) -> list[int]:
        """The boxes that hold a position, from the root down."""
        held = (self.holding(position, order) for order in range(self.n_orders - 1, 0, -1))
        return [box for box in held if box is not None]

    def runs(self, labels: Numbers) -> Runs:
        """A clustering of all points along the order of the tree."""
        ordered = labels[self.order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        return Runs(starts, ordered[starts])


def orders_of(sizes: Numbers) -> Numbers:
    """Binary orders: 0 for 1, 1 for 2 and 3, 2 for 4 to 7, ..."""
    return (np.frexp(sizes.astype(np.float64))[1] - 1).astype(np.int64)
