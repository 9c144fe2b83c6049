"""How good a tree or a flat clustering is, given true labels."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._kernels.purity import Forest, lay_out, sum_purity
from ._kernels.schema import NONE
from .table import NodeTable, parents_of
from .tree import ClusterTree


class PairwiseScores(NamedTuple):
    """Precision, recall and their harmonic mean over pairs of points clustered together."""

    precision: float
    recall: float
    f1: float


def dendrogram_purity(tree: ClusterTree | ArrayLike, labels: ArrayLike) -> float:
    """Compute dendrogram purity (section 2), exactly.

    For two random points of one class: the share of that class among all points below the
    node where the two meet. 1 means that every class is a subtree of its own.

    Parameters
    ----------
    tree : ClusterTree, or children array of shape (n - 1, 2)
        Points that share a leaf of a ClusterTree meet at that leaf. A `children` array has
        them meet one after the other, so its purity can differ a little.
    labels : array-like of shape (n,)
        The class of each point.

    Examples
    --------
    >>> dendrogram_purity([[0, 1], [2, 3], [4, 5]], ["a", "a", "b", "b"])
    1.0
    """
    parents, n_points = _parents_and_points(tree)
    classes = _as_classes(labels)
    if len(classes) != n_points:
        raise ValueError(f"{len(classes)} labels for a tree of {n_points} points")
    n_pairs = _count_pairs(np.bincount(classes))
    if n_pairs == 0:
        raise ValueError("no two points share a label: dendrogram purity is not defined")
    tallies = np.zeros((int(classes.max()) + 1, 3), np.int64)
    total = np.zeros(1)
    sum_purity(_as_forest(parents, n_points), classes, tallies, total)
    return float(total[0]) / n_pairs


def pairwise_scores(labels_true: ArrayLike, labels_pred: ArrayLike) -> PairwiseScores:
    """Precision, recall and F1 over pairs of points (section 6.3), exactly.

    A pair is predicted if both points are in one cluster, and true if both are of one class.

    Examples
    --------
    >>> pairwise_scores([0, 0, 1, 1], [5, 5, 5, 7])
    PairwiseScores(precision=0.3333333333333333, recall=0.5, f1=0.4)
    """
    true, pred = _as_classes(labels_true), _as_classes(labels_pred)
    if len(true) != len(pred):
        raise ValueError(f"{len(true)} true labels, but {len(pred)} predicted ones")
    both = np.unique(true * (int(pred.max()) + 1) + pred, return_counts=True)[1]
    n_both = _count_pairs(both)
    n_true, n_pred = _count_pairs(np.bincount(true)), _count_pairs(np.bincount(pred))
    if n_true == 0 or n_pred == 0:
        raise ValueError("no pair of points shares a label: pairwise scores are not defined")
    return PairwiseScores(n_both / n_pred, n_both / n_true, 2 * n_both / (n_true + n_pred))


def pairwise_f1(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The harmonic mean of pairwise precision and recall; see `pairwise_scores`."""
    return pairwise_scores(labels_true, labels_pred).f1


def _as_classes(labels: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"expected a 1-d array of labels, got one of shape {array.shape}")
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _count_pairs(counts: NDArray[Any]) -> int:
    counts = counts.astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _parents_and_points(tree: ClusterTree | ArrayLike) -> tuple[NDArray[np.int64], int]:
    if isinstance(tree, ClusterTree):
        return _without_inner(tree.table), tree.n_points
    children = np.asarray(tree)
    if children.ndim != 2 or children.shape[1] != 2 or children.dtype.kind not in "iu":
        raise ValueError(
            "expected a ClusterTree or an integer array of children of shape (n - 1, 2), "
            f"got shape {children.shape}"
        )
    n_points = len(children) + 1
    if not np.array_equal(np.sort(children, axis=None), np.arange(2 * n_points - 2)):
        raise ValueError("not a tree: each number but the last must be a child exactly once")
    return parents_of(children.astype(np.int64)), n_points


def _without_inner(table: NodeTable) -> NDArray[np.int64]:
    """Parents with every point directly below its leaf."""
    alone = table.leaves == np.arange(table.n_points)
    parents = table.parents.copy()
    parents[: table.n_points] = np.where(alone, parents[: table.n_points], table.leaves)
    return parents


def _as_forest(parents: NDArray[np.int64], n_points: int) -> Forest:
    n_nodes = len(parents)
    counts = np.bincount(parents[parents != NONE], minlength=n_nodes)
    children = np.argsort(parents, kind="stable")[1:]  # the root comes first
    forest = Forest(
        parents=parents,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        children=children,
        order=np.empty(n_nodes, np.int64),
        sizes=np.zeros(n_nodes, np.int64),
        offsets=np.empty(n_nodes, np.int64),
        points=np.empty(n_points, np.int64),
    )
    root = int(np.flatnonzero(parents == NONE)[0])
    if lay_out(forest, root) != n_nodes:
        raise ValueError("not a tree: some nodes do not hang below the root")
    return forest
