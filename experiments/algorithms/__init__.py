"""Clustering algorithms behind one interface: (X, number of clusters, seed) -> `Outcome`.

The clock of an algorithm runs for building its tree, not for cutting it or for compiling.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors


class Outcome(NamedTuple):
    """What an algorithm makes of the data."""

    tree: Any
    """Anything that `dendrogram_purity` takes."""
    labels: NDArray[np.integer] | None
    """A clustering into the number of clusters asked for; None if that was out of reach."""
    seconds: float
    depth: int | None = None
    notes: dict[str, Any] | None = None


Algorithm = Callable[[NDArray[np.float32], int, int], Outcome]


def labels_from_children(children: NDArray[np.int64], n_clusters: int) -> NDArray[np.int64]:
    """Cut where the last merges were made: the first n - K merges join what they join."""
    n_points = len(children) + 1
    parents = np.arange(2 * n_points - 1)
    kept = max(n_points - n_clusters, 0)
    parents[children[:kept].ravel()] = np.repeat(np.arange(n_points, n_points + kept), 2)
    for node in range(n_points + kept - 1, -1, -1):  # parents come after their children
        parents[node] = parents[parents[node]]
    return np.unique(parents[:n_points], return_inverse=True)[1]


def nearest_distances(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far the nearest other point is, for a sample of the points."""
    sample = X[:: max(1, len(X) // 1000)]
    distances: NDArray[np.float32] = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(sample)[0]
    return distances[:, 1]
