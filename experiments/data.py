"""Data sets by name: X as float32 and y, in the order of a seed.

Files lie in the folder that PERCHTREE_DATA names: NAME.npz with X and y, or NAME.npy with
NAME.labels.npy for what cannot be passed on (Speaker, ImageNet features). What is not there is
taken from scikit-learn or OpenML, if there is a network. Generated data has its sizes in its name.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_covtype, fetch_openml, load_digits

Data = tuple[NDArray[np.float32], NDArray[np.int64]]

NAMES = [
    "glass", "digits", "spambase", "letter", "aloi27", "omniglot", "clinc150", "hist50k", "covtype",
]  # fmt: skip

OPENML = {"aloi": 42396, "spambase": 44, "glass": 41, "letter": 6}
"""Numbers of data sets at openml.org."""


def load(name: str, n_rows: int | None = None, seed: int = 0) -> Data:
    """Load a data set, shuffle it, and keep its first rows."""
    X, y = _load_all(name)
    y = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(X))[:n_rows]
    scale = np.float32(255 if name == "omniglot" else 1)
    return X[order].astype(np.float32) / scale, y[order].astype(np.int64)


def _load_all(name: str) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    kind, *sizes = name.split("-")
    if kind in GENERATED:
        return GENERATED[kind](*map(int, sizes))
    if name == "digits":
        return load_digits(return_X_y=True)
    folder = Path(os.environ.get("PERCHTREE_DATA", "."))
    if (folder / f"{name}.npz").exists():
        with np.load(folder / f"{name}.npz") as file:
            return file["X"], file["y"]
    if (folder / f"{name}.npy").exists():
        labels = np.load(folder / f"{name}.labels.npy")
        return np.load(folder / f"{name}.npy", mmap_mode="r"), labels
    return _download(name, folder)


def _download(name: str, folder: Path) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    hint = (
        f"{name} is not in {folder}: set PERCHTREE_DATA to a folder with {name}.npz (X and y), or "
        f"with {name}.npy and {name}.labels.npy"
    )
    try:
        if name == "covtype":
            return fetch_covtype(return_X_y=True)
        if name in OPENML:
            return fetch_openml(data_id=OPENML[name], return_X_y=True, as_frame=False)
    except OSError as error:
        raise FileNotFoundError(f"{hint}. Downloading it failed: {error}") from None
    raise FileNotFoundError(hint)


def separable(n_clusters: int, per_cluster: int, n_features: int, seed: int = 0) -> Data:
    """Clusters whose points are all closer to each other than to others, but often not by much."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_clusters), per_cluster)
    while True:
        centres = 2 * rng.random((n_clusters, n_features)) * n_clusters ** (1 / n_features)
        X = centres[y] + 0.45 / np.sqrt(n_features) * rng.random((len(y), n_features))
        squared = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
        same = y[:, np.newaxis] == y
        if squared[same].max() < squared[~same].min():
            return X.astype(np.float32), y


def mixture(
    n_points: int, n_clusters: int, n_features: int, seed: int = 0, tenths: int = 5
) -> Data:
    """An extreme mixture: very many clusters, of sizes that follow a power law.

    The exponent is given in tenths.
    """
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, n_clusters + 1) ** (tenths / 10)
    extra = rng.choice(n_clusters, n_points - n_clusters, p=shares / shares.sum())
    y = rng.permutation(np.concatenate([np.arange(n_clusters), extra]))
    centres = rng.normal(size=(n_clusters, n_features)).astype(np.float32)
    noise = rng.standard_normal((n_points, n_features), np.float32)
    return centres[y] + np.float32(0.5) * noise, y


GENERATED: dict[str, Callable[..., Data]] = {"separable": separable, "mixture": mixture}
"""separable-CLUSTERS-PER_CLUSTER-FEATURES[-SEED],
mixture-POINTS-CLUSTERS-FEATURES[-SEED[-TENTHS]]."""


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
