"""Neighbours of a whole batch, found before any of it is inserted.

Without collapsing, they do not depend on the shape of the tree: they are the nearest among the
points in the tree and the rows before. So they can be found by any exact method, for many rows
at once, on several threads; insertion stays sequential and comes out the same.
"""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.copies import holds_copy
from .._kernels.modes import Search as Kernel
from .._kernels.modes import rows_kernel
from .._kernels.prepared import look_up
from .._kernels.scan import merge_answers
from .._kernels.schema import DISTANCES, NEXT_ID, NONE, PRODUCTS, ROOT, Counts, Prepared, Tree
from .interface import Finder, Leaves, Rows
from .products import Points, scan_earlier
from .threads import run_tasks

_TASK_ROWS = 128
"""Rows that a thread takes at a time."""


def search_tree(
    tree: Tree, rows: Rows, kernel: Kernel, k: int, n_jobs: int, done: Counts
) -> Leaves:
    """The k nearest leaves of each row, by a search in the tree as it is, on several threads."""
    found = Leaves.unknown(len(rows), k)
    search_rows = rows_kernel(kernel)
    counts = []

    def search_part(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + _TASK_ROWS)
        memory = _arrays.make_astar(tree, k, _arrays.make_work())
        search_rows(tree, memory, rows[part], found.distances[part], found.leaves[part])
        counts.append(memory.done)

    if tree.state[ROOT] != NONE:
        starts = range(0, len(rows), _TASK_ROWS)
        run_tasks([functools.partial(search_part, start) for start in starts], n_jobs)
        done += sum(counts)
    return found


def find_ahead(
    tree: Tree,
    rows: Rows,
    near: NDArray[np.float32],
    ids: NDArray[np.int32],
    n_jobs: int,
    done: Counts,
) -> Finder:
    """Add the rows before each row to its neighbours in the tree, `near` and `ids` (rows, k)."""
    next_id, k = int(tree.state[NEXT_ID]), ids.shape[1]
    own, original = _new_leaves(tree, rows, near[:, 0])
    among = scan_earlier(Points(rows[own], (next_id + own).astype(np.int32)), k, n_jobs)
    done[DISTANCES] += among.computed
    done[PRODUCTS] += len(own) * (len(own) - 1) // 2
    own_near, own_ids = near[own], ids[own]
    merge_answers(own_near, own_ids, among.near, among.ids)
    near[own], ids[own] = own_near, own_ids
    copies = np.flatnonzero(original != np.arange(len(rows)))
    near[copies, 0] = 0
    ids[copies, 0] = next_id + original[copies]
    memory = Prepared(ids, near, cursor=first_row(tree), found=_arrays.make_found(k))
    return Finder(look_up, memory)


def _new_leaves(
    tree: Tree, rows: Rows, nearest: NDArray[np.float32]
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


def first_row(tree: Tree) -> NDArray[np.int64]:
    """A cursor at the first row that is searched for: the first point of all has no neighbour."""
    return np.array([int(tree.state[ROOT] == NONE)])
