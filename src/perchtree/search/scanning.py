"""Every row against every point that was in the tree at some moment, while the tree goes on."""

import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.measure import measure_bounds
from .._kernels.numbering import point_nodes, row_of
from .._kernels.scan import COMPUTED, LOOKED, find_equal
from .._kernels.schema import (
    DISTANCES,
    FIRST,
    LEAF,
    N_LEAVES,
    NEXT_ID,
    NONE,
    POINT_ROWS,
    PRODUCTS,
    ROOT,
    SCANNED,
    Counts,
    Tree,
)
from .ahead import Batch, compare_within
from .axes import Axes, Image
from .costs import direct_cost, pair_cost, product_cost, second_cost
from .images import Images, make_space, rotate_rows
from .interface import SMALLEST, Part, Rows
from .products import Nearest, Points, scan

MANY_ROWS = 256
"""So many rows are enough to tell that axes are poor."""


class Waiting(NamedTuple):
    """A batch whose search is over, which is not yet in the tree."""

    batch: Batch
    own: NDArray[np.int64]
    """Its rows that will have a leaf of their own."""
    axes: Axes | None
    image: Image | None
    """Of all its rows, on these axes."""
    images: Images

    def insert(self, tree: Tree) -> Iterator[Part]:
        """Hand the batch over; once it is in the tree, keep its images."""
        yield self.batch.part(tree)
        if self.image is not None:
            ids = self.batch.first_id + self.own
            rows = row_of(tree.ids[ids, LEAF].astype(np.int64))
            self.images.keep(self.axes, self.image.of(self.own), rows, ids)


class Snapshot(NamedTuple):
    """The points in the tree at one moment, and a batch that is about to follow them.

    Inserts leave these points where they are, so they can be read while others are inserted.
    """

    tree: Tree
    points: Points
    """All rows of points; those that were free have no id."""
    n_leaves: int
    next_id: int
    bounds: NDArray[np.float32] | None
    waiting: Waiting | None

    @classmethod
    def of(cls, tree: Tree, waiting: Waiting | None = None) -> "Snapshot":
        """Ask for it only while nothing changes the tree."""
        n_rows = int(tree.state[POINT_ROWS])
        ids = np.ascontiguousarray(tree.nodes[point_nodes(n_rows), FIRST])
        bounds = None
        if tree.state[ROOT] != NONE:
            bounds = np.empty((2, tree.points.shape[1]), np.float32)
            measure_bounds(tree, bounds)
        n_leaves, next_id = int(tree.state[N_LEAVES]), int(tree.state[NEXT_ID])
        return cls(tree, Points(tree.points[:n_rows], ids), n_leaves, next_id, bounds, waiting)

    @property
    def first_id(self) -> int:
        """The id of the row that comes after all of these."""
        return self.next_id + (0 if self.waiting is None else len(self.waiting.batch.rows))

    def holds(self, row: NDArray[np.float32], nearest_id: int) -> bool:
        """Whether a point equals a row, given the nearest, at distance 0.

        Nearly always that is the nearest itself. But squares of tiny differences underflow.
        """
        waiting = np.empty((0, len(row)), np.float32)
        if self.waiting is not None:
            waiting = self.waiting.batch.rows
        if nearest_id < self.next_id:
            nearest = self.tree.points[row_of(int(self.tree.ids[nearest_id, LEAF]))]
        else:
            nearest = waiting[nearest_id - self.next_id]
        return (
            np.array_equal(nearest, row)
            or bool(find_equal(self.points.rows, self.points.ids, row))
            or bool(find_equal(waiting, np.arange(len(waiting), dtype=np.int32), row))
        )


class Scan:
    """One search of a batch of rows in a snapshot."""

    def __init__(self, snapshot: Snapshot, rows: Rows, k: int, images: Images, n_jobs: int) -> None:
        self._snapshot, self._rows, self._images, self._n_jobs = snapshot, rows, images, n_jobs
        self.answers = Nearest.unknown(len(rows), k)
        self.done = _arrays.make_work()
        self._axes, self._of_points = images.of_points(
            snapshot.points, snapshot.next_id, snapshot.bounds, len(rows), n_jobs
        )
        self._image = None if self._axes is None else rotate_rows(self._axes, rows, n_jobs)
        if self._image is not None and not self._image.is_finite:
            self._axes = self._image = None

    def search_tree(self, stop: threading.Event | None = None) -> None:
        """Find the nearest points in the tree: by images, and by all features where there are
        none yet."""
        n_pairs, n_images = len(self._rows) * self._snapshot.n_leaves, 0
        axes, image = self._axes, self._of_points
        if axes is not None and image is not None:
            n_images = len(image.halves)
            if len(self._rows) < SMALLEST and self._image is not None:
                self.done[DISTANCES] += self._images.guesses.improve(
                    axes, image, self._snapshot.points, self._rows, self._image, self.answers
                )
            counts = self._compare(slice(0, n_images), image, stop)
            if len(self._rows) >= MANY_ROWS and is_poor(axes, n_pairs, counts):
                self._images.give_up()
        if n_images < len(self._snapshot.points.rows):
            self._compare(slice(n_images, None), None, stop)
        self.done[SCANNED] += len(self._rows)

    def _compare(self, part: slice, image: Image | None, stop: threading.Event | None) -> Counts:
        """Compare the rows with some of the points; how much products could not rule out."""
        snapshot, rows = self._snapshot, self._rows
        points = Points(snapshot.points.rows[part], snapshot.points.ids[part])
        if 2 * snapshot.n_leaves < len(snapshot.points.rows):  # most rows are free, after removals
            living = np.flatnonzero(points.ids != NONE)
            points = Points(points.rows[living], points.ids[living])
            image = None if image is None else image.of(living)
        space = make_space(self._axes, rows, self._image, points.rows, image, snapshot.bounds)
        counts = scan(rows, points, space, self.answers, self._n_jobs, stop=stop)
        self._count(len(rows) * len(points.rows), counts)
        return counts

    def search_waiting(self, stop: threading.Event) -> None:
        """Compare the rows with the batch that is about to be inserted before them."""
        if self._snapshot.waiting is None:
            return
        (batch, own, axes, image, _), rows = self._snapshot.waiting, self._rows
        points = Points(batch.rows[own], (batch.first_id + own).astype(np.int32))
        if self._axes is None:
            image = None
        elif image is None or axes is not self._axes:
            image = rotate_rows(self._axes, points.rows, self._n_jobs)
        else:
            image = image.of(own)
        if image is not None and not image.is_finite:
            image = None
        bounds = None
        if len(own):
            bounds = np.stack([points.rows.min(axis=0), points.rows.max(axis=0)])
        space = make_space(self._axes, rows, self._image, points.rows, image, bounds)
        counts = scan(rows, points, space, self.answers, self._n_jobs, stop=stop)
        self._count(len(rows) * len(own), counts)

    def search_within(self, stop: threading.Event) -> Waiting:
        """Compare each row with those before it: then its neighbours are known."""
        snapshot, ids = self._snapshot, self.answers.ids
        batch = Batch(self._rows, snapshot.first_id, self.answers, self.done)

        def make_own_space(rows: Rows, own: NDArray[np.int64]):  # type: ignore[no-untyped-def]
            image = None
            if self._image is not None:
                image = self._image.of(own)
            return make_space(self._axes, rows[own], image, rows[own], image)

        own = compare_within(
            batch, lambda row: snapshot.holds(self._rows[row], int(ids[row, 0])), self._n_jobs,
            make_own_space, stop,
        )  # fmt: skip
        return Waiting(batch, own, self._axes, self._image, self._images)

    def _count(self, n_pairs: int, counts: Counts) -> None:
        self.done[PRODUCTS] += n_pairs
        self.done[DISTANCES] += counts[COMPUTED]


def search_batch(
    snapshot: Snapshot, rows: Rows, k: int, images: Images, n_jobs: int, stop: threading.Event
) -> Waiting:
    """Find the neighbours of rows among the points, the batch that waits, and the rows before."""
    search = Scan(snapshot, rows, k, images, n_jobs)
    search.search_tree(stop)
    search.search_waiting(stop)
    return search.search_within(stop)


def is_poor(axes: Axes, n_pairs: int, counts: Counts) -> bool:
    """Whether products of all features would have cost less than what was counted."""
    n_features, n_all = axes.vectors.shape
    looked, computed = counts[[LOOKED, COMPUTED]] / max(1, n_pairs)
    cost = pair_cost(axes.split) + looked * second_cost(n_all - axes.split)
    return bool(cost + computed * direct_cost(n_features) > 1.2 * product_cost(n_features, 1024))
