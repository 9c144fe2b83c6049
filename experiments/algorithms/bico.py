"""BICO (Fichtenberger et al., 2013): a coreset in a BIRCH-like tree, then k-means++ on it.

Each node is a clustering feature (count, sum, sum of squares) around a reference point. A point
goes to the nearest reference below the current node; if it is farther than the level's radius it
opens a new feature there; if it can join without the feature's cost exceeding T it joins;
otherwise it goes down. With too many features T is doubled, and all features are inserted again.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from . import Outcome
from .kmeans import Coreset, run_on_coreset


def run(X: NDArray[np.float32], n_clusters: int, seed: int, *, per_cluster: int = 20) -> Outcome:
    return run_on_coreset(coreset, X, n_clusters, seed, per_cluster)


def coreset(X: NDArray[np.float32], size: int) -> Coreset:
    """At most `size` weighted points."""
    X = np.ascontiguousarray(X, np.float64)
    threshold = first_threshold(X[: size + 1])
    counts, sums = build(X, size, threshold)
    return (sums / counts[:, np.newaxis]).astype(np.float32), counts


def first_threshold(X: NDArray[np.float64]) -> float:
    """So small that radii on the first level are the smallest gap in a sample of the points."""
    sample = X[:: max(1, len(X) // 200)][:200]
    gaps = ((sample[:, np.newaxis] - sample) ** 2).sum(axis=2)
    gaps = gaps[gaps > 0]
    return float(gaps.min()) * 16 if len(gaps) else 1.0


@njit(cache=True)
def build(X, size, threshold):  # type: ignore[no-untyped-def]
    """Counts and sums of the features in the end."""
    n, d = X.shape
    counts, squares = np.zeros(size + 2), np.zeros(size + 2)
    sums, references = np.zeros((size + 2, d)), np.zeros((size + 2, d))
    first, following = np.full(size + 2, -1, np.int64), np.full(size + 2, -1, np.int64)
    features = counts, sums, squares, references, first, following
    used = 1  # node 0 is the root, no feature itself
    for row in range(n):
        used = insert(features, used, threshold, (X[row], 1.0, 0.0, X[row]))
        while used > size + 1:
            threshold *= 2
            old_counts, old_sums = counts[1:used].copy(), sums[1:used].copy()
            old_squares, old_references = squares[1:used].copy(), references[1:used].copy()
            counts[:], squares[:], first[:], following[:] = 0, 0, -1, -1
            sums[:] = 0
            used = 1
            for i in range(len(old_counts)):
                mean = old_sums[i] / old_counts[i]
                scatter = old_squares[i] - (mean * old_sums[i]).sum()
                old = mean, old_counts[i], max(scatter, 0.0), old_references[i]
                used = insert(features, used, threshold, old)
    return counts[1:used], sums[1:used]


@njit(cache=True)
def insert(features, used, threshold, new):  # type: ignore[no-untyped-def]
    """Insert a point or a feature (mean, weight, scatter, reference); how many nodes there are."""
    counts, sums, squares, references, first, following = features
    mean, weight, scatter, reference = new
    d = len(mean)
    node, level = 0, 1
    while True:
        nearest, near = -1, np.inf
        child = first[node]
        while child >= 0:
            total = 0.0
            for j in range(d):
                total += (references[child, j] - reference[j]) ** 2
                if total >= near:
                    break
            if total < near:
                nearest, near = child, total
            child = following[child]
        radius = threshold / (8.0 * 2.0**level)  # squared
        if nearest < 0 or near > radius:
            counts[used], squares[used] = weight, scatter + weight * (mean * mean).sum()
            sums[used] = weight * mean
            references[used] = reference
            following[used] = first[node]
            first[used] = -1
            first[node] = used
            return used + 1
        count = counts[nearest] + weight
        square = squares[nearest] + scatter + weight * (mean * mean).sum()
        total = 0.0
        for j in range(d):
            total += (sums[nearest, j] + weight * mean[j]) ** 2
        if square - total / count <= threshold or level == 40:
            counts[nearest], squares[nearest] = count, square
            sums[nearest] += weight * mean
            return used
        node = nearest
        level += 1
