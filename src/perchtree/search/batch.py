"""The nearest neighbour of each row of a batch, before any of it is inserted.

Without collapsing, that neighbour does not depend on the shape of the tree: it is the nearest
among the points in the tree and the rows before it. So it can be found by any exact method, for
many rows at once, on several threads; insertion stays sequential and comes out the same.
"""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.prepared import probe_rows, search_rows
from .._kernels.schema import (
    DISTANCES,
    EXPANSIONS,
    FIRST,
    N_LEAVES,
    N_POINTS,
    NONE,
    PRODUCTS,
    ROOT,
    SCANNED,
    Prepared,
    Tree,
)
from .scan import Nearest, scan
from .threads import run_tasks

LARGEST_ROWS = 4096
LARGEST_VALUES = 2**23
"""Rows searched together, and values in them."""

SMALLEST = 32
"""Fewer rows are not worth it: they are searched one by one, in the current tree."""

_ASTAR_ROWS = 256
"""Rows a thread takes at a time in an A* search."""


def by_scan(tree: Tree, rows: NDArray[np.float32], n_jobs: int) -> Prepared:
    """Find neighbours by matrix products."""
    n_leaves = int(tree.counts[N_LEAVES])
    nearest = scan(rows, tree.points[:n_leaves], _bounds(tree), earlier=True, n_jobs=n_jobs)
    tree.counts[DISTANCES] += nearest.computed
    tree.counts[PRODUCTS] += len(rows) * n_leaves + len(rows) * (len(rows) - 1) // 2
    tree.counts[SCANNED] += len(rows)
    return _prepared(tree, _ids(tree, nearest), nearest.near[:, 0])


def by_astar(tree: Tree, rows: NDArray[np.float32], n_jobs: int) -> Prepared:
    """Find neighbours by A* in the tree as it stands, and by products among the rows."""
    ids = np.full(len(rows), NONE, np.int32)
    near = np.full(len(rows), np.inf, np.float32)
    counts = []

    def search(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + _ASTAR_ROWS)
        own = tree._replace(counts=tree.counts.copy())
        search_rows(own, _arrays.make_astar(tree), rows[part], ids[part], near[part])
        counts.append(own.counts - tree.counts)

    if tree.counts[N_POINTS] > 0:
        starts = range(0, len(rows), _ASTAR_ROWS)
        run_tasks([functools.partial(search, start) for start in starts], n_jobs)
        tree.counts[:] += sum(counts)
    among = scan(rows, rows[:0], earlier=True, n_jobs=n_jobs)
    tree.counts[DISTANCES] += among.computed
    tree.counts[PRODUCTS] += len(rows) * (len(rows) - 1) // 2
    earlier = among.near[:, 0] < near
    ids[earlier] = int(tree.counts[N_POINTS]) + among.ranks[earlier, 0]
    near[earlier] = among.near[earlier, 0]
    return _prepared(tree, ids, near)


def prefers_scan(tree: Tree, rows: NDArray[np.float32]) -> bool:
    """Whether products are cheaper than A* for these rows: from counted work, never clocks.

    A* is tried on a few of the rows, and given up where it needs more distances than the
    products of that row are worth. So trying costs little even where A* is hopeless.
    """
    n_leaves, n_features = int(tree.counts[N_LEAVES]), rows.shape[1]
    worth = n_leaves * product_cost(n_features) / distance_cost(n_features)
    sample = rows[:: max(1, len(rows) // 32)]
    if worth < 16:  # not even the way down to a leaf
        return True
    own = tree._replace(counts=tree.counts.copy())
    probe_rows(own, _arrays.make_astar(tree), np.ascontiguousarray(sample), int(worth))
    work = own.counts - tree.counts
    tree.counts[[DISTANCES, EXPANSIONS]] += work[[DISTANCES, EXPANSIONS]]
    return bool(work[DISTANCES] > 0.7 * worth * len(sample))


def product_cost(n_features: int) -> float:
    """Nanoseconds for one pair in a scan, from d = 16 (0.6) to 2,048 (41): one core, measured."""
    return 0.3 + 0.0195 * n_features


def distance_cost(n_features: int) -> float:
    """Nanoseconds for one distance in an A* search, with all that belongs to it, measured."""
    return 70.0 + 0.3 * n_features


def _bounds(tree: Tree) -> NDArray[np.float32] | None:
    root = int(tree.counts[ROOT])
    if root < 0:
        return None
    return tree.boxes[root // 2] if root % 2 else np.stack([tree.points[root // 2]] * 2)


def _ids(tree: Tree, nearest: Nearest) -> NDArray[np.int32]:
    """Ids of the places that a scan found: the smallest of a leaf, or those to be given."""
    n_leaves = int(tree.counts[N_LEAVES])
    ranks = nearest.ranks[:, 0]
    ids = int(tree.counts[N_POINTS]) + ranks - n_leaves
    known = (ranks >= 0) & (ranks < n_leaves)
    ids[known] = tree.nodes[2 * ranks[known], FIRST]
    return ids.astype(np.int32)


def _prepared(tree: Tree, ids: NDArray[np.int32], near: NDArray[np.float32]) -> Prepared:
    first = 1 if tree.counts[N_POINTS] == 0 else 0  # the first point of all has no neighbour
    cursor = np.full(1, first, np.int64)
    return Prepared(ids, np.ascontiguousarray(near), cursor, _arrays.make_found(1))
