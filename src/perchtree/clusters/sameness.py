"""How likely two points are the same, by the merge at which they meet: fitted to answers.

Every merge has four levels between 0 and 1: how many pairs of points are joined, on a logarithmic
scale, by the time its turn comes by size, by height and by diameter; and how many points its
smaller part has. The odds that two points which meet there are the same fall with each level.
This is a logistic regression, additive, with one decreasing piecewise linear function per level.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cuts import Cuts
from .spanning import Numbers, TreeOrder

Values = NDArray[np.float64]

_LEVELS = ("size", "height", "diameter")
_PIECES = 8
"""Of each function."""
_SMOOTH, _SMALL, _CENTRED = 10.0, 0.0125, 0.01
"""How much slopes should be like their neighbours, how small, and how small the constant."""


class Answers(NamedTuple):
    """Answers about pairs of points, with weights."""

    merges: Numbers
    """Where the two points of each pair meet."""
    same: Values
    """1 if they are the same, 0 if not."""
    weights: Values


class Meetings:
    """The merges of a tree as places where pairs of points meet."""

    def __init__(self, cuts: Cuts) -> None:
        table = cuts.table
        self._order = TreeOrder(table)
        self._starts = self._order.starts
        self._points = np.argsort(self._starts[: table.n_points])
        self._children, self._sizes = table.children, table.sizes
        parts = table.sizes[table.children].astype(np.float64)
        self.n_pairs: Values = parts.prod(axis=1)
        """How many pairs of points meet at each merge."""
        smaller = np.log(parts.min(axis=1)) / np.log(table.n_points)
        self._levels = [*(self._level(cuts, criterion) for criterion in _LEVELS), smaller]

    def _level(self, cuts: Cuts, criterion: str) -> Values:
        order, _ = cuts.sequence(criterion)
        joined = np.cumsum(self.n_pairs[order])
        level = np.empty(len(order))
        level[order] = np.log1p(joined) / np.log1p(joined[-1])
        return level

    def find(self, a: Numbers, b: Numbers) -> Numbers:
        """The merge at which each pair of points, given by their numbers, meets."""
        places = np.sort(np.column_stack([self._starts[a], self._starts[b]]), axis=1)
        return self._order.meets(places[:, 0], places[:, 1])

    def draw(self, merge: int, rng: np.random.Generator) -> tuple[int, int]:
        """A random pair of points that meet at a merge, the smaller number first."""
        parts = self._children[merge]
        places = self._starts[parts] + rng.integers(self._sizes[parts])
        a, b = self._points[places].tolist()
        return min(a, b), max(a, b)

    def fit(self, answers: Answers, start: Values | None = None) -> Values:
        """The coefficients that explain the answers best: a constant, then slopes by level."""
        from scipy.optimize import minimize  # slow to import
        from scipy.special import expit

        ramps = np.column_stack([_ramps(level[answers.merges]) for level in self._levels])
        n_slopes = ramps.shape[1]

        def loss(coefficients: Values) -> tuple[float, Values]:
            constant, slopes = coefficients[0], coefficients[1:]
            odds = constant + ramps @ slopes
            total = answers.weights @ (np.logaddexp(0, odds) - answers.same * odds)
            errors = answers.weights * (expit(odds) - answers.same)
            pull = _PENALTY @ slopes.reshape(-1, _PIECES).T
            total += (_CENTRED * constant**2 + (slopes * pull.T.ravel()).sum()) / 2
            gradient = np.concatenate(
                [[errors.sum() + _CENTRED * constant], errors @ ramps + pull.T.ravel()]
            )
            return float(total), gradient

        bounds = [(None, None)] + [(None, 0.0)] * n_slopes
        start = np.zeros(n_slopes + 1) if start is None else start
        found: Values = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
        return found

    def probabilities(self, coefficients: Values) -> Values:
        """How likely two points are the same, for each merge at which they may meet."""
        from scipy.special import expit  # slow to import

        odds = np.full(len(self.n_pairs), coefficients[0])
        knots = np.linspace(0, 1, _PIECES + 1)
        for level, slopes in zip(self._levels, coefficients[1:].reshape(-1, _PIECES), strict=True):
            odds += np.interp(level, knots, np.concatenate([[0], np.cumsum(slopes)]))
        chances: Values = expit(odds)
        return chances


def _ramps(level: Values) -> Values:
    """How much of each piece of [0, 1] lies below a level; one column per piece."""
    return np.clip(level[:, np.newaxis] * _PIECES - np.arange(_PIECES), 0, 1)


def _penalty() -> Values:
    steps = np.diff(np.eye(_PIECES), axis=0)
    return _SMOOTH * steps.T @ steps + _SMALL * np.eye(_PIECES)


_PENALTY = _penalty()
