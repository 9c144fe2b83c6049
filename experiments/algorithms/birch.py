"""BIRCH (scikit-learn), its CF tree scored as a tree in which nodes have many children.

The threshold is half the median distance to the nearest neighbour in a sample: it must follow
the scale of the data, and larger ones merge what belongs apart.
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import Birch
from sklearn.neighbors import NearestNeighbors

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
    return Outcome(parents_of(model, len(X)), labels, seconds, notes=notes)


def parents_of(model: Any, n_points: int) -> NDArray[np.int64]:
    """The CF tree with its points below their subclusters, as an array of parents."""
    subcluster_of = model.set_params(n_clusters=None).partial_fit().labels_
    place = {id(part): i for i, part in enumerate(_parts(model))}
    parents = [-1]  # the root, numbered after the points
    numbers = np.empty(len(place), np.int64)
    waiting = [(model.root_, n_points)]
    while waiting:
        node, number = waiting.pop()
        for part in node.subclusters_:
            parents.append(number)
            below = n_points + len(parents) - 1
            if part.child_ is None:
                numbers[place[id(part)]] = below
            else:
                waiting.append((part.child_, below))
    return np.concatenate([numbers[subcluster_of], parents])


def _parts(model: Any) -> list[Any]:
    """Subclusters in the order of `subcluster_centers_`."""
    return [part for leaf in model._get_leaves() for part in leaf.subclusters_]
