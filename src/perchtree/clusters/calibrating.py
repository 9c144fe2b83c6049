"""A cut chosen by answers about a few pairs: which criterion, which level, and how good it is.

A model is fitted to the answers once as they are, and then many times with random weights, as in a
bootstrap, along with two invented answers at random places, a yes and a no. The cut with the
highest mean F1 is taken. How much the results differ shows how certain the choice is; if there are
few answers, the invented ones make them differ a lot. The model is never quite right, so intervals
are widened by a factor, with which they contain the truth in 90 % of cases on the data used for
tuning.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cuts import Cuts
from .extraction import extract
from .sameness import Answers, Meetings
from .scales import minimum_sizes
from .spanning import Numbers

Values = NDArray[np.float64]

PERSISTENCE = "persistence"
"""The criterion of clusters that persist; their level is a minimum size."""
N_FITS = 40
_LEVELS = 120
"""Per criterion, evenly in the logarithm of the number of clusters."""
_INTERVAL = (0.05, 0.95)
_NEARLY = 0.9
"""A cut is nearly the best one if it has this share of its F1."""
_SURE = 0.8
"""The required probability of that."""
_WIDER = 2.0
"""How many times as wide intervals are as the fits differ: the fit itself is never quite right."""
_NEARLY_0 = 1e-9
_WIDE = 0.5
"""An interval of F1 that is wider leaves doubts."""
_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are spread evenly however many there are."""


class Estimate(NamedTuple):
    """A value, and the interval that contains it with a probability of 90 %, given the answers."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Calibration:
    """A cut chosen by answers about pairs, and its estimated quality."""

    labels: Numbers
    """The cluster of each point, in the order of `ids`: 0, 1, 2, ... by smallest ids."""
    n_clusters: int
    criterion: str
    """One of those of `cut`, or "persistence"."""
    level: float | None
    """For `cut(level=, criterion=)`; None for persistence."""
    min_cluster_size: int | None
    """For `cut(min_cluster_size=)`; None for the other criteria."""
    precision: Estimate
    """Of the pairs that share a cluster, how many are the same."""
    recall: Estimate
    """Of the pairs that are the same, how many share a cluster."""
    f1: Estimate
    """The harmonic mean of precision and recall."""
    confidence: float
    """How likely it is, given the answers, that this F1 is at least 90 % of that of any other
    cut."""
    n_answers: int
    """Answers that were used: not those that are None."""
    n_contradictions: int
    """Pairs said not to be the same that are the same by other answers."""
    doubts: tuple[str, ...]
    """Reasons why this may be wrong; empty if there are none."""

    def __str__(self) -> str:
        clusters = f"{self.n_clusters:,} cluster" + "s" * (self.n_clusters != 1)
        if self.level is None:
            how = f"persistent ones of at least {self.min_cluster_size} points"
        else:
            how = f"criterion {self.criterion} up to {self.level:.4g}"
        return (
            f"{clusters} ({how}), estimated F1 {self.f1}, precision {self.precision}, "
            f"recall {self.recall}"
        )


class Candidate(NamedTuple):
    """A cut that may be chosen."""

    criterion: str
    level: float
    """What merges may cost at most; for persistence, the minimum size."""


class Calibrator:
    """All cuts of a tree that answers can choose from, and what is needed to compare them."""

    def __init__(self, cuts: Cuts) -> None:
        n_points = cuts.table.n_points
        if n_points < 2:
            raise ValueError("a tree of one point has no pairs: insert more")
        self.cuts = cuts
        self.meetings = Meetings(cuts)
        # With "pooled" as well, 300 answers reached less on omniglot, and hardly more elsewhere.
        self.criteria = [name for name in cuts.usable_criteria() if name != "pooled"]
        self._joined = {c: self._running(c, self.meetings.n_pairs) for c in self.criteria}
        self.candidates: list[Candidate] = []
        self._ends: dict[str, Numbers] = {}
        for criterion in self.criteria:
            self._add_levels(criterion)
        self._persistent = []
        for least in minimum_sizes(n_points):
            self.candidates.append(Candidate(PERSISTENCE, least))
            self._persistent.append(np.flatnonzero(extract(cuts.table, least)[n_points:]))
        self._n_joined = self._sums(self.meetings.n_pairs)

    def _add_levels(self, criterion: str) -> None:
        """Add cuts at several levels; each carries out the merges up to one of `_ends`."""
        _, costs = self.cuts.sequence(criterion)
        levels = np.maximum(np.maximum.accumulate(costs), 0.0)
        counts = np.geomspace(1, self.cuts.n_leaves, _LEVELS).round().astype(np.int64)
        lasts = np.maximum(len(costs) - counts, 0)
        ends = np.unique(np.searchsorted(levels, levels[lasts], side="right") - 1)
        self._ends[criterion] = ends
        self.candidates += [Candidate(criterion, level) for level in levels[ends].tolist()]

    def _running(self, criterion: str, values: Values) -> Values:
        return np.cumsum(values[self.cuts.sequence(criterion)[0]])

    def _sums(self, values: Values) -> Values:
        """For each cut, the sum of a value over the merges that it carries out."""
        by_level = [self._running(c, values)[ends] for c, ends in self._ends.items()]
        persistent = [[values[merges].sum()] for merges in self._persistent]
        return np.concatenate(by_level + persistent)

    def scores(self, chances: Values) -> Values:
        """Precision, recall and F1 of all cuts, in three rows.

        The chances are those of pairs to be the same, for each merge at which they may meet.
        """
        same = self.meetings.n_pairs * chances
        found, total = self._sums(same), same.sum()
        precision = found / np.maximum(self._n_joined, 1.0)
        figures: Values = np.array([precision, found / total, 2 * found / (self._n_joined + total)])
        np.minimum(figures, 1.0, out=figures)  # sums in another order differ in the last bits
        return figures

    def draw(self, number: int, phase: float) -> int:
        """The merge for one of a sequence of draws, 0, 1, 2, ..., spread evenly over the tree.

        Criteria take turns. By each, the pairs joined from the first to the last merge are laid
        on a logarithmic scale, and draws fall on that scale, the more the nearer to its end.
        """
        criterion = self.criteria[number % len(self.criteria)]
        joined = self._joined[criterion]
        share = 1 - ((phase + number * _GOLDEN) % 1.0) ** 2
        target = np.expm1(share * np.log1p(joined[-1]))
        place = min(int(np.searchsorted(joined, target)), len(joined) - 1)
        return int(self.cuts.sequence(criterion)[0][place])

    def calibrate(self, a: Numbers, b: Numbers, same: Values, n_fits: int = N_FITS) -> Calibration:
        """Choose a cut by answers about pairs of points, given by their numbers."""
        if len(same) == 0:
            raise ValueError("there are no answers: say of some pairs whether they are the same")
        answers = Answers(self.meetings.find(a, b), same, np.ones(len(same)))
        first = self.meetings.fit(answers)
        fits = [self.meetings.fit(again, first) for again in self._again(answers, n_fits)]
        drawn = np.array([self.scores(self.meetings.probabilities(fit)) for fit in fits])
        best = int(drawn[:, 2].mean(axis=0).argmax())
        values = self.scores(self.meetings.probabilities(first))[:, best].tolist()
        spread = np.quantile(drawn[:, :, best], _INTERVAL, axis=0).T.tolist()
        precision, recall, f1 = (
            _estimate(value, low, high) for value, (low, high) in zip(values, spread, strict=True)
        )
        nearly = drawn[:, 2, best] >= _NEARLY * drawn[:, 2].max(axis=1)
        confidence = float(nearly.mean())
        cut, labels = self.candidates[best], self.labels(best)
        persists = cut.criterion == PERSISTENCE
        n_clusters, n_clashes = int(labels.max()) + 1, count_contradictions(a, b, same)
        return Calibration(
            labels=labels,
            n_clusters=n_clusters,
            criterion=cut.criterion,
            level=None if persists else cut.level,
            min_cluster_size=int(cut.level) if persists else None,
            precision=precision,
            recall=recall,
            f1=f1,
            confidence=confidence,
            n_answers=len(same),
            n_contradictions=n_clashes,
            doubts=tuple(_doubts(same, n_clashes, confidence, f1, n_clusters)),
        )

    def labels(self, number: int) -> Numbers:
        """The labels of one of the candidates."""
        criterion, level = self.candidates[number]
        if criterion == PERSISTENCE:
            return self.cuts.persistent(int(level))
        return self.cuts.at_level(level, criterion)

    def _again(self, answers: Answers, n_fits: int) -> Iterator[Answers]:
        """Resampled answers, with a yes and a no at random places."""
        rng = np.random.default_rng(0)
        n_answers = len(answers.same)
        for _ in range(n_fits):
            draws = [self.draw(int(rng.integers(2**30)), rng.random()) for _ in range(2)]
            counts = rng.multinomial(n_answers, np.full(n_answers, 1 / n_answers))
            yield Answers(
                np.append(answers.merges, draws),
                np.append(answers.same, [1.0, 0.0]),
                np.append(counts, [1.0, 1.0]),
            )


def _estimate(value: float, low: float, high: float) -> Estimate:
    """A figure with an interval that is made wider on the scale of odds."""
    from scipy.special import expit, logit  # slow to import

    centre, *ends = logit(np.clip([value, low, high], _NEARLY_0, 1 - _NEARLY_0)).tolist()
    low, high = expit([centre + _WIDER * (end - centre) for end in ends]).tolist()
    high = 1.0 if high > 1 - 2 * _NEARLY_0 else high
    return Estimate(value, min(low, value), max(high, value))


def count_contradictions(a: Numbers, b: Numbers, same: Values) -> int:
    """How many pairs said not to be the same are the same by other answers, through any chain."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    points, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    one, other = places[: len(a)], places[len(a) :]
    yes = same == 1
    graph = coo_array(
        (np.ones(int(yes.sum())), (one[yes], other[yes])), shape=(len(points), len(points))
    )
    groups = connected_components(graph, directed=False)[1]
    return int((groups[one] == groups[other])[~yes].sum())


def _doubts(
    same: Values, n_clashes: int, confidence: float, f1: Estimate, n_clusters: int
) -> Iterator[str]:
    """Why a calibration may be wrong."""
    if n_clashes:
        share = n_clashes / len(same)
        yield f"{n_clashes:,} of {len(same):,} answers contradict others ({share:.0%})"
    if same.min() == same.max():
        yield f"all answers so far are {'yes' if same[0] else 'no'}"
    elif n_clusters == 1:
        yield "a single cluster looks best: the tree says little about what is the same"
    if confidence < _SURE:
        yield (
            "according to the answers, another cut may well have an F1 more than 0.1 higher "
            f"(confidence {confidence:.0%})"
        )
    elif f1.high - f1.low > _WIDE:
        yield f"the estimate is very uncertain: F1 from {f1.low:.2f} to {f1.high:.2f}"
