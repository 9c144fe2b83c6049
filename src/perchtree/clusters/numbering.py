"""Clusters numbered 0, 1, 2, ... in the order of their smallest ids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbered(clusters: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """The same clusters by new numbers, and how many there are.

    >>> numbered(np.array([7, 7, 2, 9, 2]))
    (array([0, 0, 1, 2, 1]), 3)
    """
    n_points = len(clusters)
    if n_points and not 0 <= clusters.min() <= clusters.max() < 4 * n_points:
        clusters = np.unique(clusters, return_inverse=True)[1]
    first = np.full(int(clusters.max(initial=-1)) + 1, n_points)
    first[clusters[::-1]] = np.arange(n_points)[::-1]  # of several, the last one stays
    used = np.flatnonzero(first < n_points)
    number = np.empty(len(first), np.int64)
    number[used[np.argsort(first[used])]] = np.arange(len(used))
    return number[clusters], len(used)
