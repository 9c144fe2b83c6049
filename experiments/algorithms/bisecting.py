"""Bisecting k-means (scikit-learn): a tree from the top down, as deep as the clusters asked for."""

import time

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import BisectingKMeans

from . import Outcome


def run(X: NDArray[np.float32], n_clusters: int, seed: int) -> Outcome:
    start = time.perf_counter()
    model = BisectingKMeans(n_clusters, random_state=seed).fit(X)
    seconds = time.perf_counter() - start
    parents = [-1]
    of_label = np.empty(n_clusters, np.int64)
    waiting = [(model._bisecting_tree, len(X))]
    while waiting:
        node, number = waiting.pop()
        if node.left is None:
            of_label[node.label] = number
            continue
        for child in (node.left, node.right):
            parents.append(number)
            waiting.append((child, len(X) + len(parents) - 1))
    return Outcome(np.concatenate([of_label[model.labels_], parents]), model.labels_, seconds)
