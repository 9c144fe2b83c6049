"""StreamKM++ (Ackermann et al., 2012): one pass to a coreset, k-means++ on it, one more pass.

Points are collected in buckets of m; two full buckets are merged and reduced to m weighted
points by a coreset tree: leaf by leaf, chosen by cost, a point chosen by its squared distance
opens a new leaf.
"""

from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from . import Outcome
from .kmeans import Coreset, run_on_coreset


def run(X: NDArray[np.float32], n_clusters: int, seed: int, *, per_cluster: int = 20) -> Outcome:
    return run_on_coreset(partial(stream_coreset, seed=seed), X, n_clusters, seed, per_cluster)


def stream_coreset(X: NDArray[np.float32], size: int, seed: int) -> Coreset:
    """Merge and reduce: buckets of 1, 2, 4, ... times `size` points, each reduced to `size`."""
    buckets: list[Coreset | None] = []
    for start in range(0, len(X), size):
        points = X[start : start + size]
        bucket = points, np.ones(len(points))
        level = 0
        while level < len(buckets) and (waiting := buckets[level]) is not None:
            bucket = reduced(waiting, bucket, size, seed + start)
            buckets[level] = None
            level += 1
        buckets.extend([None] * (level + 1 - len(buckets)))
        buckets[level] = bucket
    full = [bucket for bucket in buckets if bucket is not None]
    result = full[0]
    for bucket in full[1:]:
        result = reduced(bucket, result, size, seed)
    return result


def reduced(a, b, size, seed):  # type: ignore[no-untyped-def]
    """One coreset of two."""
    points = np.ascontiguousarray(np.concatenate([a[0], b[0]]), np.float32)
    weights = np.concatenate([a[1], b[1]])
    if len(points) <= size:
        return points, weights
    chosen, sums = coreset_tree(points, weights, size, seed)
    return points[chosen], sums


@njit(cache=True)
def coreset_tree(points, weights, size, seed):  # type: ignore[no-untyped-def]
    """Choose points, each with the weight of all that is closer to it than to the others."""
    np.random.seed(seed % 2**31)  # noqa: NPY002  (compiled code has its own generator)
    n = len(points)
    # A binary tree of leaves: costs of inner nodes are sums. Leaf -> range of `order`.
    most = 2 * size
    left, right = np.full(most, -1, np.int64), np.full(most, -1, np.int64)
    parent = np.full(most, -1, np.int64)
    starts, stops = np.zeros(most, np.int64), np.zeros(most, np.int64)
    chosen, costs = np.zeros(most, np.int64), np.zeros(most)
    order, near = np.arange(n), np.zeros(n)
    chosen[0] = np.random.randint(n)  # noqa: NPY002
    stops[0] = n
    for i in range(n):
        near[i] = weights[i] * squared(points[i], points[chosen[0]])
        costs[0] += near[i]
    used, leaves = 1, 1
    while leaves < size and costs[0] > 0:
        node = 0
        while left[node] >= 0:
            target = np.random.random() * costs[node]  # noqa: NPY002
            node = left[node] if target < costs[left[node]] else right[node]
        if costs[node] <= 0:
            break
        target, pick = np.random.random() * costs[node], -1  # noqa: NPY002
        for place in range(starts[node], stops[node]):
            i = order[place]
            if near[i] > 0:
                pick = i
                target -= near[i]
                if target < 0:
                    break
        if pick < 0:
            break
        a, b = used, used + 1
        used += 2
        middle, cost_a, cost_b = starts[node], 0.0, 0.0
        for place in range(starts[node], stops[node]):
            i = order[place]
            new = weights[i] * squared(points[i], points[pick])
            if new < near[i]:
                near[i] = new
                cost_b += new
            else:
                cost_a += near[i]
                order[place], order[middle] = order[middle], order[place]
                middle += 1
        left[node], right[node] = a, b
        parent[a], parent[b] = node, node
        chosen[a], chosen[b] = chosen[node], pick
        starts[a], stops[a], starts[b], stops[b] = starts[node], middle, middle, stops[node]
        costs[a], costs[b] = cost_a, cost_b
        above = node
        change = cost_a + cost_b - costs[node]
        while above >= 0:
            costs[above] += change
            above = parent[above]
        leaves += 1
    out, sums = np.zeros(leaves, np.int64), np.zeros(leaves)
    count = 0
    for node in range(used):
        if left[node] < 0:
            out[count] = chosen[node]
            for place in range(starts[node], stops[node]):
                sums[count] += weights[order[place]]
            count += 1
    return out, sums


@njit(cache=True)
def squared(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - y[j]) ** 2
    return total
