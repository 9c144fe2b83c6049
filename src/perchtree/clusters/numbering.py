"""Clusters numbered 0, 1, 2, ... in the order of their smallest ids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbered(clusters: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """The same clusters by new numbers, and how many there are.

    >>> numbered(np.array([7, 7, 2, 9, 2]))
    (array([0, 0, 1, 2, 1]), 3)
    """
    _, first, inverse = np.unique(clusters, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse], len(first)
