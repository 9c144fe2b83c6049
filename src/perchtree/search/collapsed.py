"""Exact search in collapsed mode, where leaves can be boxes and change with every insert."""

import functools
from collections.abc import Callable, Iterator

import numpy as np

from .. import _arrays
from .._kernels.astar import astar
from .._kernels.boxscan import Heads, scan_tiles
from .._kernels.numbering import node_rows
from .._kernels.revised import record_leaves, revise
from .._kernels.schema import (
    BOX_ROWS,
    DISTANCES,
    LEFT,
    N_LEAVES,
    NONE,
    POINT_ROWS,
    SCANNED,
    SIZE,
    AStar,
    Counts,
    Ints,
    Revised,
    Tree,
)
from .ahead import search_tree
from .costs import leaf_cost, prefers_scan
from .interface import SMALLEST, Finder, Leaves, Part, Rows, Search
from .threads import run_tasks

COLLAPSED_ROWS = 256
"""Rows searched together: each is compared with the leaves that have changed since."""

WORTH_REVISING = 4
"""How many times as many leaves as rows there must be for that to pay."""

SPARE = 3
"""Leaves found for a row beyond those asked for, in place of some that will have changed."""

TILE = 128
HEAD = 64
"""Leaves that many rows are compared with in turn, and features that are looked at first.

At d = 256, 20,000 leaves took 0.19 ms of processor time per row. Row by row, all boxes would be
read from memory each time. Products of rows and centres are no use: in high dimension half the
diagonal of a box is longer than most distances, and bounds nothing.
"""

Choice = Callable[[Tree, Rows, int, Counts], bool]
"""Whether to look at every leaf, instead of searching the tree by A*."""


def always(tree: Tree, rows: Rows, k: int, done: Counts) -> bool:
    return True


def never(tree: Tree, rows: Rows, k: int, done: Counts) -> bool:
    return False


def if_cheaper(tree: Tree, rows: Rows, k: int, done: Counts) -> bool:
    return prefers_scan(tree, rows, k, done, leaf_cost)


class CollapsedSearch(Search):
    """By A*, row by row, or for many rows ahead by looking at every leaf."""

    _memory: AStar | None = None

    def __init__(self, k: int, by_leaves: Choice) -> None:
        super().__init__(k)
        self._by_leaves = by_leaves

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        if self._memory is None or not _arrays.suits(self._memory, tree):
            self._memory = _arrays.make_astar(tree, self.k, done)
        while len(rows):
            n_leaves = int(tree.state[N_LEAVES])
            length = max(SMALLEST, min(COLLAPSED_ROWS, int(n_leaves / WORTH_REVISING)))
            part, rows = rows[:length], rows[length:]
            enough = SMALLEST <= len(part) <= n_leaves / WORTH_REVISING
            if enough and self._by_leaves(tree, part, self.k, done):
                yield Part(part, self._find_ahead(tree, part, done))
            else:
                yield Part(part, Finder(astar, self._memory))

    def _find_ahead(self, tree: Tree, rows: Rows, done: Counts) -> Finder:
        """Answers stand as long as their leaves are unchanged and no new leaf is nearer."""
        found = scan_leaves(tree, rows, self.k + SPARE, self.n_jobs, done)
        memory = Revised(
            found.distances,
            found.leaves,
            cursor=np.zeros(2, np.int64),
            changed=np.empty(2 * len(rows), np.int32),
            has_changed=np.zeros(len(tree.nodes), bool),
            again=_arrays.make_astar(tree, self.k, done),
            found=_arrays.make_found(self.k),
        )
        return Finder(revise, memory, record_leaves)

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        if len(rows) >= SMALLEST and self._by_leaves(tree, rows, k, done):
            return scan_leaves(tree, rows, k, self.n_jobs, done)
        return search_tree(tree, rows, astar, k, self.n_jobs, done)


def scan_leaves(tree: Tree, rows: Rows, k: int, n_jobs: int, done: Counts) -> Leaves:
    """The k nearest leaves of each row, by looking at all of them."""
    nodes, found = _leaves_of(tree), Leaves.unknown(len(rows), k)
    counts: list[int] = []

    def scan_part(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part, width = slice(first, first + length), min(HEAD, rows.shape[1])
        corners = np.zeros((2, width, TILE), np.float32)
        heads = Heads(corners[0], corners[1], np.empty(TILE, np.float32))
        counts.append(
            scan_tiles(tree, nodes, rows[part], heads, found.distances[part], found.leaves[part])
        )

    length = max(SMALLEST, -(-len(rows) // n_jobs))
    starts = range(0, len(rows), length)
    run_tasks([functools.partial(scan_part, start) for start in starts], n_jobs)
    done[DISTANCES] += sum(counts)
    done[SCANNED] += len(rows)
    return found


def _leaves_of(tree: Tree) -> Ints:
    """All leaves, those of most points first: large boxes are near most rows."""
    used = node_rows(int(tree.state[POINT_ROWS]), int(tree.state[BOX_ROWS]))
    sizes = np.where(tree.nodes[:used, LEFT] == NONE, tree.nodes[:used, SIZE], 0)
    leaves = np.flatnonzero(sizes).astype(np.int32)
    return leaves[np.argsort(-sizes[leaves], kind="stable")]
