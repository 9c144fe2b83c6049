"""Present-day peers: fast_hdbscan, EVoC and faiss."""

import time

import numpy as np
from numpy.typing import NDArray

from . import Outcome


def run_hdbscan(
    X: NDArray[np.float32], n_clusters: int, seed: int, *, min_cluster_size: int = 5
) -> Outcome:
    """HDBSCAN; it finds the number of clusters itself, and leaves noise out."""
    from fast_hdbscan import HDBSCAN

    start = time.perf_counter()
    labels = HDBSCAN(min_cluster_size=min_cluster_size).fit_predict(X.astype(np.float64))
    seconds = time.perf_counter() - start
    return Outcome(None, labels, seconds, notes={"found": int(labels.max()) + 1})


def run_evoc(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    """EVoC; it finds the number of clusters itself, and leaves noise out."""
    from evoc import EVoC

    start = time.perf_counter()
    labels = EVoC(random_state=seed).fit_predict(X)
    seconds = time.perf_counter() - start
    return Outcome(None, labels, seconds, notes={"found": int(labels.max()) + 1})


def run_faiss(
    X: NDArray[np.float32], n_clusters: int, seed: int, *, iterations: int = 25
) -> Outcome:
    """faiss's k-means, on all points."""
    import faiss

    start = time.perf_counter()
    model = faiss.Kmeans(
        X.shape[1], n_clusters, niter=iterations, seed=seed + 1, verbose=False,
        min_points_per_centroid=1, max_points_per_centroid=len(X),
    )  # fmt: skip
    X = np.ascontiguousarray(X, np.float32)
    model.train(X)
    labels = model.index.search(X, 1)[1][:, 0]
    return Outcome(None, labels, time.perf_counter() - start)
