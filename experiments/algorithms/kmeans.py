"""k-means with k-means++ (scikit-learn), and its use on a coreset."""

import time

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin

from . import Outcome


def run(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    start = time.perf_counter()
    labels = KMeans(n_clusters, n_init=1, random_state=seed).fit_predict(X)
    return Outcome(None, labels, time.perf_counter() - start)


def coreset_size(n_clusters: int, per_cluster: int) -> int:
    """So many points a cluster; if clusters are few, 200 of each, as StreamKM++'s authors take."""
    return max(per_cluster * n_clusters, min(200 * n_clusters, 2000))


def cluster_weighted(
    points: NDArray[np.float32],
    weights: NDArray[np.float64],
    X: NDArray[np.float32],
    n_clusters: int,
    seed: int,
) -> NDArray[np.integer]:
    """k-means++ and Lloyd's algorithm on weighted points, then X by the nearest centre."""
    model = KMeans(min(n_clusters, len(points)), n_init=1, random_state=seed)
    centres = model.fit(points, sample_weight=weights).cluster_centers_
    return pairwise_distances_argmin(X, centres)
