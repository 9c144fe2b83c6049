"""From a tree to flat clusters."""

import numpy as np
from numpy.typing import NDArray

from ._kernels.merges import find_smallest_ids, find_tops
from ._kernels.schema import NONE
from .table import NodeTable, arranged


def cut_into(table: NodeTable, n_clusters: int) -> NDArray[np.int64]:
    """Labels of the clustering that the paper's greedy heuristic (section 6.3) extracts.

    While there are more than `n_clusters` leaves, the node of smallest cost is collapsed,
    children before parents: cost = diagonal of its box x number of points.
    """
    n_leaves = table.n_points - int(table.inner.sum())
    if n_clusters > n_leaves:
        raise ValueError(f"{n_clusters} clusters asked of a tree of {n_leaves} leaves")
    joined = np.zeros(len(table.parents), bool)
    joined[table.n_points + _collapse_order(table)[: table.n_points - n_clusters]] = True
    tops = np.empty(len(table.parents), np.int64)
    find_tops(table.parents, joined, tops)
    return _numbered(tops[: table.n_points])


def _collapse_order(table: NodeTable) -> NDArray[np.int64]:
    """All merges in the order in which they are collapsed; inside leaves first."""
    smallest = np.full(len(table.parents), NONE, np.int64)
    find_smallest_ids(table.n_points, table.parents, smallest)
    merges = slice(table.n_points, None)
    cost = table.heights[merges] * table.sizes[merges]
    cost[table.inner] = -1
    return arranged(table.children, table.parents, cost, smallest[merges])


def _numbered(clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels 0, 1, 2, ... in the order of each cluster's smallest id."""
    _, first, inverse = np.unique(clusters, return_index=True, return_inverse=True)
    label = np.empty_like(first)
    label[np.argsort(first)] = np.arange(len(first))
    return label[inverse]
