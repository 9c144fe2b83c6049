"""BIRCH (scikit-learn), its CF tree scored as a tree in which nodes have many children.

The threshold is half the median distance to the nearest neighbour in a sample: it must follow
the scale of the data, and larger ones merge what belongs apart.
"""

import time

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import Birch
from sklearn.neighbors import NearestNeighbors

from perchtree.peers import birch_parents

from . import Outcome

MOST_CENTRES = 10_000
"""Its last step clusters all subclusters at once, in quadratic memory."""


def run(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    sample = X[:: max(1, len(X) // 1000)]
    distances, _ = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(sample)
    threshold = 0.5 * float(np.median(distances[:, 1]))
    start = time.perf_counter()
    model = Birch(n_clusters=None, threshold=threshold).fit(X)
    seconds = time.perf_counter() - start
    n_centres = len(model.subcluster_centers_)
    labels = None
    if n_clusters < n_centres <= MOST_CENTRES:
        labels = model.set_params(n_clusters=n_clusters).partial_fit().predict(X)
    elif n_centres <= n_clusters:
        labels = model.labels_
    notes = {"subclusters": n_centres, "threshold": threshold}
    return Outcome(birch_parents(model, X), labels, seconds, notes=notes)
