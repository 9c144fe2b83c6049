"""How good a tree or a flat clustering is, given the true classes.

A negative or missing (None, NaN) true class is unknown. `negative` says how to treat such points:
with "drop" they are left out; with "singletons" each is a class of its own, so it is in no true
pair, but counts among the points of a node; with "class" a negative number is a class like any
other, and only points whose class is missing are left out.

A negative or missing cluster is noise, as in scikit-learn: the point is in a cluster of its own,
and so in no predicted pair, whatever `negative` says.
"""

from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import as_choice, as_count
from ._kernels.purity import Forest, lay_out, sample_purity, sum_purity
from ._kernels.schema import NONE
from ._renamed import renamed
from .table import NodeTable, parents_of
from .tree import ClusterTree

NEGATIVE = ("drop", "singletons", "class")


class PairwiseScores(NamedTuple):
    """Precision, recall and their harmonic mean over pairs of points clustered together."""

    precision: float
    recall: float
    f1: float


class PurityEstimate(NamedTuple):
    """Dendrogram purity from a sample of pairs."""

    purity: float
    standard_error: float


@overload
def dendrogram_purity(
    tree: Any, classes: ArrayLike, *, n_samples: None = None, negative: str = ...
) -> float: ...


@overload
def dendrogram_purity(
    tree: Any, classes: ArrayLike, *, n_samples: int, random_state: Any = ..., negative: str = ...
) -> PurityEstimate: ...


@renamed(labels="classes")
def dendrogram_purity(
    tree: Any,
    classes: ArrayLike,
    *,
    n_samples: int | None = None,
    random_state: Any = None,
    negative: str = "drop",
) -> float | PurityEstimate:
    """Compute dendrogram purity (section 2): exactly, or from a sample of pairs.

    For two random points of one class: the share of that class among all points below the
    node where the two meet. 1 means that every class is a subtree of its own.

    Parameters
    ----------
    tree : ClusterTree, fitted estimator, or array
        An estimator with `tree_` or `children_`; a `children_` array of shape (n - 1, 2); a
        SciPy linkage matrix of shape (n - 1, 4); or, for trees in which nodes may have many
        children, the parent of each node as a 1-d array, points first, -1 at the root.

        Points that share a leaf of a ClusterTree meet at that leaf. A `children` array has
        them meet one after the other, so its purity can differ a little.
    classes : array-like of shape (n,)
        The true class of each point; negative, None or NaN where it is not known.
    n_samples : int, optional
        Estimate from this many random pairs, instead of all of them.
    random_state : int or numpy.random.Generator, optional
        For the sample.
    negative : {"drop", "singletons", "class"}
        Points with a negative class are left out; are each a class of their own; or are of a
        class like any other.

    Returns
    -------
    purity : float or PurityEstimate
        With `n_samples`, an estimate with its standard error.

    Examples
    --------
    >>> dendrogram_purity([[0, 1], [2, 3], [4, 5]], ["a", "a", "b", "b"])
    1.0
    >>> dendrogram_purity([[0, 2], [1, 3], [4, 5]], ["a", "a", "b", "b"])
    0.5
    """
    parents, n_points = _as_parents(tree, np.size(classes))
    if np.size(classes) != n_points:
        raise ValueError(f"{np.size(classes)} classes for a tree of {n_points} points")
    numbers, kept = _as_classes(classes, negative)
    n_pairs = _count_pairs(np.bincount(numbers[kept]))
    if n_pairs == 0:
        raise ValueError("no two points share a class: dendrogram purity is not defined")
    forest = _as_forest(parents, kept)
    if n_samples is not None:
        rng = np.random.default_rng(random_state)
        return _estimate(forest, numbers, kept, as_count("n_samples", n_samples, 2), rng)
    tallies = np.zeros((int(numbers.max()) + 1, 3), np.int64)
    total = np.zeros(1)
    sum_purity(forest, numbers, tallies, total)
    return float(total[0]) / n_pairs


def pairwise_scores(
    labels_true: ArrayLike, labels_pred: ArrayLike, *, negative: str = "drop"
) -> PairwiseScores:
    """Precision, recall and F1 over pairs of points (section 6.3), exactly.

    A pair is predicted if both points are in one cluster, and true if both are of one class.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        The class and the cluster of each point, called as in scikit-learn. A negative or missing
        class is not known; a negative or missing cluster is noise, which is in no predicted pair.
    negative : {"drop", "singletons", "class"}
        Points with a negative class are left out; are each a class of their own; or are of a
        class like any other.

    Examples
    --------
    >>> pairwise_scores([0, 0, 1, 1], [5, 5, 5, 7])
    PairwiseScores(precision=0.3333333333333333, recall=0.5, f1=0.4)
    >>> pairwise_scores([0, 0, 1, 1, -1], [5, 5, -1, -1, 5])
    PairwiseScores(precision=1.0, recall=0.5, f1=0.6666666666666666)
    """
    if np.size(labels_true) != np.size(labels_pred):
        raise ValueError(
            f"{np.size(labels_true)} points have classes, but {np.size(labels_pred)} have clusters"
        )
    true, kept = _as_classes(labels_true, negative)
    pred, _ = _as_numbers(labels_pred)
    true, pred = true[kept], pred[kept]
    n_true, n_pred = _count_pairs(np.bincount(true)), _count_pairs(np.bincount(pred))
    if n_true == 0 or n_pred == 0:
        raise ValueError(
            "no two points share a class, or a cluster: pairwise scores are not defined"
        )
    both = np.unique(true * (int(pred.max()) + 1) + pred, return_counts=True)[1]
    n_both = _count_pairs(both)
    return PairwiseScores(n_both / n_pred, n_both / n_true, 2 * n_both / (n_true + n_pred))


def pairwise_f1(labels_true: ArrayLike, labels_pred: ArrayLike, *, negative: str = "drop") -> float:
    """The harmonic mean of pairwise precision and recall; see `pairwise_scores`."""
    return pairwise_scores(labels_true, labels_pred, negative=negative).f1


def _as_classes(classes: ArrayLike, negative: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Classes as 0, 1, 2, ..., and which points count."""
    as_choice("negative", negative, NEGATIVE)
    numbers, unknown = _as_numbers(classes, negative_is_noise=negative != "class")
    return numbers, np.ones(len(numbers), bool) if negative == "singletons" else ~unknown


def _as_numbers(
    groups: ArrayLike, *, negative_is_noise: bool = True
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Groups as 0, 1, 2, ...; what is missing or noise gets a number of its own, and is marked."""
    array = np.asarray(groups)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"expected a 1-d array, one entry per point, got shape {array.shape}")
    alone = _is_missing(array)
    if negative_is_noise and array.dtype.kind in "if":
        alone |= array < 0
    elif negative_is_noise and array.dtype.kind == "O":
        alone |= np.array([isinstance(group, int | float) and group < 0 for group in array])
    numbers = np.empty(len(array), np.int64)
    known = np.unique(array[~alone], return_inverse=True)[1]
    numbers[~alone] = known
    numbers[alone] = known.max(initial=-1) + 1 + np.arange(alone.sum())
    return numbers, alone


def _is_missing(groups: NDArray[Any]) -> NDArray[np.bool_]:
    """What is None, NaN, or a mark of pandas: none of these equals itself, but for None."""
    missing = np.zeros(len(groups), bool)
    if groups.dtype.kind == "f":
        missing[:] = np.isnan(groups)
    elif groups.dtype.kind == "O":
        missing[:] = [group is None or not _equals_itself(group) for group in groups]
    return missing


def _equals_itself(value: Any) -> bool:
    try:
        return bool(value == value)
    except TypeError:  # pandas.NA is neither true nor false
        return False


def _count_pairs(counts: NDArray[Any]) -> int:
    counts = counts.astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _as_parents(tree: Any, n_given: int) -> tuple[NDArray[np.int64], int]:
    """The parent of each node, points first, and the number of points."""
    tree = getattr(tree, "tree_", tree)
    if isinstance(tree, ClusterTree):
        table = tree.table
        return _without_inner(table), table.n_points
    array = np.asarray(getattr(tree, "children_", tree))
    if array.ndim == 2 and array.shape[1] == 4 and array.dtype.kind in "if":
        array = array[:, :2].astype(np.int64)
    if array.dtype.kind not in "iu" or not (
        array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 2)
    ):
        raise ValueError(
            "expected a ClusterTree, a fitted estimator, children of shape (n - 1, 2), a linkage "
            f"matrix or an array of parents; got {array.dtype} of shape {array.shape}"
        )
    if array.ndim == 1:
        return _checked_parents(array.astype(np.int64), n_given), n_given
    n_points = len(array) + 1
    if not np.array_equal(np.sort(array, axis=None), np.arange(2 * n_points - 2)):
        raise ValueError("not a tree: each number but the last must be a child exactly once")
    return parents_of(array.astype(np.int64)), n_points


def _checked_parents(parents: NDArray[np.int64], n_points: int) -> NDArray[np.int64]:
    if len(parents) < n_points:
        raise ValueError(f"{n_points} classes, but only {len(parents)} nodes, points included")
    if (parents == NONE).sum() != 1:
        raise ValueError("not a tree: exactly one node, the root, must have the parent -1")
    wrong = (parents >= len(parents)) | (parents < NONE)
    if wrong.any():
        raise ValueError(f"not a tree: node {int(wrong.argmax())} has a parent that does not exist")
    below = np.flatnonzero((parents != NONE) & (parents < n_points))
    if len(below):
        raise ValueError(f"not a tree of points: node {int(below[0])} is below a point")
    return parents


def _without_inner(table: NodeTable) -> NDArray[np.int64]:
    """Parents with every point directly below its leaf."""
    alone = table.leaves == np.arange(table.n_points)
    parents = table.parents.copy()
    parents[: table.n_points] = np.where(alone, parents[: table.n_points], table.leaves)
    return parents


def _as_forest(parents: NDArray[np.int64], kept: NDArray[np.bool_]) -> Forest:
    """Lay out the tree over the points that are kept."""
    n_nodes, n_points = len(parents), len(kept)
    is_child = parents != NONE
    is_child[:n_points] &= kept
    children = np.flatnonzero(is_child)
    children = children[np.argsort(parents[children], kind="stable")]
    counts = np.bincount(parents[children], minlength=n_nodes)
    forest = Forest(
        parents=parents,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        children=children,
        order=np.empty(len(children) + 1, np.int64),
        sizes=np.zeros(n_nodes, np.int64),
        offsets=np.empty(n_nodes, np.int64),
        points=np.empty(int(kept.sum()), np.int64),
        heavy=np.full(n_nodes, NONE, np.int64),
    )
    root = int(np.flatnonzero(parents == NONE)[0])
    if lay_out(forest, root, n_points) != len(children) + 1:
        raise ValueError("not a tree: some nodes do not hang below the root")
    return forest


def _estimate(
    forest: Forest,
    classes: NDArray[np.int64],
    kept: NDArray[np.bool_],
    n_samples: int,
    rng: np.random.Generator,
) -> PurityEstimate:
    """Sample pairs of one class, all alike, with replacement."""
    members = np.flatnonzero(kept)
    members = members[np.argsort(classes[members], kind="stable")]
    counts = np.bincount(classes[members])
    starts = np.concatenate([[0], np.cumsum(counts)])
    pairs = counts * (counts - 1.0) / 2
    drawn = rng.choice(len(counts), n_samples, p=pairs / pairs.sum())
    first = rng.integers(0, counts[drawn])
    second = rng.integers(0, counts[drawn] - 1)
    second += second >= first
    chosen = members[np.column_stack([starts[drawn] + first, starts[drawn] + second])]

    places = np.empty(len(kept), np.int64)
    places[forest.points] = np.arange(len(forest.points))
    by_class = np.sort(places[members] + classes[members] * len(kept))
    values = np.empty(n_samples)
    sample_purity(forest, chosen, places, classes, by_class, values)
    return PurityEstimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(n_samples)))
