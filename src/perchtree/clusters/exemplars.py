"""A point of each cluster that stands for it: the one whose leaf is nearest to the mean."""

import numpy as np
from numpy.typing import NDArray

from .._centres import node_centres
from .._kernels.schema import LEAF, SIZE, Tree
from ..table import NodeTable


def find_exemplars(tree: Tree, table: NodeTable, clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """The id of one point for each of the clusters 0, 1, 2, ... of all points.

    A collapsed leaf is where its points have their mean, or, in a tree that keeps no means, in
    the middle of its box. The smallest of its ids stands for it.

    Parameters
    ----------
    tree, table
        A tree and its table.
    clusters : int64 array of n_points
        The cluster of each point, in the order of `table.ids`. All points of a leaf are in one.
    """
    leaf_of = tree.ids[table.ids, LEAF]
    leaves, first = np.unique(leaf_of, return_index=True)
    cluster = clusters[first]
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(clusters.max()) + 1))
    stops = np.append(starts[1:], len(order))
    exemplars = np.empty(len(starts), np.int64)
    for number, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        own = order[start:stop]
        centres = node_centres(tree, leaves[own])
        mean = np.average(centres, axis=0, weights=tree.nodes[leaves[own], SIZE])
        nearest = int(((centres - mean) ** 2).sum(axis=1).argmin())
        exemplars[number] = table.ids[first[own[nearest]]]
    return exemplars
