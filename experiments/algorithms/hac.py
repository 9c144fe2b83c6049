"""Agglomerative clustering of all points at once (fastcluster)."""

import time

import fastcluster
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster

from . import Outcome

LINKAGES = ["single", "average", "complete", "ward"]


def run(X: NDArray[np.float32], n_clusters: int, seed: int, linkage: str) -> Outcome:
    start = time.perf_counter()
    merges = fastcluster.linkage(X.astype(np.float64), linkage)
    seconds = time.perf_counter() - start
    return Outcome(merges, fcluster(merges, n_clusters, "maxclust"), seconds)
