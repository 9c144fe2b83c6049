"""Clusters at different heights in different parts of a tree: those that persist.

Come down from the root. Where a cluster splits into two parts of at least `least` points, two
clusters begin; smaller parts fall out of it. A point's lifetime in a cluster is the difference
between the height at which the cluster begins and the one at which the point leaves it. The
strength of a cluster is its mean lifetime times the cube root of its size; the clusters with the
largest total strength are chosen, by dynamic programming. Heights are pooled: a few points that lie
wrongly inside a cluster do not raise all that is above them.

With the size itself in place of its cube root (the excess of mass of HDBSCAN) a few huge clusters
win wherever a handful of points lies far away; docs/cuts.md has the figures.

Points that fell out of a chosen cluster before its points stayed together longest, and those that
belong to none, are clusters of their own, in the groups in which they fell out.
"""

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_tops
from .._kernels.persistence import Merges, Persistence, find_clusters
from ..table import NodeTable
from .numbering import numbered

DAMPING = 2 / 3
"""What remains of the size is its cube root."""


def extract(table: NodeTable, least: int, damping: float = DAMPING) -> NDArray[np.bool_]:
    """Which numbers are joined if the clusters that persist have at least so many points."""
    return _find(table, table.pooled, least, damping)[0]


def find_all_tops(table: NodeTable, joined: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number that stands for the cluster of each point, if these numbers are joined.

    All that is below a joined number must be joined, too.
    """
    tops = np.empty(len(table.parents), np.int64)
    find_tops(table.parents, joined, tops)
    return tops[: table.n_points]


def label(table: NodeTable, joined: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Labels 0, 1, 2, ... of all points if these numbers are joined, by smallest ids."""
    return numbered(find_all_tops(table, joined))[0]


def total_strength(
    table: NodeTable, levels: NDArray[np.float64], least: int, damping: float
) -> float:
    """The largest total strength of clusters, with lifetimes measured by `levels`."""
    return _find(table, levels, least, damping)[1]


def logarithms(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithms of heights; what has none is as high as the lowest that has."""
    positive = heights[heights > 0]
    floor = positive.min() if len(positive) else 1.0
    levels: NDArray[np.float64] = np.log(np.maximum(heights, floor))
    return levels


def _find(
    table: NodeTable, levels: NDArray[np.float64], least: int, damping: float
) -> tuple[NDArray[np.bool_], float]:
    n_numbers = len(table.parents)
    found = Persistence(
        left=np.empty(n_numbers),
        splits=np.empty(n_numbers, bool),
        below=np.empty(n_numbers),
        core=np.empty(n_numbers, np.int64),
        stay=np.empty(n_numbers),
        chosen=np.empty(n_numbers, bool),
    )
    joined = np.empty(n_numbers, bool)
    merges = Merges(table.children, table.sizes, table.inner, levels)
    return joined, find_clusters(merges, least, damping, found, joined)
