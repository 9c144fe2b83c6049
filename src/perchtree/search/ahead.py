"""Neighbours of a whole batch, found before any of it is inserted.

Without collapsing, they do not depend on the shape of the tree: they are the nearest among the
points in the tree and the rows before. So they can be found by any exact method, for many rows
at once, on several threads; insertion stays sequential and comes out the same.
"""

import functools
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.modes import Search as Kernel
from .._kernels.modes import rows_kernel
from .._kernels.prepared import look_up
from .._kernels.schema import DISTANCES, NONE, PRODUCTS, ROOT, Counts, Prepared, Tree
from .copies import first_equal
from .interface import Finder, Leaves, Part, Rows
from .products import AllFeatures, Nearest, Points, Space, scan
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


class Batch(NamedTuple):
    """Rows about to be inserted, and their neighbours among the points before the batch."""

    rows: Rows
    first_id: int
    """The id that its first row is going to get."""
    answers: Nearest
    done: Counts

    def part(self, tree: Tree) -> Part:
        """What an insert needs, once all batches before this one are in the tree."""
        found = _arrays.make_found(self.answers.ids.shape[1])
        memory = Prepared(self.answers.ids, self.answers.near, first_row(tree), found)
        return Part(self.rows, Finder(look_up, memory))


def all_features(rows: Rows, which: NDArray[np.int64]) -> Space:
    """Compare some of the rows with each other by all features."""
    chosen = rows[which]
    return AllFeatures(chosen, chosen, None)


def compare_within(
    batch: Batch,
    is_in_tree: Callable[[int], bool],
    n_jobs: int,
    make_space: Callable[[Rows, NDArray[np.int64]], Space] = all_features,
    stop: threading.Event | None = None,
) -> NDArray[np.int64]:
    """Add the rows before each row to its neighbours; which rows will have a leaf of their own.

    `is_in_tree` tells whether a point that equals a row comes before the batch; it is asked about
    rows at distance 0 from their nearest point.
    """
    near, ids = batch.answers
    own, original = _new_leaves(batch.rows, near[:, 0], is_in_tree)
    if len(own) > 1:
        of_own = Nearest(near[own], ids[own])
        points = Points(batch.rows[own], (batch.first_id + own).astype(np.int32))
        space = make_space(batch.rows, own)
        _, computed = scan(points.rows, points, space, of_own, n_jobs, earlier=True, stop=stop)
        near[own], ids[own] = of_own
        batch.done[DISTANCES] += computed
        batch.done[PRODUCTS] += len(own) * (len(own) - 1) // 2
    copies = np.flatnonzero(original != np.arange(len(batch.rows)))
    near[copies, 0] = 0
    ids[copies, 0] = batch.first_id + original[copies]
    return own


def _new_leaves(
    rows: Rows, nearest: NDArray[np.float32], is_in_tree: Callable[[int], bool]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that will have a leaf of their own, and for each row the first one equal to it.

    Neighbours are leaves, so a copy must not count as another one; nor need it be searched for.
    """
    original = first_equal(rows)
    is_copy = original != np.arange(len(rows))
    for row in np.flatnonzero((nearest == 0) & ~is_copy).tolist():
        is_copy[row] = is_in_tree(row)
    in_tree = is_copy[original]
    return np.flatnonzero(~is_copy), np.where(in_tree, np.arange(len(rows)), original)


def first_row(tree: Tree) -> NDArray[np.int64]:
    """A cursor at the first row that is searched for: the first point of all has no neighbour."""
    return np.array([int(tree.state[ROOT] == NONE)])
