"""Data sets by name: X as float32 and y, in the order of a seed."""

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

NAMES = [
    "glass", "digits", "spambase", "letter", "aloi27", "omniglot", "clinc150", "hist50k", "covtype",
]  # fmt: skip


def load(
    name: str, n_rows: int | None = None, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Load a data set, shuffle it, and keep its first rows."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        folder = os.environ.get("PERCHTREE_DATA")
        if not folder:
            sys.exit("PERCHTREE_DATA is not set: it names the folder with the data sets")
        with np.load(Path(folder) / f"{name}.npz") as file:
            X, y = file["X"], file["y"]
    order = np.random.default_rng(seed).permutation(len(X))[:n_rows]
    scale = np.float32(255 if name == "omniglot" else 1)
    return X[order].astype(np.float32) / scale, y[order].astype(np.int64)


def separable(
    rng: np.random.Generator, n_clusters: int, per_cluster: int, n_features: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Clusters whose points are all closer to each other than to others, but often not by much."""
    y = np.repeat(np.arange(n_clusters), per_cluster)
    while True:
        centres = 2 * rng.random((n_clusters, n_features)) * n_clusters ** (1 / n_features)
        X = centres[y] + 0.45 / np.sqrt(n_features) * rng.random((len(y), n_features))
        squared = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
        same = y[:, np.newaxis] == y
        if squared[same].max() < squared[~same].min():
            return X.astype(np.float32), y


def in_order(order: str, rng: np.random.Generator, y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of points as they arrive: at random, class by class, or the classes in turn."""
    shuffled = rng.permutation(len(y))
    if order == "random":
        return shuffled
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    if order == "sorted":
        return by_class
    turns = np.empty(len(y), np.int64)
    for label in np.unique(y):
        of_class = y[by_class] == label
        turns[of_class] = np.arange(of_class.sum())
    return by_class[np.argsort(turns, kind="stable")]
