"""k-means with k-means++ (scikit-learn), and its use on a coreset."""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from . import Outcome


def run(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    start = time.perf_counter()
    labels = KMeans(n_clusters, n_init=1, random_state=seed).fit_predict(X)
    return Outcome(None, labels, time.perf_counter() - start)


Coreset = tuple[NDArray[np.float32], NDArray[np.float64]]
"""Points and their weights."""


def coreset_size(n_clusters: int, per_cluster: int) -> int:
    """So many points a cluster; if clusters are few, 200 of each, as StreamKM++'s authors take."""
    return max(per_cluster * n_clusters, min(200 * n_clusters, 2000))


def run_on_coreset(
    make: Callable[[NDArray[np.float32], int], Coreset],
    X: NDArray[np.float32],
    n_clusters: int,
    seed: int,
    per_cluster: int,
) -> Outcome:
    """k-means++ and Lloyd's algorithm on weighted points, then X by the nearest centre."""
    start = time.perf_counter()
    points, weights = make(X, coreset_size(n_clusters, per_cluster))
    model = KMeans(min(n_clusters, len(points)), n_init=1, random_state=seed)
    centres = model.fit(points, sample_weight=weights).cluster_centers_
    labels = pairwise_distances_argmin(X, centres)
    return Outcome(None, labels, time.perf_counter() - start, notes={"coreset": len(points)})
