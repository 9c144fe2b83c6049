"""Mini-batch k-means (scikit-learn), with all its heuristics or fully online.

Online (o-MB-KM, section 6.5): centres are points of the first batch, chosen at random; no
restarts, no reassignments, no early stopping, each point seen once in the order of arrival.
"""

import time

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from . import Outcome


def run(X: NDArray[np.float32], n_clusters: int, seed: int, *, batch: int = 1024) -> Outcome:
    start = time.perf_counter()
    model = MiniBatchKMeans(n_clusters, batch_size=batch, n_init=3, random_state=seed)
    labels = model.fit_predict(X)
    return Outcome(None, labels, time.perf_counter() - start)


def run_online(X: NDArray[np.float32], n_clusters: int, seed: int, *, batch: int = 1024) -> Outcome:
    batch = max(batch, n_clusters)
    start = time.perf_counter()
    first = np.random.default_rng(seed).permutation(min(batch, len(X)))[:n_clusters]
    model = MiniBatchKMeans(
        len(first), init=X[first], n_init=1, batch_size=batch, reassignment_ratio=0,
        random_state=seed,
    )  # fmt: skip
    for place in range(0, len(X), batch):
        model.partial_fit(X[place : place + batch])
    labels = model.predict(X)
    return Outcome(None, labels, time.perf_counter() - start)
