"""Trees of other libraries in a form that `dendrogram_purity` takes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances_argmin


def birch_parents(model: Any, X: ArrayLike) -> NDArray[np.int64]:
    """The CF tree of a fitted scikit-learn Birch, each point below its nearest subcluster.

    Nodes have many children there. Points come first, then nodes; the root's parent is -1.

    Examples
    --------
    >>> from sklearn.cluster import Birch
    >>> from perchtree.metrics import dendrogram_purity
    >>> from perchtree.peers import birch_parents
    >>> X = [[0.0], [0.1], [9.0], [9.1]]
    >>> dendrogram_purity(birch_parents(Birch(threshold=0.5, n_clusters=2).fit(X), X), [0, 0, 1, 1])
    1.0
    """
    subcluster_of = pairwise_distances_argmin(X, model.subcluster_centers_)
    n_points = len(subcluster_of)
    # In the order of `subcluster_centers_`.
    parts = [part for leaf in model._get_leaves() for part in leaf.subclusters_]
    place = {id(part): i for i, part in enumerate(parts)}
    parents = [-1]  # the root, numbered after the points
    numbers = np.empty(len(parts), np.int64)
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
