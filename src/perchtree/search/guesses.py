"""First neighbours of few rows, from the nearest parts of the tree.

Few rows are compared by few coordinates, whose bounds leave many points until near ones are known.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.guesses import Parts, Shortlist, divide, guess_neighbours
from .._kernels.schema import N_LEAVES, NONE, POINT_ROWS, Tree
from .axes import Axes, Image
from .products import Nearest, Points

FEWEST_POINTS = 2048
"""Smaller trees are scanned in no time."""

LARGEST_PART = 64
"""Points in a part at most; on average there are half as many."""

N_PARTS = 8
"""Parts that are looked into for each row. On clinc150 they and 32 coordinates give the distance
of the fifth neighbour to within 1 % for half of all rows."""

GROWTH = 1.25
"""The tree is divided anew when it has so many times as many points."""


class _Division(NamedTuple):
    """The parts of a tree at some moment: rows of points, part after part."""

    rows: NDArray[np.int32]
    starts: NDArray[np.int32]
    n_rows: int
    """Rows of points that there were."""


class Guesses:
    """The parts of a tree, divided anew as it grows.

    Parts may be out of date: then guesses are worse, and searches take longer.
    """

    def __init__(self) -> None:
        self._division = _Division(np.zeros(0, np.int32), np.zeros(1, np.int32), 0)
        self._described: tuple[_Division, Axes, Parts] | None = None

    def follow(self, tree: Tree) -> None:
        """Divide the tree anew, if it is time. Ask only while nothing changes it."""
        n_leaves, n_before = int(tree.state[N_LEAVES]), len(self._division.rows)
        if n_leaves < FEWEST_POINTS or n_before / 2 < n_leaves < GROWTH * n_before:
            return
        rows, starts = np.empty(n_leaves, np.int32), np.empty(n_leaves + 1, np.int32)
        n_parts = divide(tree, LARGEST_PART, rows, starts)
        self._division = _Division(rows, starts[: n_parts + 1], int(tree.state[POINT_ROWS]))

    def improve(
        self,
        axes: Axes,
        of_points: Image,
        points: Points,
        rows: NDArray[np.float32],
        image: Image,
        answers: Nearest,
    ) -> int:
        """Improve the answers for rows by points near them; how many distances were computed.

        `of_points` has the images of all points, `image` those of the rows, on these axes.
        """
        division, described, k = self._division, self._described, answers.ids.shape[1]
        if len(division.rows) == 0 or division.n_rows > len(of_points.few):
            return 0
        if described is None or described[0] is not division or described[1] is not axes:
            described = division, axes, _describe(division, of_points)
            self._described = described
        n_tried = 2 * k + 4
        guess_neighbours(
            described[2], image.few, rows, points.rows, points.ids, *answers,
            _shortlist(N_PARTS), _shortlist(n_tried),
        )  # fmt: skip
        return int(n_tried * len(rows))


def _describe(division: _Division, of_points: Image) -> Parts:
    heads = of_points.few[division.rows]
    centres: NDArray[np.float32] = np.add.reduceat(heads, division.starts[:-1], axis=0)
    centres /= np.diff(division.starts)[:, np.newaxis].astype(np.float32)
    return Parts(centres, division.starts, heads, division.rows)


def _shortlist(length: int) -> Shortlist:
    return Shortlist(np.empty(length, np.float32), np.full(length, NONE, np.int32))
