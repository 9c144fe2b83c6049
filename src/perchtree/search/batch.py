"""The nearest neighbours of each row of a batch, before any of it is inserted.

Without collapsing, they do not depend on the shape of the tree: they are the nearest among the
points in the tree and the rows before it. So they can be found by any exact method, for many
rows at once, on several threads; insertion stays sequential and comes out the same.
"""

import functools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels import modes
from .._kernels.copies import holds_copy
from .._kernels.prepared import probe_rows
from .._kernels.schema import (
    BY_ID,
    DISTANCES,
    FIRST,
    MAX_LEAVES,
    N_LEAVES,
    N_POINTS,
    NEAR,
    NODE,
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


def by_scan(tree: Tree, rows: NDArray[np.float32], k: int, n_jobs: int) -> Prepared:
    """Find neighbours by matrix products."""
    nearest = _scan_tree(tree, rows, k, n_jobs)
    tree.counts[DISTANCES] += nearest.computed
    tree.counts[PRODUCTS] += len(rows) * int(tree.counts[N_LEAVES])
    tree.counts[SCANNED] += len(rows)
    known = nearest.ranks >= 0
    ids = np.full(known.shape, NONE, np.int32)
    ids[known] = tree.nodes[2 * nearest.ranks[known], FIRST]
    return _with_earlier_rows(tree, rows, nearest.near, ids, n_jobs)


def by_astar(tree: Tree, rows: NDArray[np.float32], k: int, n_jobs: int) -> Prepared:
    """Find neighbours by A* in the tree as it stands, and by products among the rows."""
    distances, leaves = _search_tree(tree, rows, "astar", k, n_jobs)
    return _with_earlier_rows(tree, rows, distances[:, :, NEAR], leaves[:, :, BY_ID], n_jobs)


def _with_earlier_rows(
    tree: Tree,
    rows: NDArray[np.float32],
    near: NDArray[np.float32],
    ids: NDArray[np.int32],
    n_jobs: int,
) -> Prepared:
    """Add the rows before each row to the neighbours found in the tree."""
    n_points, k = int(tree.counts[N_POINTS]), ids.shape[1]
    own, original = _new_leaves(tree, rows, near[:, 0])
    among = scan(rows[own], rows[:0], k=k, earlier=True, n_jobs=n_jobs)
    tree.counts[DISTANCES] += among.computed
    tree.counts[PRODUCTS] += len(own) * (len(own) - 1) // 2
    their_ids = np.where(among.ranks >= 0, n_points + own[among.ranks], NONE)
    # Rows come after points: of neighbours at the same distance they are later.
    all_near = np.concatenate([near[own], among.near], axis=1)
    all_ids = np.concatenate([ids[own], their_ids], axis=1).astype(np.int32)
    best = np.argsort(all_near, axis=1, kind="stable")[:, :k]
    near[own] = np.take_along_axis(all_near, best, axis=1)
    ids[own] = np.take_along_axis(all_ids, best, axis=1)
    copies = np.flatnonzero(original != np.arange(len(rows)))
    near[copies, 0] = 0
    ids[copies, 0] = n_points + original[copies]
    return Prepared(
        np.ascontiguousarray(ids),
        np.ascontiguousarray(near),
        cursor=np.array([_first_row(tree)]),
        found=_arrays.make_found(k),
    )


def _new_leaves(
    tree: Tree, rows: NDArray[np.float32], nearest: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that will have a leaf of their own, and for each row the first one equal to it.

    Neighbours are leaves, so a copy must not count as another one; nor need it be searched for.
    """
    whole = np.ascontiguousarray(rows + np.float32(0))  # -0.0 equals 0.0
    keys = whole.view(np.dtype((np.void, whole.strides[0]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    original = first[group.ravel()]
    is_copy = original != np.arange(len(rows))
    for row in np.flatnonzero((nearest == 0) & ~is_copy).tolist():
        is_copy[row] = holds_copy(tree, rows[row])
    in_tree = is_copy[original]
    return np.flatnonzero(~is_copy), np.where(in_tree, np.arange(len(rows)), original)


def to_revise(tree: Tree, rows: NDArray[np.float32], n_jobs: int) -> Revised:
    """Find leaves, points or boxes, by looking at all of them in the tree as it stands."""
    distances, leaves = _search_tree(tree, rows, "leaves", 1, n_jobs)
    return Revised(
        np.ascontiguousarray(distances[:, 0]),
        np.ascontiguousarray(leaves[:, 0]),
        cursor=np.array([_first_row(tree), 0]),
        changed=np.empty(2 * len(rows), np.int32),
        has_changed=np.zeros(len(tree.nodes), bool),
        again=_arrays.make_astar(tree),
        found=_arrays.make_found(1),
    )


def _search_tree(
    tree: Tree, rows: NDArray[np.float32], search: str, k: int, n_jobs: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The k nearest leaves of each row, (rows, k, 2) as in `Found`, on several threads."""
    distances = np.full((len(rows), k, 2), np.inf, np.float32)
    leaves = np.full((len(rows), k, 2), NONE, np.int32)
    search_rows = modes.rows_kernel(search)
    counts = []

    def search_part(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + _TASK_ROWS)
        own = tree._replace(counts=tree.counts.copy())
        search_rows(own, _arrays.make_astar(tree, k), rows[part], distances[part], leaves[part])
        counts.append(own.counts - tree.counts)

    if tree.counts[N_POINTS] > 0:
        starts = range(0, len(rows), _TASK_ROWS)
        run_tasks([functools.partial(search_part, start) for start in starts], n_jobs)
        tree.counts[:] += sum(counts)
    return distances, leaves


def prepared_parts(
    tree: Tree, rows: NDArray[np.float32], search: str, k: int, n_jobs: int
) -> Iterator[tuple[NDArray[np.float32], str | Prepared]]:
    """Split rows into parts, each with its neighbours or the search to use in the current tree.

    A part must be inserted before the next is asked for.
    """
    if len(rows) < SMALLEST:
        yield rows, "astar"
    elif search == "scan" or (search == "auto" and prefers_scan(tree, rows, k, product_cost)):
        yield rows, by_scan(tree, rows, k, n_jobs)
    elif n_jobs == 1:
        yield rows, "astar"
    else:
        for first in range(0, len(rows), _ASTAR_ROWS):
            part = rows[first : first + _ASTAR_ROWS]
            yield part, by_astar(tree, part, k, n_jobs)


def collapsed_parts(
    tree: Tree, rows: NDArray[np.float32], search: str, k: int, n_jobs: int
) -> Iterator[tuple[NDArray[np.float32], str | Revised]]:
    """The same where leaves can be boxes, and change with every insert.

    Only the one nearest leaf can be found ahead.
    """
    for first in range(0, len(rows), _COLLAPSED_ROWS):
        part = rows[first : first + _COLLAPSED_ROWS]
        by_leaves = search == "scan"
        if search == "auto" and len(part) >= SMALLEST:
            by_leaves = prefers_scan(tree, part, k, leaf_cost)
        method = "leaves" if by_leaves else "astar"
        worth = by_leaves and tree.counts[N_LEAVES] >= _WORTH_REVISING * len(part)
        if n_jobs == 1 or k > 1 or len(part) < SMALLEST or not worth:
            yield part, method
        else:
            yield part, to_revise(tree, part, n_jobs)


def prefers_scan(
    tree: Tree, rows: NDArray[np.float32], k: int, cost_of_leaf: Callable[[int, int], float]
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
    probe_rows(own, _arrays.make_astar(tree, k), sample, int(worth))
    work = own.counts - tree.counts
    tree.counts[:] += work
    return bool(work[DISTANCES] > 0.7 * worth * len(sample))


def nearest_leaves(
    tree: Tree, rows: NDArray[np.float32], search: str, k: int, n_jobs: int
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The k nearest leaves of each row in the tree as it stands, (rows, k, 2) as in `Found`."""
    can_scan = tree.counts[MAX_LEAVES] == NONE and len(rows) >= SMALLEST and search != "astar"
    if not can_scan or (search != "scan" and not prefers_scan(tree, rows, k, product_cost)):
        return _search_tree(tree, rows, "astar", k, n_jobs)
    nearest = _scan_tree(tree, rows, k, n_jobs)
    distances = np.repeat(nearest.near[:, :, np.newaxis], 2, axis=2)
    leaves = np.full((*nearest.ranks.shape, 2), NONE, np.int32)
    known = nearest.ranks >= 0
    leaves[known, NODE] = 2 * nearest.ranks[known]
    leaves[known, BY_ID] = tree.nodes[leaves[known, NODE], FIRST]
    return distances, leaves


def _scan_tree(tree: Tree, rows: NDArray[np.float32], k: int, n_jobs: int) -> Nearest:
    """Scan all leaves. Without collapsing, row r of `points` is the r-th leaf that was made."""
    n_leaves = int(tree.counts[N_LEAVES])
    return scan(rows, tree.points[:n_leaves], _bounds(tree), k=k, n_jobs=n_jobs)


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


def _first_row(tree: Tree) -> int:
    """The first row that is searched for: the first point of all has no neighbour."""
    return int(tree.counts[N_POINTS] == 0)
