"""Exact search in collapsed mode, where leaves can be boxes and change with every insert."""

from collections.abc import Callable, Iterator

import numpy as np

from .. import _arrays
from .._kernels.astar import astar
from .._kernels.boxscan import scan_leaves
from .._kernels.revised import record_leaves, revise
from .._kernels.schema import N_LEAVES, AStar, Counts, Revised, Tree
from .ahead import first_row, search_tree
from .costs import leaf_cost, prefers_scan
from .interface import SMALLEST, Finder, Leaves, Part, Rows, Search

COLLAPSED_ROWS = 256
"""Rows searched together: each is compared with the leaves that have changed since."""

WORTH_REVISING = 4
"""How many times as many leaves there must be for that to pay."""

Choice = Callable[[Tree, Rows, int, Counts], bool]
"""Whether to look at every leaf, instead of searching the tree by A*."""


def always(tree: Tree, rows: Rows, k: int, done: Counts) -> bool:
    return True


def never(tree: Tree, rows: Rows, k: int, done: Counts) -> bool:
    return False


def if_cheaper(tree: Tree, rows: Rows, k: int, done: Counts) -> bool:
    return len(rows) >= SMALLEST and prefers_scan(tree, rows, k, done, leaf_cost)


class CollapsedSearch(Search):
    """By A* or by looking at every leaf. With one neighbour, leaves can be found ahead."""

    _memory: AStar | None = None

    def __init__(self, k: int, by_leaves: Choice) -> None:
        super().__init__(k)
        self._by_leaves = by_leaves

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        if self._memory is None or not _arrays.suits(self._memory, tree):
            self._memory = _arrays.make_astar(tree, self.k, done)
        for first in range(0, len(rows), COLLAPSED_ROWS):
            part = rows[first : first + COLLAPSED_ROWS]
            by_leaves = self._by_leaves(tree, part, self.k, done)
            ahead = by_leaves and self.n_jobs > 1 and self.k == 1 and len(part) >= SMALLEST
            if ahead and tree.state[N_LEAVES] >= WORTH_REVISING * len(part):
                yield Part(part, self._find_ahead(tree, part, done))
            else:
                yield Part(part, Finder(scan_leaves if by_leaves else astar, self._memory))

    def _find_ahead(self, tree: Tree, rows: Rows, done: Counts) -> Finder:
        """An answer stands as long as its leaf is unchanged and no new leaf is nearer."""
        found = search_tree(tree, rows, scan_leaves, 1, self.n_jobs, done)
        memory = Revised(
            np.ascontiguousarray(found.distances[:, 0]),
            np.ascontiguousarray(found.leaves[:, 0]),
            cursor=np.append(first_row(tree), 0),
            changed=np.empty(2 * len(rows), np.int32),
            has_changed=np.zeros(len(tree.nodes), bool),
            again=_arrays.make_astar(tree, 1, done),
            found=_arrays.make_found(1),
        )
        return Finder(revise, memory, record_leaves)

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return search_tree(tree, rows, astar, k, self.n_jobs, done)
