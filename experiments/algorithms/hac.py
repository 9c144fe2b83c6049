"""Agglomerative clustering of all points at once (fastcluster)."""

import time

import fastcluster
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster

from . import Outcome

MOST_POINTS = 30_000
"""Of more, a matrix of all distances takes several GB; two linkages can do without, but slower."""

LINKAGES = ["single", "average", "complete", "ward"]


def run(X: NDArray[np.float32], n_clusters: int, seed: int, linkage: str) -> Outcome:
    start = time.perf_counter()
    X = X.astype(np.float64)
    if linkage in ("single", "ward") and len(X) > MOST_POINTS:
        merges = fastcluster.linkage_vector(X, linkage)
    else:
        merges = fastcluster.linkage(X, linkage)
    seconds = time.perf_counter() - start
    return Outcome(merges, fcluster(merges, n_clusters, "maxclust"), seconds)
