"""Images of a tree's points on principal axes, kept up to date: bounds for less than the product.

They follow from the points alone and are in no file: a search makes them when it first needs them.
"""

import functools
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._arrays import Growing
from .._kernels.schema import N_POINTS, NONE, Tree
from .axes import FEW, Axes, Image, image_bytes, most_image_bytes, sample_axes
from .costs import pair_cost, product_cost, reduced_cost
from .guesses import Guesses
from .interface import SMALLEST
from .products import AllFeatures, Columns, Points, Space
from .threads import one_blas_thread, run_tasks

SMALLEST_SAMPLED = 2048
"""Axes are found when so many points have come, and when their number has grown GROWTH-fold."""
GROWTH = 4

ROWS_AT_ONCE = 512
"""Rows that a thread rotates at a time."""

MOST_AT_ONCE = 4096
"""Images that are made, and points that are copied for it, at a time."""

FEW_ROWS = 8
"""So few rows are compared by fewer coordinates: it is reading the points that takes time."""

MADE_AT_ONCE = 1024
"""Images made for a search of few rows: those of 100,000 points take a second."""


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

    def __init__(self, axes: Axes | None, for_many: bool = False) -> None:
        self.axes, self.for_many = axes, for_many
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
        """Let the arrays grow. Readers of the old ones can go on reading them."""
        before = len(self.marks)
        if n_rows <= before:
            return
        for growing in (*self._image, self._marks):  # the marks last: they say how many there are
            growing.grow(max(n_rows, 2 * before), before)


_NO_COLUMNS = np.zeros((0, 0), np.float32)
_NOTHING = Image(_NO_COLUMNS, _NO_COLUMNS, _NO_COLUMNS, np.zeros(0))


class Images:
    """Images of the rows of a tree's points.

    They may pay for few rows at a time and not for many: then they are made little by little, by
    searches of few rows. Any number of threads may ask for them.
    """

    def __init__(self, k: int, n_rows: int) -> None:
        self._k, self._n_rows = k, n_rows
        self._lock = threading.Lock()
        self._number = 0
        self._kept = _Kept(None)
        self._n_made = 0
        self.guesses = Guesses()

    def follow(self, tree: Tree, n_rows: int) -> None:
        """Take notice of the tree before a search of so many rows, while nothing changes it."""
        if n_rows < SMALLEST:
            self.guesses.follow(tree)

    def axes_for(self, n_rows: int) -> Axes | None:
        """The axes that so many rows are compared by; None while it is by all features."""
        kept = self._kept
        return kept.axes if kept.for_many or n_rows < SMALLEST else None

    def cost(self, n_points: int, n_features: int, n_rows: int) -> float:
        """What a scan costs per pair, as far as it is known: axes are found by the first one."""
        axes, of_all = self.axes_for(n_rows), product_cost(n_features, n_rows)
        if axes is not None:
            of_images = reduced_cost(axes.splits[n_rows > FEW_ROWS], axes.cost, n_rows)
            made = 1.0 if self._kept.for_many else self._n_made / max(1, n_points)
            return of_all + min(1.0, made) * (of_images - of_all)
        is_open = self._number == 0 and n_points >= SMALLEST_SAMPLED
        return min(of_all, reduced_cost(FEW, pair_cost(FEW), n_rows)) if is_open else of_all

    @property
    def n_bytes(self) -> int:
        """What the images take that there are."""
        axes, marks = self._kept.axes, self._kept.marks
        return 0 if axes is None else int(np.count_nonzero(marks)) * image_bytes(axes)

    def estimate_bytes(self, tree: Tree, n_points: int) -> int:
        """What images of so many points take, if it is as it was.

        The most that it may be while too few points have come to know.
        """
        n_features = tree.points.shape[1]
        if self._kept.axes is not None:
            return n_points * image_bytes(self._kept.axes)
        if self._number or tree.state[N_POINTS] >= SMALLEST_SAMPLED:
            return 0  # they would cost more than they save, or it is A* that searches
        return n_points * most_image_bytes(n_features, self._n_rows)

    def give_up(self) -> None:
        """Compare many rows by all features until axes are found anew: these leave too much."""
        self._kept.for_many = False

    def of_points(
        self,
        points: Points,
        next_id: int,
        bounds: NDArray[np.float32] | None,
        n_rows: int,
        n_jobs: int,
    ) -> tuple[Axes | None, Image | None]:
        """The axes for so many rows, and the images of the tree's points, from the first row on.

        An image belongs to the id that was in its row when it was made. So a row that was freed and
        taken by another point is told by its id, which is never reused.
        """
        if bounds is None:
            return None, None
        with self._lock:
            self._renew(points, next_id, bounds)
            axes = self.axes_for(n_rows)
            if axes is not None and not self._update(points, n_rows, n_jobs):
                self._number = 0  # so far away that products could overflow
                self._renew(points, next_id, bounds)
                axes = self.axes_for(n_rows)
                if axes is not None:
                    self._update(points, n_rows, n_jobs)
            return axes, None if axes is None else self._kept.image.of(slice(self._n_made))

    def keep(
        self, axes: Axes | None, image: Image, rows: NDArray[np.int64], ids: NDArray[np.int64]
    ) -> None:
        """Keep images of points that have just been inserted: they were made when searching."""
        with self._lock:
            if axes is not None and axes is self._kept.axes and len(rows):
                self._kept.make_room(int(rows.max()) + 1)
                self._kept.image.put(rows, image)
                self._kept.marks[rows] = ids + 1

    def _update(self, points: Points, n_rows: int, n_jobs: int) -> bool:
        """Make images that are missing, or of other points; False if they are not finite.

        All of them for many rows; for few only so many that it does not take long.
        """
        kept = self._kept
        assert kept.axes is not None
        kept.make_room(len(points.rows))
        marks = points.ids + 1
        stale = np.flatnonzero((points.ids != NONE) & (kept.marks[: len(marks)] != marks))
        most = len(stale) if n_rows >= SMALLEST else MADE_AT_ONCE
        self._n_made = len(marks) if len(stale) <= most else int(stale[most])
        stale = stale[:most]
        if len(stale) == 0:
            return True
        is_finite = True
        for first in range(0, len(stale), MOST_AT_ONCE):  # or all points would be copied
            part = stale[first : first + MOST_AT_ONCE]
            fresh = rotate_rows(kept.axes, points.rows[part], n_jobs)
            kept.image.put(part, fresh)
            kept.marks[part] = marks[part]
            is_finite = is_finite and fresh.is_finite
        return is_finite

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
        kept = _Kept(None)
        if enough:
            sampled = sample_axes(known, bounds, self._k)
            axes = sampled.cheapest(self._n_rows)
            kept = _Kept(axes, True) if axes is not None else _Kept(sampled.cheapest(1))
        self._kept, self._n_made = kept, 0
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
