"""DBSCAN (scikit-learn). The radius is a quantile of distances to the nearest neighbour."""

import time

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import DBSCAN

from . import Outcome, nearest_distances


def run(
    X: NDArray[np.float32], n_clusters: int, seed: int, *, quantile: float = 0.5,
    min_samples: int = 2,
) -> Outcome:  # fmt: skip
    radius = max(float(np.quantile(nearest_distances(X), quantile)), 1e-9)
    start = time.perf_counter()
    labels = DBSCAN(eps=radius, min_samples=min_samples, n_jobs=-1).fit_predict(X)
    seconds = time.perf_counter() - start
    return Outcome(None, labels, seconds, notes={"found": int(labels.max()) + 1})
