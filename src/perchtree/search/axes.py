"""Principal axes of a sample: rotated coordinates, of which few tell points apart."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.scan import rounding
from .._kernels.schema import NONE
from .costs import direct_cost, pair_cost, product_cost, reduced_cost, second_cost
from .products import AllFeatures, Nearest, Points, find_scale, scan
from .threads import one_blas_thread

SAMPLE = 1024
"""Points that axes are found from, and as many to try them on."""

QUERIES = 64
"""Of these, points whose neighbours tell how many pairs a bound leaves."""

SPLITS = (16, 24, 32, 48, 64, 96, 128)
"""Numbers of coordinates of which products may be taken; the second bound has twice as many."""

ITERATIONS = 2

WORTHWHILE = 0.75
"""Share of the cost of all features below which rotating every point pays: never at d = 27."""

FEW = 32
"""Coordinates of which products are taken for few rows, where reading them is what takes time."""

FARTHEST = 2.0**118
"""Half the largest squared norm, scaled, with which products cannot overflow."""


class Image(NamedTuple):
    """Rows as rotated coordinates, and the norms of what is left out.

    - `coordinates`: float32 (n, w);
    - `few`: float32 (n, FEW), the first of them once more, to be read quickly for few rows;
    - `rests`: float32 (n, 3), of what is left out after FEW, `split` and all w coordinates;
    - `halves`: float64 (n,), half the squared norms, less what rounding may have added.
    """

    coordinates: NDArray[np.float32]
    few: NDArray[np.float32]
    rests: NDArray[np.float32]
    halves: NDArray[np.float64]

    def of(self, rows: slice | NDArray[np.int64]) -> "Image":
        """The image of some of the rows."""
        return Image(self.coordinates[rows], self.few[rows], self.rests[rows], self.halves[rows])

    def put(self, rows: slice | NDArray[np.int64], image: "Image") -> None:
        """Overwrite the image of some of the rows."""
        self.coordinates[rows] = image.coordinates
        self.few[rows] = image.few
        self.rests[rows] = image.rests
        self.halves[rows] = image.halves

    @property
    def is_finite(self) -> bool:
        """Whether products of these rows cannot overflow."""
        return len(self.halves) == 0 or bool(self.halves.max() < FARTHEST)


class Axes(NamedTuple):
    """A centre, and orthonormal axes in the order of how much points differ along them."""

    centre: NDArray[np.float64]
    scale: float
    vectors: NDArray[np.float64]
    """(d, w)"""
    split: int
    """How many coordinates products are taken of, for many rows."""
    cost: float
    """What a pair is expected to cost, in nanoseconds."""

    @property
    def splits(self) -> tuple[int, int, int]:
        """How many coordinates there are before each of `Image.rests`."""
        n_all = self.vectors.shape[1]
        return min(FEW, n_all), self.split, n_all

    def image(self, rows: NDArray[np.float32]) -> Image:
        """Rotate rows. In float64: `rounding` relies on it."""
        centred = (rows - self.centre) * self.scale
        coordinates = centred @ self.vectors
        squared = np.einsum("ij,ij->i", centred, centred)
        rests = np.empty((len(rows), 3), np.float32)
        for place, split in enumerate(self.splits):
            head = coordinates[:, :split]
            left = squared - np.einsum("ij,ij->i", head, head)
            rests[:, place] = np.sqrt(np.maximum(left, 0))
        keep = 0.5 * (1.0 - rounding_of(rows.shape[1], coordinates.shape[1]))
        whole = coordinates.astype(np.float32)
        few = np.ascontiguousarray(whole[:, : self.splits[0]])
        return Image(whole, few, rests, keep * squared)


def image_bytes(axes: Axes) -> int:
    """What the image of a point takes, and the mark that it is its image."""
    return _image_bytes(*axes.splits)


def most_image_bytes(n_features: int, n_rows: int) -> int:
    """The most that it may take if so many rows are searched for at a time; 0 if comparing all
    features can only cost less."""
    if pair_cost(SPLITS[0]) >= WORTHWHILE * product_cost(n_features, n_rows):
        return 0
    return _image_bytes(min(FEW, n_features), 0, min(2 * SPLITS[-1], n_features))


def _image_bytes(n_few: int, _: int, n_columns: int) -> int:
    return 4 * (n_columns + n_few + 3) + 8 + 4


def rounding_of(n_features: int, n_columns: int) -> float:
    """`rounding` as Python can call it."""
    function = getattr(rounding, "py_func", rounding)
    return float(function(n_features, n_columns))


class Sampled(NamedTuple):
    """Axes of a sample, and how many pairs bounds from their first coordinates leave."""

    axes: Axes
    """With all coordinates."""
    left: dict[int, float]
    """Number of coordinates -> share of pairs that are left, were the neighbours known."""

    def cheapest(self, n_rows: int) -> Axes | None:
        """The axes by which searches of so many rows at a time cost least.

        None if comparing all features costs less.
        """
        axes, left = self
        n_features, n_axes = axes.vectors.shape
        best, cost, of_pair = 0, WORTHWHILE * product_cost(n_features, n_rows), 0.0
        for split in (split for split in SPLITS if split < n_axes):
            n_all = min(2 * split, n_axes)
            # Before all points are seen, bounds are looser: twice as much is left.
            looked = 2 * left[split] * second_cost(n_all - split)
            of_split = pair_cost(split) + looked + 2 * left[n_all] * direct_cost(n_features)
            if reduced_cost(split, of_split, n_rows) < cost:
                best, cost = split, reduced_cost(split, of_split, n_rows)
                of_pair = of_split
        if best == 0:
            return None
        vectors = axes.vectors[:, : max(min(2 * best, n_axes), min(FEW, n_axes))]
        return Axes(axes.centre, axes.scale, np.ascontiguousarray(vectors), best, of_pair)


def sample_axes(points: Points, bounds: NDArray[np.float32], k: int) -> Sampled:
    """Find principal axes of a sample of the points.

    How many of the coordinates are worth taking products of follows from counted pairs: those of
    a second sample that bounds would leave, were the k nearest neighbours known.
    """
    with one_blas_thread():
        held = np.flatnonzero(points.ids != NONE)
        drawn = held[np.linspace(0, len(held) - 1, min(2 * SAMPLE, len(held))).astype(int)]
        # Axes fit the points that they are found from better than others: so others are counted.
        found_from, sample = points.rows[drawn[::2]], points.rows[drawn[1::2]]
        centre = found_from.mean(axis=0, dtype=np.float64)
        vectors = _principal(found_from - centre, 2 * SPLITS[-1])
        scale = float(find_scale(centre, bounds[0], bounds[1]))
        axes = Axes(centre, scale, vectors, vectors.shape[1], 0.0)
        return Sampled(axes, _count_left(axes, sample, points, bounds, k))


def find_axes(points: Points, bounds: NDArray[np.float32], k: int, n_rows: int) -> Axes | None:
    """Find the axes for the k nearest points of so many rows at a time, if they are worth it."""
    return sample_axes(points, bounds, k).cheapest(n_rows)


def _count_left(
    axes: Axes, sample: NDArray[np.float32], points: Points, bounds: NDArray[np.float32], k: int
) -> dict[int, float]:
    """Number of coordinates -> share of pairs that their bound leaves, at the k-th neighbour."""
    queries = sample[:: max(1, len(sample) // QUERIES)][:QUERIES]
    answers = Nearest.unknown(len(queries), k + 1)  # each is its own nearest neighbour
    scan(queries, points, AllFeatures(queries, points.rows, bounds), answers, 1)
    bound = answers.near[:, k].astype(np.float64) * axes.scale**2
    of_sample, of_queries = axes.image(sample), axes.image(queries)
    shares = {}
    for split in {min(n, axes.split) for few in SPLITS for n in (few, 2 * few)}:
        rests, heads = [], []
        for image in (of_queries, of_sample):
            heads.append(image.coordinates[:, :split].astype(np.float64))
            squared = 2 * image.halves - np.einsum("ij,ij->i", heads[-1], heads[-1])
            rests.append(np.sqrt(np.maximum(squared, 0)))
        products = heads[0] @ heads[1].T + np.outer(*rests)
        squared = 2 * (of_queries.halves[:, np.newaxis] + of_sample.halves - products)
        n_left = np.count_nonzero(squared <= bound[:, np.newaxis])
        shares[split] = max(0, n_left - len(queries)) / squared.size  # a query is in the sample
    return shares


def _principal(centred: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The leading principal axes (d, at most `most`) of a sample, about: any axes will do.

    By subspace iteration, which for d = 2,048 takes a tenth of the time of all eigenvectors.
    """
    n_axes = min(most, *centred.shape)
    basis = np.random.default_rng(0).normal(size=(centred.shape[1], n_axes))
    for _ in range(ITERATIONS):
        basis = np.linalg.qr(centred.T @ (centred @ basis))[0]
    rotated = centred @ basis
    _, order = np.linalg.eigh(rotated.T @ rotated)
    # Orthonormal to the last digits: `rounding` relies on it.
    return np.asarray(np.linalg.qr(basis @ order[:, ::-1])[0])
