"""BIRCH (scikit-learn), its CF tree scored as a tree in which nodes have many children.

The threshold is a share of the median distance to the nearest neighbour. "Online": the tree as
one pass leaves it. "Rebuild": the means of its subclusters, without their weights, are inserted
leaf after leaf into a new tree with the same threshold; points follow their subcluster.
(scikit-learn's does not rebuild by itself, and takes no weights.)
"""

import time

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import Birch
from sklearn.metrics import pairwise_distances_argmin

from perchtree.peers import birch_parents

from . import Outcome, nearest_distances

MOST_CENTRES = 10_000
"""Its last step clusters all subclusters at once, in quadratic memory."""


def run(
    X: NDArray[np.float32], n_clusters: int, seed: int, *, share: float = 0.5, branching: int = 50,
    rebuild: bool = False,
) -> Outcome:  # fmt: skip
    threshold = max(share * float(np.median(nearest_distances(X))), 1e-9)
    settings = {"n_clusters": None, "threshold": threshold, "branching_factor": branching}
    start = time.perf_counter()
    model = Birch(**settings).fit(X)
    centres = model.subcluster_centers_
    if rebuild:
        again = Birch(**settings).fit(centres)
    seconds = time.perf_counter() - start
    labels = None
    if n_clusters < len(centres) <= MOST_CENTRES:
        labels = model.set_params(n_clusters=n_clusters).partial_fit().predict(X)
    elif len(centres) <= n_clusters:
        labels = model.labels_
    tree = _below(birch_parents(again, centres), centres, X) if rebuild else birch_parents(model, X)
    notes = {"subclusters": len(centres), "threshold": threshold}
    return Outcome(tree, labels, seconds, notes=notes)


def _below(
    parents: NDArray[np.int64], centres: NDArray[np.float32], X: NDArray[np.float32]
) -> NDArray[np.int64]:
    """A tree of centres as a tree of the points: each point is below its nearest centre."""
    nearest = pairwise_distances_argmin(X, centres)
    shifted = np.where(parents >= 0, parents + len(X), -1)
    return np.concatenate([nearest + len(X), shifted])
