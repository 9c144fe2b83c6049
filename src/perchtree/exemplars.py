"""A point of each cluster that stands for it: the leaf nearest to the cluster's mean."""

import numpy as np
from numpy.typing import NDArray

from ._kernels.schema import FIRST, LEAF, SIZE, Tree
from .table import living_ids


def find_exemplars(tree: Tree, clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """The id of one point for each of the clusters 0, 1, 2, ... of all points.

    A collapsed leaf is as near as the middle of its box, and stands for its smallest id.
    """
    leaf_of = tree.ids[living_ids(tree), LEAF]
    leaves, first = np.unique(leaf_of, return_index=True)
    cluster = clusters[first]  # no cluster is finer than a leaf
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(clusters.max()) + 1))
    stops = np.append(starts[1:], len(order))
    exemplars = np.empty(len(starts), np.int64)
    for number, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        own = leaves[order[start:stop]]
        middles = _middles(tree, own)
        mean = np.average(middles, axis=0, weights=tree.nodes[own, SIZE])
        nearest = int(((middles - mean) ** 2).sum(axis=1).argmin())
        exemplars[number] = tree.nodes[own[nearest], FIRST]
    return exemplars


def _middles(tree: Tree, leaves: NDArray[np.int32]) -> NDArray[np.float64]:
    middles = np.empty((len(leaves), tree.points.shape[1]))
    is_point = leaves % 2 == 0
    middles[is_point] = tree.points[leaves[is_point] // 2]
    middles[~is_point] = tree.boxes[leaves[~is_point] // 2, :2].mean(axis=1, dtype=np.float64)
    return middles
