"""Which pairs to ask about: those whose answers are most informative about where to cut.

The first ones are spread evenly over the merges of the tree, by every criterion. From then on most
of them are about merges that the answers so far leave in doubt: the cut with the highest F1
carries out the merges whose pairs are the same with a probability of at least F1 / 2, so answers
are most informative where it is about that. A few are still drawn evenly, so that a wrong fit does
not persist.
"""

import numpy as np
from numpy.typing import NDArray

from .calibrating import Calibrator
from .sameness import Answers
from .spanning import Numbers

_FIRST = 50
"""Answers before questions follow them."""
_DRAWS = 6
"""Of so many draws the one that is nearest to doubt is taken,"""
_EVENLY = (0, 3, 6)
"""but not for these of ten questions in a row."""
_TRIES = 10
"""Pairs drawn at a merge until one is new."""
_MISSES = 300
"""Merges without a new pair, one after the other, before it is given up."""


def pick(
    calibrator: Calibrator, n: int, a: Numbers, b: Numbers, same: NDArray[np.float64], seed: int
) -> Numbers:
    """Up to n pairs of points, by their numbers, none of which is known; nan is no answer.

    Question number i depends on the seed, on i, and on the answers once there are enough, not on
    how many are asked for.
    """
    known = set(zip(np.minimum(a, b).tolist(), np.maximum(a, b).tolist(), strict=True))
    doubt = _doubt(calibrator, a, b, same)
    phase = float(np.random.default_rng(seed).random())
    pairs: list[tuple[int, int]] = []
    number, misses = len(a), 0
    while len(pairs) < n and misses < _MISSES:
        draws = [calibrator.draw(_DRAWS * number + i, phase) for i in range(_DRAWS)]
        merge = draws[0]
        if doubt is not None and number % 10 not in _EVENLY:
            merge = min(draws, key=doubt.__getitem__)
        rng = np.random.default_rng([seed, number])
        tries = (calibrator.meetings.draw(merge, rng) for _ in range(_TRIES))
        new = next((pair for pair in tries if pair not in known), None)
        if new is not None:
            pairs.append(new)
            known.add(new)
        misses = 0 if new else misses + 1
        number += 1
    return np.array(pairs, np.int64).reshape(-1, 2)


def _doubt(
    calibrator: Calibrator, a: Numbers, b: Numbers, same: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """How far the odds of each merge are from those at which it hardly matters for F1."""
    from scipy.special import logit  # slow to import

    told = ~np.isnan(same)
    if told.sum() < _FIRST:
        return None
    meetings = calibrator.meetings
    answers = Answers(meetings.find(a[told], b[told]), same[told], np.ones(int(told.sum())))
    chances = meetings.probabilities(meetings.fit(answers))
    highest = calibrator.scores(chances)[2].max()
    doubt: NDArray[np.float64] = np.abs(logit(chances) - logit(highest / 2))
    return doubt
