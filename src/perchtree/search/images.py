"""Images of a tree's points on principal axes, kept up to date: bounds for less than the product.

They follow from the points alone and are in no file: a search makes them when it first needs them.
"""

import functools
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._arrays import Growing
from .._kernels.schema import NONE
from .axes import FEW, Axes, Image, find_axes
from .costs import pair_cost, product_cost, reduced_cost
from .products import AllFeatures, Columns, Points, Space
from .threads import one_blas_thread, run_tasks

SMALLEST_SAMPLED = 2048
"""Axes are found when so many points have come, and when their number has grown GROWTH-fold."""
GROWTH = 4

ROWS_AT_ONCE = 512
"""Rows that a thread rotates at a time."""

FEW_ROWS = 8
"""So few rows are compared by fewer coordinates: it is reading the points that takes time."""


class Reduced:
    """Products of the leading coordinates; the norm of the rest makes them a bound."""

    def __init__(self, axes: Axes, queries: Image, points: Image) -> None:
        self._place = 0 if len(queries.halves) <= FEW_ROWS else 1
        self.split = axes.splits[self._place]
        self.squared_scale = axes.scale**2
        self._queries, self._points = queries, points

    def queries(self, part: slice) -> Columns:
        return self._columns(self._queries, part)

    def reader(self) -> Callable[[slice], Columns]:
        return functools.partial(self._columns, self._points)

    def _columns(self, image: Image, part: slice) -> Columns:
        coordinates, rests = image.coordinates[part], image.rests[part]
        return Columns(
            image.few[part] if self._place == 0 else coordinates[:, : self.split],
            np.ascontiguousarray(rests[:, self._place]),
            image.halves[part],
            coordinates,
            np.ascontiguousarray(rests[:, 2]),
        )


class _Kept:
    """Images of rows on these axes, and the ids of the points that they were made of.

    Other axes get another object, so that Ctrl-C never leaves images of other axes behind. The
    arrays grow in place where nobody reads them: copying 100,000 images took 40 ms.
    """

    def __init__(self, axes: Axes | None) -> None:
        self.axes = axes
        empty = _nothing(axes, 0) if axes is not None else _NOTHING
        self._image = [Growing(array) for array in empty]
        self._marks = Growing(np.zeros(0, np.int32))

    @property
    def image(self) -> Image:
        return Image(*(growing.array for growing in self._image))

    @property
    def marks(self) -> NDArray[np.int32]:
        """For each row the id whose image it has, plus one: new rows are zeros, and have none."""
        return self._marks.array

    def make_room(self, n_rows: int) -> None:
        """Let the arrays grow. Whoever has the old ones may can still read them."""
        before = len(self.marks)
        if n_rows <= before:
            return
        for growing in (*self._image, self._marks):  # the marks last: they say how many there are
            growing.grow(max(n_rows, 2 * before), before)


_NO_COLUMNS = np.zeros((0, 0), np.float32)
_NOTHING = Image(_NO_COLUMNS, _NO_COLUMNS, _NO_COLUMNS, np.zeros(0))


class Images:
    """Images of the rows of a tree's points, for searches of about this many rows at a time.

    Any number of threads may ask for them.
    """

    def __init__(self, k: int, n_rows: int) -> None:
        self._k, self._n_rows = k, n_rows
        self._lock = threading.Lock()
        self._number = 0
        self._kept = _Kept(None)

    @property
    def axes(self) -> Axes | None:
        """None while all features are compared."""
        return self._kept.axes

    def cost(self, n_points: int, n_features: int, n_rows: int) -> float:
        """What a scan costs per pair, as far as it is known: axes are found by the first one."""
        axes = self.axes
        if axes is not None:
            return reduced_cost(axes.splits[n_rows > FEW_ROWS], axes.cost, n_rows)
        of_all = product_cost(n_features, n_rows)
        is_open = self._number == 0 and n_points >= SMALLEST_SAMPLED
        return min(of_all, reduced_cost(FEW, pair_cost(FEW), n_rows)) if is_open else of_all

    def forget(self) -> None:
        """Compare all features until axes are found anew: there are too many pairs they leave."""
        with self._lock:
            self._kept = _Kept(None)

    def of_points(
        self, points: Points, next_id: int, bounds: NDArray[np.float32] | None, n_jobs: int
    ) -> tuple[Axes | None, Image | None]:
        """The axes, and the images of these rows of a tree's points, if there are any.

        An image belongs to the id that was in its row when it was made. So a row that was freed and
        taken by another point is told by its id, which is never reused.
        """
        if bounds is None:
            return None, None
        with self._lock:
            self._renew(points, next_id, bounds)
            if not self._update(points, n_jobs):  # so far away that products could overflow
                self._number = 0
                self._renew(points, next_id, bounds)
                self._update(points, n_jobs)
            axes = self.axes
            return axes, None if axes is None else self._kept.image.of(slice(len(points.rows)))

    def keep(
        self, axes: Axes | None, image: Image, rows: NDArray[np.int64], ids: NDArray[np.int64]
    ) -> None:
        """Keep images of points that have just been inserted: they were made when searching."""
        with self._lock:
            if axes is not None and axes is self.axes and len(rows):
                self._kept.make_room(int(rows.max()) + 1)
                self._kept.image.put(rows, image)
                self._kept.marks[rows] = ids + 1

    def _update(self, points: Points, n_jobs: int) -> bool:
        """Make the images that are missing, or of other points; False if they are not finite."""
        axes = self.axes
        if axes is None:
            return True
        kept = self._kept
        kept.make_room(len(points.rows))
        marks = points.ids + 1
        stale = np.flatnonzero((points.ids != NONE) & (kept.marks[: len(marks)] != marks))
        if len(stale) == 0:
            return True
        fresh = rotate_rows(axes, points.rows[stale], n_jobs)
        kept.image.put(stale, fresh)
        kept.marks[stale] = marks[stale]
        return fresh.is_finite

    def _renew(self, points: Points, next_id: int, bounds: NDArray[np.float32]) -> None:
        """Find axes anew if the number of points has reached the next fixed number."""
        number = 0
        while next_id >= max(SMALLEST_SAMPLED, GROWTH * number):
            number = max(SMALLEST_SAMPLED, GROWTH * number)
        if number == self._number:
            return
        known = Points(points.rows, np.where(points.ids < number, points.ids, np.int32(NONE)))
        if np.count_nonzero(known.ids != NONE) < SMALLEST_SAMPLED // 2:
            known = points  # most of the first points were removed
        enough = np.count_nonzero(known.ids != NONE) >= SMALLEST_SAMPLED // 2
        axes = find_axes(known, bounds, self._k, self._n_rows) if enough else None
        self._kept = _Kept(axes)
        self._number = number


def make_space(
    axes: Axes | None,
    rows: NDArray[np.float32],
    image: Image | None,
    points: NDArray[np.float32],
    image_of_points: Image | None,
    bounds: NDArray[np.float32] | None = None,
) -> Space:
    """Where rows are compared with points: by their images, or else by all features."""
    if axes is None or image is None or image_of_points is None:
        return AllFeatures(rows, points, bounds)
    return Reduced(axes, image, image_of_points)


def rotate_rows(axes: Axes, rows: NDArray[np.float32], n_jobs: int) -> Image:
    """Rotate rows on several threads."""
    made = _nothing(axes, len(rows))

    def rotate(first: int, go_on: Callable[[], None]) -> None:
        go_on()
        part = slice(first, first + ROWS_AT_ONCE)
        made.put(part, axes.image(rows[part]))

    starts = range(0, len(rows), ROWS_AT_ONCE)
    with one_blas_thread():
        run_tasks([functools.partial(rotate, start) for start in starts], n_jobs)
    return made


def _nothing(axes: Axes, n_rows: int) -> Image:
    n_few, _, n_columns = axes.splits
    coordinates, few, rests = (
        np.zeros((n_rows, width), np.float32) for width in (n_columns, n_few, 3)
    )
    return Image(coordinates, few, rests, np.zeros(n_rows))
