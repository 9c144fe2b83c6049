"""Whether clusters are found again in a tree of the same points in another order.

Clusters that depend on the order of the points say little about the points. So some whole subtrees,
which do not split clusters, are rebuilt in two random orders. For each point, the Jaccard
coefficient of its clusters in both trees measures how well its cluster is found again. Hennig
("Cluster-wise assessment of cluster stability", 2007) calls a cluster dissolved if that is at most
a half.
"""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._centres import node_centres
from .._kernels.schema import LEAF, Tree
from .._mapped import Mapped
from ..table import NodeTable
from .extraction import extract, find_all_tops

Values = NDArray[np.float64]
Numbers = NDArray[np.int64]
Grow = Callable[[Values], NodeTable]
"""Makes a tree of rows and numbers it."""

SAMPLE = 2048
"""Points of a subtree at most; subtrees are drawn until they have so many together."""
FARTHEST = 1e15
"""Coordinates that no tree refuses, in any number of dimensions."""
DISSOLVED = 0.5
"""Clusters of which no more is found again say little."""


class Regrown:
    """A part of a tree, rebuilt in two orders when it is first needed."""

    def __init__(self, tree: Tree, table: NodeTable, grow: Grow) -> None:
        self._tree, self._table, self._grow = tree, table, grow

    def agreement(self, least: int) -> float:
        """How far clusters of at least so many points are found again: the mean over points."""
        one, other = (
            find_all_tops(table, extract(table, least))[places] for table, places in self._trees
        )
        return mean_jaccard(one, other, least)

    @functools.cached_property
    def _trees(self) -> list[tuple[NodeTable, Numbers]]:
        """Two trees, and the number that each point of the sample has there."""
        rng = np.random.default_rng(0)
        rows = rows_of(self._tree, self._table, draw_subtrees(self._table, rng))
        orders = [rng.permutation(len(rows)) for _ in range(2)]
        return [(self._grow(rows[order]), np.argsort(order)) for order in orders]


def rows_of(tree: Tree, table: NodeTable, numbers: Numbers) -> Values:
    """Where points are, in the middle of their leaf if it is collapsed; on another scale if they
    are so far away that a tree would refuse them."""
    leaves, mapped = tree.ids[table.ids[numbers], LEAF], Mapped.behind(tree.points)
    rows = np.empty((len(leaves), tree.points.shape[1]))
    step = max(1, len(leaves)) if mapped is None else mapped.scattered
    for first in range(0, len(leaves), step):
        rows[first : first + step] = node_centres(tree, leaves[first : first + step])
        if mapped is not None:
            mapped.have_read()
    rows = np.nan_to_num(rows, posinf=0, neginf=0)  # mapped files can be damaged
    return rows / max(1.0, float(np.abs(rows).max(initial=0.0)) / FARTHEST)


def draw_subtrees(table: NodeTable, rng: np.random.Generator) -> Numbers:
    """The points of some of the largest subtrees with no more points than a sample has."""
    tops = find_all_tops(table, table.sizes <= SAMPLE)
    drawn = rng.permutation(np.unique(tops))
    n_drawn = np.searchsorted(np.cumsum(table.sizes[drawn]), SAMPLE) + 1
    return np.flatnonzero(np.isin(tops, drawn[:n_drawn]))


def mean_jaccard(one: Numbers, other: Numbers, least: int) -> float:
    """The mean Jaccard coefficient of each point's clusters in two clusterings.

    Points that are in a cluster of fewer than `least` points in both do not count.

    >>> round(mean_jaccard(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2), 3)
    0.521
    """
    (one, sizes), (other, other_sizes) = map(_with_sizes, (one, other))
    shared = _with_sizes(one * len(other) + other)[1]
    counts = (sizes >= least) | (other_sizes >= least)
    if not counts.any():
        return 1.0
    return float((shared / (sizes + other_sizes - shared))[counts].mean())


def _with_sizes(clusters: Numbers) -> tuple[Numbers, Numbers]:
    """Clusters as 0, 1, 2, ..., and for each point the size of its cluster."""
    _, clusters, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    return clusters, sizes[clusters]
