"""The top of a tree: as much of it as a person can look at."""

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_spans
from ..table import NodeTable

Numbers = NDArray[np.int64]


class Truncated(NamedTuple):
    """The nodes that are shown, parents before children, the root first.

    Places in these arrays are not numbers of the table: `numbers` are.
    """

    table: NodeTable
    numbers: Numbers
    parents: Numbers
    """Places of parents; -1 at the root."""
    children: list[list[int]]
    """Places of the two children, or none where the tree is cut off."""
    order: Numbers
    """All points in the order of the tree: `order[start:start + size]` are those below a node."""
    starts: Numbers

    def members(self, place: int) -> Numbers:
        """The numbers of the points below a shown node."""
        start = int(self.starts[place])
        return self.order[start : start + int(self.table.sizes[self.numbers[place]])]

    def ends(self) -> Numbers:
        """For each point, the place of the shown node without shown children that holds it."""
        found = np.empty(self.table.n_points, np.int64)
        for place, below in enumerate(self.children):
            if not below:
                found[self.members(place)] = place
        return found

    @property
    def sizes(self) -> Numbers:
        return self.table.sizes[self.numbers]

    @property
    def heights(self) -> NDArray[np.float64]:
        return self.table.heights[self.numbers]


def truncated(table: NodeTable, branches: int) -> Truncated:
    """Open nodes from the root on, always the costliest (height x size).

    It ends with so many branches, shown nodes without shown children, or fewer if all are leaves.
    """
    closed = np.zeros(len(table.parents), bool)
    closed[table.leaves] = True
    costs = table.heights * table.sizes
    root = len(table.parents) - 1
    numbers, parents = [root], [-1]
    children: list[list[int]] = [[]]
    waiting = [(-costs[root], 0)]
    n_branches = 1
    while waiting and n_branches < branches:
        _, place = heapq.heappop(waiting)
        number = numbers[place]
        if closed[number]:
            continue
        n_branches += 1
        for child in table.children[number - table.n_points].tolist():
            children[place].append(len(numbers))
            heapq.heappush(waiting, (-costs[child], len(numbers)))
            numbers.append(child)
            parents.append(place)
            children.append([])
    order = np.empty(table.n_points, np.int64)
    starts = np.empty(len(table.parents), np.int64)
    find_spans(table.children, table.sizes, starts, order)
    shown = np.array(numbers)
    return Truncated(table, shown, np.array(parents), children, order, starts[shown])
