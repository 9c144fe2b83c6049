"""Exact searches in trees whose leaves are points: A*, matrix products, and the cheaper of both.

All give the same answers, ties included, and so the same tree.
"""

from collections.abc import Iterator

import numpy as np

from .. import _arrays
from .._kernels.astar import astar
from .._kernels.measure import measure_bounds
from .._kernels.numbering import point_node
from .._kernels.schema import (
    BY_ID,
    DISTANCES,
    FIRST,
    LEAF,
    N_LEAVES,
    NEAR,
    NODE,
    NONE,
    POINT_ROWS,
    PRODUCTS,
    ROOT,
    SCANNED,
    AStar,
    Counts,
    Tree,
)
from .ahead import find_ahead, search_tree
from .costs import prefers_scan, product_cost
from .interface import SMALLEST, Finder, Leaves, Part, Rows, Search
from .products import Nearest, Points, scan_points

ASTAR_ROWS = 1024
"""Rows searched together by A*: each is compared with all before it, too."""


class AStarSearch(Search):
    """A* in the tree (section 4.3): best where boxes are tight."""

    _memory: AStar | None = None

    def finder(self, tree: Tree, done: Counts) -> Finder:
        """Search for rows one by one, in the tree as it is when each is inserted."""
        if self._memory is None or not _arrays.suits(self._memory, tree):
            self._memory = _arrays.make_astar(tree, self.k, done)
        return Finder(astar, self._memory)

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        if len(rows) < SMALLEST or self.n_jobs == 1:
            yield Part(rows, self.finder(tree, done))
            return
        for first in range(0, len(rows), ASTAR_ROWS):
            part = rows[first : first + ASTAR_ROWS]
            found = search_tree(tree, part, astar, self.k, self.n_jobs, done)
            near = np.ascontiguousarray(found.distances[:, :, NEAR])
            ids = np.ascontiguousarray(found.leaves[:, :, BY_ID])
            yield Part(part, find_ahead(tree, part, near, ids, self.n_jobs, done))

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return search_tree(tree, rows, astar, k, self.n_jobs, done)


class ScanSearch(Search):
    """Every row against every point, by matrix products: best in high dimension."""

    def __init__(self, k: int, n_jobs: int = 1) -> None:
        super().__init__(k, n_jobs)
        self._few = AStarSearch(k)

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        if len(rows) < SMALLEST:
            yield from self._few.parts(tree, rows, done)
            return
        found = _scan(tree, rows, self.k, self.n_jobs)
        done[DISTANCES] += found.computed
        done[PRODUCTS] += len(rows) * int(tree.state[N_LEAVES])
        done[SCANNED] += len(rows)
        yield Part(rows, find_ahead(tree, rows, found.near, found.ids, self.n_jobs, done))

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        if len(rows) < SMALLEST:
            return self._few.nearest(tree, rows, k, done)
        found = _scan(tree, rows, k, self.n_jobs)
        leaves = np.full((*found.ids.shape, 2), NONE, np.int32)
        known = found.ids != NONE
        leaves[known, BY_ID] = found.ids[known]
        leaves[known, NODE] = tree.ids[found.ids[known], LEAF]
        return Leaves(np.repeat(found.near[:, :, np.newaxis], 2, axis=2), leaves)


class AutoSearch(Search):
    """For each batch, the cheaper of the two, told by trying A* on a few rows."""

    def __init__(self, k: int, n_jobs: int = 1) -> None:
        super().__init__(k, n_jobs)
        self._astar, self._scan = AStarSearch(k), ScanSearch(k)

    def _choice(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Search:
        by_scan = len(rows) >= SMALLEST and prefers_scan(tree, rows, k, done, product_cost)
        chosen = self._scan if by_scan else self._astar
        chosen.n_jobs = self.n_jobs
        return chosen

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        return self._choice(tree, rows, self.k, done).parts(tree, rows, done)

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return self._choice(tree, rows, k, done).nearest(tree, rows, k, done)


def _scan(tree: Tree, rows: Rows, k: int, n_jobs: int) -> Nearest:
    n_rows = int(tree.state[POINT_ROWS])
    leaves = point_node(np.arange(n_rows))
    points = Points(tree.points[:n_rows], np.ascontiguousarray(tree.nodes[leaves, FIRST]))
    if 2 * int(tree.state[N_LEAVES]) < n_rows:  # after removals most rows are free: leave them out
        living = np.flatnonzero(points.ids != NONE)
        points = Points(points.rows[living], points.ids[living])
    bounds = None
    if tree.state[ROOT] != NONE:
        bounds = np.empty((2, rows.shape[1]), np.float32)
        measure_bounds(tree, bounds)
    return scan_points(rows, points, bounds, k, n_jobs)
