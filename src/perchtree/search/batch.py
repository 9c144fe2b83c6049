"""The nearest neighbour of each row of a batch, before any of it is inserted.

Without collapsing, that neighbour does not depend on the shape of the tree: it is the nearest
among the points in the tree and the rows before it. So it can be found by any exact method, for
many rows at once, on several threads; insertion stays sequential and comes out the same.
"""

import functools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels import modes
from .._kernels.nearest import nearest_rows, points_of_leaves
from .._kernels.prepared import probe_rows
from .._kernels.schema import (
    BY_ID,
    DISTANCES,
    FIRST,
    MAX_LEAVES,
    N_LEAVES,
    N_POINTS,
    NEAR,
    NONE,
    PRODUCTS,
    ROOT,
    SCANNED,
    Prepared,
    Revised,
    Tree,
)
from .scan import Nearest, scan
from .threads import run_tasks

LARGEST_ROWS = 4096
LARGEST_VALUES = 2**23
"""Rows searched together, and values in them."""

SMALLEST = 32
"""Fewer rows are not worth it: they are searched one by one, in the current tree."""

_ASTAR_ROWS = 1024
"""Rows searched together by A*: each is compared with all before it, too."""

_COLLAPSED_ROWS = 256
"""Rows searched together in collapsed mode: each is compared with the leaves changed since."""

_WORTH_REVISING = 4
"""How many times as many leaves there must be for that to pay."""

_TASK_ROWS = 128
"""Rows a thread takes at a time."""


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
    distances, leaves = _search_tree(tree, rows, "astar", n_jobs)
    near, ids = distances[:, NEAR], leaves[:, BY_ID]
    among = scan(rows, rows[:0], earlier=True, n_jobs=n_jobs)
    tree.counts[DISTANCES] += among.computed
    tree.counts[PRODUCTS] += len(rows) * (len(rows) - 1) // 2
    earlier = among.near[:, 0] < near
    ids[earlier] = int(tree.counts[N_POINTS]) + among.ranks[earlier, 0]
    near[earlier] = among.near[earlier, 0]
    return _prepared(tree, ids, near)


def to_revise(tree: Tree, rows: NDArray[np.float32], n_jobs: int) -> Revised:
    """Find leaves, points or boxes, by looking at all of them in the tree as it stands."""
    distances, leaves = _search_tree(tree, rows, "leaves", n_jobs)
    return Revised(
        distances,
        leaves,
        cursor=np.array([_first_row(tree), 0]),
        changed=np.empty(2 * len(rows), np.int32),
        has_changed=np.zeros(len(tree.nodes), bool),
        again=_arrays.make_astar(tree),
        found=_arrays.make_found(1),
    )


def _search_tree(
    tree: Tree, rows: NDArray[np.float32], search: str, n_jobs: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The nearest leaf of each row, on several threads."""
    distances = np.full((len(rows), 2), np.inf, np.float32)
    leaves = np.full((len(rows), 2), NONE, np.int32)
    search_rows = modes.rows_kernel(search)
    counts = []

    def search_part(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + _TASK_ROWS)
        own = tree._replace(counts=tree.counts.copy())
        search_rows(own, _arrays.make_astar(tree), rows[part], distances[part], leaves[part])
        counts.append(own.counts - tree.counts)

    if tree.counts[N_POINTS] > 0:
        starts = range(0, len(rows), _TASK_ROWS)
        run_tasks([functools.partial(search_part, start) for start in starts], n_jobs)
        tree.counts[:] += sum(counts)
    return distances, leaves


def prepared_parts(
    tree: Tree, rows: NDArray[np.float32], search: str, n_jobs: int
) -> Iterator[tuple[NDArray[np.float32], str | Prepared]]:
    """Split rows into parts, each with its neighbours or the search to use in the current tree.

    A part must be inserted before the next is asked for.
    """
    if len(rows) < SMALLEST:
        yield rows, "astar"
    elif search == "scan" or (search == "auto" and prefers_scan(tree, rows, product_cost)):
        yield rows, by_scan(tree, rows, n_jobs)
    elif n_jobs == 1:
        yield rows, "astar"
    else:
        for first in range(0, len(rows), _ASTAR_ROWS):
            part = rows[first : first + _ASTAR_ROWS]
            yield part, by_astar(tree, part, n_jobs)


def collapsed_parts(
    tree: Tree, rows: NDArray[np.float32], search: str, n_jobs: int
) -> Iterator[tuple[NDArray[np.float32], str | Revised]]:
    """The same where leaves can be boxes, and change with every insert."""
    for first in range(0, len(rows), _COLLAPSED_ROWS):
        part = rows[first : first + _COLLAPSED_ROWS]
        by_leaves = search == "scan"
        if search == "auto" and len(part) >= SMALLEST:
            by_leaves = prefers_scan(tree, part, leaf_cost)
        method = "leaves" if by_leaves else "astar"
        worth = by_leaves and tree.counts[N_LEAVES] >= _WORTH_REVISING * len(part)
        if n_jobs == 1 or len(part) < SMALLEST or not worth:
            yield part, method
        else:
            yield part, to_revise(tree, part, n_jobs)


def prefers_scan(
    tree: Tree, rows: NDArray[np.float32], cost_of_leaf: Callable[[int, int], float]
) -> bool:
    """Whether looking at all leaves is cheaper than A*: from counted work, never clocks.

    A* is tried on a few of the rows, and given up where it needs more distances than a scan
    for that row is worth. So trying costs little even where A* is hopeless.
    """
    n_leaves, n_features = int(tree.counts[N_LEAVES]), rows.shape[1]
    worth = n_leaves * cost_of_leaf(n_features, len(rows)) / distance_cost(n_features)
    if worth < 16:  # not even the way down to a leaf
        return True
    sample = np.ascontiguousarray(rows[::32])
    own = tree._replace(counts=tree.counts.copy())
    probe_rows(own, _arrays.make_astar(tree), sample, int(worth))
    work = own.counts - tree.counts
    tree.counts[:] += work
    return bool(work[DISTANCES] > 0.7 * worth * len(sample))


def nearest_points(
    tree: Tree,
    rows: NDArray[np.float32],
    search: str,
    n_jobs: int,
    ids: NDArray[np.int64],
    squared: NDArray[np.float32],
) -> None:
    """The k nearest points of each row: `ids` (rows, k) and `squared` distances (rows, k, 2)."""
    n_leaves = int(tree.counts[N_LEAVES])
    k = min(ids.shape[1], n_leaves)
    can_scan = tree.counts[MAX_LEAVES] == NONE and len(rows) >= SMALLEST and search != "astar"
    if can_scan and (search == "scan" or prefers_scan(tree, rows, product_cost)):
        nearest = scan(rows, tree.points[:n_leaves], _bounds(tree), k=k, n_jobs=n_jobs)
        leaves = (2 * nearest.ranks).astype(np.int32)
        points_of_leaves(tree, leaves, nearest.near, ids, squared)
        return

    def search_part(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + _TASK_ROWS)
        own = tree._replace(counts=tree.counts.copy())
        nearest_rows(own, _arrays.make_astar(tree, k), rows[part], ids[part], squared[part])

    starts = range(0, len(rows), _TASK_ROWS)
    run_tasks([functools.partial(search_part, start) for start in starts], n_jobs)


def product_cost(n_features: int, n_rows: int) -> float:
    """Nanoseconds for one pair in a scan by products: 0.6 at d = 16, 41 at 2,048 (measured).

    Besides, every point is read and centred once for all rows: a small batch pays more for that
    (the last term, estimated from memory bandwidth, not measured).
    """
    return 0.3 + 0.0195 * n_features + n_features / n_rows


def leaf_cost(n_features: int, n_rows: int) -> float:
    """Nanoseconds for one leaf in a scan of boxes: 15 at d = 54, 35 at 384 (measured)."""
    return 12.0 + 0.06 * n_features


def distance_cost(n_features: int) -> float:
    """Nanoseconds for one distance in an A* search: 66 at d = 54, 285 at 784 (measured)."""
    return 50.0 + 0.3 * n_features


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
    cursor = np.array([_first_row(tree)])
    ids, near = np.ascontiguousarray(ids), np.ascontiguousarray(near)
    return Prepared(ids, near, cursor, _arrays.make_found(1))


def _first_row(tree: Tree) -> int:
    """The first row that is searched for: the first point of all has no neighbour."""
    return int(tree.counts[N_POINTS] == 0)
