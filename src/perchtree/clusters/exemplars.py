"""Exemplars: the point of each cluster whose leaf is nearest to the mean."""

import itertools

import numpy as np
from numpy.typing import NDArray

from .._centres import node_centres
from .._kernels.schema import LEAF, Tree
from ..table import NodeTable


def find_exemplar(tree: Tree, ids: NDArray[np.int64]) -> int:
    """The id of the exemplar of some points, as `find_exemplars` would choose it."""
    leaves, first, counts = np.unique(tree.ids[ids, LEAF], return_index=True, return_counts=True)
    centres = node_centres(tree, leaves)
    mean = np.average(centres, axis=0, weights=counts)
    return int(ids[first[((centres - mean) ** 2).sum(axis=1).argmin()]])


def find_exemplars(tree: Tree, table: NodeTable, clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """The id of one point for each of the clusters 0, 1, 2, ... of all points.

    A collapsed leaf is where its points have their mean, or, in a tree that keeps no means, in
    the middle of its box. The smallest of its ids stands for it.

    Parameters
    ----------
    tree, table
        A tree and its table.
    clusters : int64 array of n_points
        The cluster of each point, in the order of `table.ids`. Points of one leaf can be in
        several, each of which has a part of the leaf then.
    """
    leaf_of = tree.ids[table.ids, LEAF]
    order = np.lexsort((leaf_of, clusters))
    cluster, leaf = clusters[order], leaf_of[order]
    begins = np.append(True, (cluster[1:] != cluster[:-1]) | (leaf[1:] != leaf[:-1]))
    cluster, leaf, first = cluster[begins], leaf[begins], order[begins]
    counts = np.diff(np.flatnonzero(begins), append=len(order))
    edges = np.searchsorted(cluster, np.arange(int(clusters.max()) + 2))
    exemplars = np.empty(len(edges) - 1, np.int64)
    for number, (start, stop) in enumerate(itertools.pairwise(edges.tolist())):
        centres = node_centres(tree, leaf[start:stop])
        mean = np.average(centres, axis=0, weights=counts[start:stop])
        nearest = int(((centres - mean) ** 2).sum(axis=1).argmin())
        exemplars[number] = table.ids[first[start + nearest]]
    return exemplars
