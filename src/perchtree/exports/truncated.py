"""The top of a tree: as much of it as a person can look at."""

import heapq
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

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
        """The points below a shown node."""
        start = int(self.starts[place])
        return self.order[start : start + int(self.sizes[place])]

    @property
    def sizes(self) -> Numbers:
        return self.table.sizes[self.numbers]

    @property
    def heights(self) -> NDArray[np.float64]:
        return self.table.heights[self.numbers]


def truncated(table: NodeTable, max_leaves: int) -> Truncated:
    """Open nodes, from the root on, always the one of the largest cost: height x size."""
    closed = np.zeros(len(table.parents), bool)
    closed[table.leaves] = True
    costs = table.heights * table.sizes
    root = len(table.parents) - 1
    numbers, parents = [root], [-1]
    children: list[list[int]] = [[]]
    waiting = [(-costs[root], 0)]
    n_leaves = 1
    while waiting and n_leaves < max_leaves:
        _, place = heapq.heappop(waiting)
        number = numbers[place]
        if closed[number]:
            continue
        n_leaves += 1
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


def as_json(top: Truncated, names: Sequence[Any] | None) -> str:
    """A list of nodes, parents first: node, parent, size, height, and for small ones points."""
    nodes = []
    for place, number in enumerate(top.numbers.tolist()):
        node: dict[str, Any] = {
            "node": number,
            "parent": int(top.table.parents[number]) if place else None,
            "size": int(top.sizes[place]),
            "height": float(top.heights[place]),
        }
        if not top.children[place]:
            ids = np.sort(top.members(place))[:10].tolist()
            node["points"] = ids if names is None else [_plain(names[i]) for i in ids]
        nodes.append(node)
    return json.dumps({"n_points": top.table.n_points, "nodes": nodes}, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
