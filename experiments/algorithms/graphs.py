"""Batch clustering of the graph of nearest neighbours: by neighbours, by SCC, by reachability."""

import time

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from perchtree import agglomerate
from perchtree.search.products import Points, scan_points

from . import Outcome

NEIGHBORS = 24
"""Of each point, for all of them."""

ROUNDS = 50
"""Thresholds of SCC, evenly spread in the logarithm."""

CORE = 5
"""Mutual reachability: how many neighbours a point's core distance holds."""


def by_neighbors(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    start = time.perf_counter()
    tree = agglomerate(X, neighbors=NEIGHBORS, n_jobs=-1)
    seconds = time.perf_counter() - start
    labels = tree.cut(min(n_clusters, tree.n_leaves), criterion="cost")
    return Outcome(tree, labels, seconds, tree.depth.max)


def _graph(X: NDArray[np.float32]) -> tuple[sparse.csr_array, NDArray[np.float32]]:
    """Squared distances to nearest neighbours, in both directions; and those of the core."""
    n = len(X)
    k = min(NEIGHBORS, n - 1)
    found = scan_points(X, Points(X, np.arange(n, dtype=np.int32)), None, k + 1, 2)
    rows = np.repeat(np.arange(n), k + 1)
    other = found.ids.ravel() != rows
    # Copies are at a distance of 0, which a sparse matrix takes for none.
    near = np.maximum(found.near, np.finfo(np.float32).tiny)
    graph = sparse.csr_array((near.ravel()[other], (rows[other], found.ids.ravel()[other])), (n, n))
    return graph.maximum(graph.T).tocsr(), near[:, min(CORE, k)]


def scc(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    """Sub-cluster components (Monath and others, KDD 2021), on the graph.

    In rounds of growing thresholds, every cluster is joined to its nearest one, by the mean squared
    length of the edges between them, if that is below the threshold; what is connected then is
    one cluster of the next round.
    """
    start = time.perf_counter()
    sums, _ = _graph(X)
    counts = sums.copy()
    counts.data[:] = 1
    n = len(X)
    parents = [np.full(n, -1)]
    numbers, made = np.arange(n), n
    for threshold in [*np.geomspace(sums.data.min(), sums.data.max(), ROUNDS), np.inf]:
        links = sums.tocoo()
        means = links.data / counts.tocoo().data
        order = np.lexsort((means, links.row))
        first = order[np.r_[True, np.diff(links.row[order]) > 0]] if len(order) else order
        first = first[means[first] <= threshold]
        joined = sparse.coo_array(
            (np.ones(len(first)), (links.row[first], links.col[first])), sums.shape
        )
        n_parts, part = connected_components(joined, directed=False)
        if n_parts == len(numbers):
            continue
        sizes = np.bincount(part)
        new = np.where(sizes > 1, made + np.cumsum(sizes > 1) - 1, -1)
        grown = sizes[part] > 1
        all_parents = np.concatenate(parents)
        all_parents[numbers[grown]] = new[part[grown]]
        parents = [all_parents, np.full(int((sizes > 1).sum()), -1)]
        kept = np.zeros(n_parts, np.int64)
        kept[part] = numbers
        numbers, made = np.where(sizes > 1, new, kept), made + int((sizes > 1).sum())
        into = sparse.csr_array((np.ones(len(part)), (part, np.arange(len(part)))))
        sums, counts = (_without_diagonal(into @ matrix @ into.T) for matrix in (sums, counts))
    everything = np.concatenate([*parents, [-1]])
    if len(numbers) > 1:  # what the graph leaves unconnected
        everything[numbers] = made
        tops = everything
    else:
        tops = everything[:-1]
    return Outcome(tops, None, time.perf_counter() - start)


def _without_diagonal(matrix: sparse.csr_array) -> sparse.csr_array:
    links = matrix.tocoo()
    apart = links.row != links.col
    return sparse.csr_array((links.data[apart], (links.row[apart], links.col[apart])), matrix.shape)


def reachability(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    """Single linkage of mutual reachability (Campello and others, 2013), on the graph."""
    start = time.perf_counter()
    graph, core = _graph(X)
    links = graph.tocoo()
    reach = np.maximum(np.maximum(links.data, core[links.row]), core[links.col])
    spanning = minimum_spanning_tree(
        sparse.csr_array((reach, (links.row, links.col)), graph.shape)
    ).tocoo()
    order = np.argsort(spanning.data, kind="stable")
    n = len(X)
    tops = np.arange(2 * n)
    parents = np.full(2 * n, -1)
    made = n

    def top(number: int) -> int:
        while tops[number] != number:
            tops[number] = tops[tops[number]]
            number = tops[number]
        return number

    for a, b in zip(spanning.row[order].tolist(), spanning.col[order].tolist(), strict=True):
        one, other = top(a), top(b)
        parents[one] = parents[other] = tops[one] = tops[other] = made
        made += 1
    roots = np.flatnonzero(parents[:made] == -1)
    if len(roots) > 1:  # what the graph leaves unconnected
        parents[roots] = made
        made += 1
    return Outcome(parents[:made], None, time.perf_counter() - start)
