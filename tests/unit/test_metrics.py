"""Measures agree with brute force over all pairs, and with other people's code."""

from types import SimpleNamespace

import higra
import numpy as np
import pandas as pd
import pytest
import scipy.cluster.hierarchy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_digits

from perchtree import ClusterTree
from perchtree.metrics import dendrogram_purity, pairwise_f1, pairwise_scores
from strategies import grids


def random_children(rng, n_points):
    """A uniformly joined tree: any two parts may merge next."""
    parts, children = list(range(n_points)), []
    for merge in range(n_points - 1):
        a, b = (parts.pop(rng.integers(len(parts))) for _ in range(2))
        children.append((a, b))
        parts.append(n_points + merge)
    return np.array(children, np.int64).reshape(-1, 2)


def brute_purity(children, labels):
    n_points = len(labels)
    below = [{i} for i in range(n_points)]
    total, pairs = 0.0, 0
    for a, b in children.tolist():
        members = below[a] | below[b]
        below.append(members)
        for i in below[a]:
            for j in below[b]:
                if labels[i] == labels[j]:
                    total += np.mean([labels[k] == labels[i] for k in members])
                    pairs += 1
    return total / pairs


@given(st.integers(0, 2**32 - 1), st.integers(2, 25), st.integers(1, 6))
def test_purity_is_brute_force(seed, n_points, n_classes):
    rng = np.random.default_rng(seed)
    children = random_children(rng, n_points)
    labels = rng.integers(0, n_classes, n_points)
    labels[:2] = 0
    purity = dendrogram_purity(children, labels)
    assert purity == pytest.approx(brute_purity(children, labels), abs=1e-12)
    parents = np.full(2 * n_points - 1, 2 * n_points - 2)
    parents[children] = np.arange(n_points, 2 * n_points - 1)[:, np.newaxis]
    assert purity == pytest.approx(higra.dendrogram_purity(higra.Tree(parents), labels), abs=1e-6)


@given(grids(min_points=2), st.integers(0, 2**32 - 1))
def test_points_that_share_a_leaf_meet_there(X, seed):
    labels = np.random.default_rng(seed).integers(0, 3, len(X))
    labels[:2] = 0
    tree = ClusterTree(X.shape[1], linkage="box")
    tree.insert(X)
    purities = [
        np.mean(labels[tree.members(tree.lca(i, j))] == labels[i])
        for i in range(len(X))
        for j in range(i)
        if labels[i] == labels[j]
    ]
    assert dendrogram_purity(tree, labels) == pytest.approx(np.mean(purities), abs=1e-12)


@pytest.mark.jit
def test_purity_of_a_chain():
    n_points = 1_000_000
    children = np.column_stack([np.arange(1, n_points), np.arange(n_points - 1, 2 * n_points - 2)])
    children[0] = [0, 1]
    labels = np.arange(n_points) // 10
    assert 0 < dendrogram_purity(children, labels) < 0.01


@pytest.mark.parametrize(
    ("tree", "labels", "message"),
    [
        ([[0, 1]], [0, 0, 1], "3 classes for a tree of 2 points"),
        ([[0, 1]], [0, 1], "no two points share a class"),
        ([[0, 1]], [-1, -1], "no two points share a class"),
        ([[0.5, 1.5]], [0, 1], "expected a ClusterTree, a fitted estimator"),
        ([[0, 1], [0, 2]], [0, 1, 1], "exactly once"),
        ([[0, 1]], [[0, 1]], "1-d array, one entry per point"),
        ([2, 2, 2], [0, 0], "exactly one node, the root"),
        ([2, 9, -1], [0, 0], "node 1 has a parent that does not exist"),
        ([1, 2, -1], [0, 0], "node 0 is below a point"),
        ([3, 3, -1, 4, 3], [0, 0], "do not hang below the root"),
        ([-1], [0, 0], "2 classes, but only 1 nodes"),
    ],
)
def test_purity_errors(tree, labels, message):
    with pytest.raises(ValueError, match=message):
        dendrogram_purity(tree, labels)


def test_every_kind_of_tree():
    X = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.random.default_rng(1).integers(0, 3, 30)
    tree = ClusterTree(2, linkage="box")
    tree.insert(X)
    expected = dendrogram_purity(tree, labels)
    assert dendrogram_purity(tree.children, labels) == pytest.approx(expected)
    assert dendrogram_purity(tree.parents, labels) == pytest.approx(expected)
    assert dendrogram_purity(SimpleNamespace(children_=tree.children), labels) == expected
    assert dendrogram_purity(SimpleNamespace(tree_=tree), labels) == expected

    Z = scipy.cluster.hierarchy.linkage(X, "average")
    model = AgglomerativeClustering(3, linkage="average", compute_full_tree=True).fit(X)
    of_scipy = dendrogram_purity(Z, labels)
    assert of_scipy == dendrogram_purity(Z[:, :2].astype(int), labels)
    assert dendrogram_purity(model, labels) == pytest.approx(of_scipy)


@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(1, 8))
def test_purity_of_multiway_trees(seed, n_points, n_nodes):
    """Nodes may have any number of children, also none."""
    rng = np.random.default_rng(seed)
    parents = np.empty(n_points + n_nodes, int)
    parents[:n_points] = rng.integers(n_points, n_points + n_nodes, n_points)
    for node in range(n_nodes):
        parents[n_points + node] = n_points + rng.integers(0, node) if node else -1
    labels = rng.integers(-1, 3, n_points)
    labels[:2] = 0

    def path(node):
        while node != -1:
            yield node
            node = parents[node]

    def purity(members):
        total = []
        for i in members:
            for j in members:
                if j < i and labels[i] == labels[j] >= 0:
                    meet = next(node for node in path(i) if node in set(path(j)))
                    below = [k for k in members if meet in set(path(k))]
                    total.append(np.mean(labels[below] == labels[i]))
        return np.mean(total)

    everyone = list(range(n_points))
    labelled = [i for i in everyone if labels[i] >= 0]
    assert dendrogram_purity(parents, labels) == pytest.approx(purity(labelled))
    alone = dendrogram_purity(parents, labels, negative="singletons")
    assert alone == pytest.approx(purity(everyone))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_a_sample_of_a_small_tree(seed):
    rng = np.random.default_rng(seed)
    children = random_children(rng, 12)
    labels = rng.integers(-1, 3, 12)
    labels[:2] = 0
    for negative in ("singletons", "drop", "class"):
        exact = dendrogram_purity(children, labels, negative=negative)
        estimate = dendrogram_purity(
            children, labels, n_samples=400, random_state=rng, negative=negative
        )
        assert abs(estimate.purity - exact) <= 6 * estimate.standard_error + 1e-9


@pytest.mark.jit
def test_a_sample_estimates_purity():
    X, labels = load_digits(return_X_y=True)
    tree = ClusterTree(64, linkage="box")
    tree.insert(X)
    exact = dendrogram_purity(tree, labels)
    estimate = dendrogram_purity(tree, labels, n_samples=20_000, random_state=0)
    assert 0 < estimate.standard_error < 0.005
    assert abs(estimate.purity - exact) < 4 * estimate.standard_error
    again = dendrogram_purity(tree, labels, n_samples=20_000, random_state=0)
    assert again == estimate
    with_noise = np.where(labels == 3, -1, labels)
    exact = dendrogram_purity(tree, with_noise)
    estimate = dendrogram_purity(tree, with_noise, n_samples=20_000, random_state=1)
    assert abs(estimate.purity - exact) < 4 * estimate.standard_error


@pytest.mark.jit
def test_a_leaf_of_many_copies_takes_linear_time():
    tree = ClusterTree(1, linkage="box")
    tree.insert(np.zeros((300_000, 1)))
    labels = np.arange(300_000) % 2
    assert dendrogram_purity(tree, labels) == pytest.approx(0.5)


def test_negative_classes_and_clusters():
    """Unknown classes are left out; noise among clusters is in no predicted pair."""
    true, pred = [0, 0, 1, 1, -1, -1], [0, 0, -1, -1, 2, 2]
    assert pairwise_scores(true, pred) == (1.0, 1 / 2, 2 / 3)
    assert pairwise_scores(true, pred, negative="drop") == (1.0, 1 / 2, 2 / 3)
    assert pairwise_scores(true, pred, negative="singletons") == (1 / 2, 1 / 2, 1 / 2)
    assert pairwise_scores(true, pred, negative="class") == (1.0, 2 / 3, 4 / 5)
    with pytest.raises(ValueError, match="negative must be one of"):
        pairwise_scores(true, pred, negative="nonsense")
    with pytest.raises(ValueError, match="not defined"):
        pairwise_scores([0, 0], [-1, -1])


@pytest.mark.parametrize(
    "true",
    [
        [0, 0, 1, 1, -1, -1],
        [0.0, 0.0, 1.0, 1.0, np.nan, np.nan],
        ["a", "a", "b", "b", None, None],
        np.array([0, 0, 1, 1, -1, np.nan], object),
        pd.Series(["a", "a", "b", "b", pd.NA, None], dtype="string"),
        pd.Series([0, 0, 1, 1, None, None], dtype="Int64"),
    ],
    ids=["negative", "nan", "none", "mixed", "pandas text", "pandas numbers"],
)
def test_missing_classes_are_left_out(true):
    children = [[0, 1], [2, 4], [3, 5], [7, 8], [6, 9]]
    without = dendrogram_purity([[0, 1], [2, 3], [4, 5]], [0, 0, 1, 1])
    assert dendrogram_purity(children, true) == without == 1.0
    assert dendrogram_purity(children, true, negative="singletons") == pytest.approx(3 / 4)
    assert pairwise_scores(true, [0, 0, 1, 1, 1, 0]) == (1.0, 1.0, 1.0)


@given(st.integers(0, 2**32 - 1), st.integers(4, 30))
def test_pairwise_scores_are_brute_force(seed, n_points):
    rng = np.random.default_rng(seed)
    true, pred = rng.integers(0, 4, n_points), rng.integers(0, 4, n_points)
    true[:2] = pred[:2] = 0
    upper = np.triu_indices(n_points, 1)
    together_true = (true[:, np.newaxis] == true)[upper]
    together_pred = (pred[:, np.newaxis] == pred)[upper]
    both = (together_true & together_pred).sum()
    scores = pairwise_scores(true, pred)
    assert scores.precision == pytest.approx(both / together_pred.sum())
    assert scores.recall == pytest.approx(both / together_true.sum())
    harmonic = 2 * both / (together_true.sum() + together_pred.sum())
    assert scores.f1 == pairwise_f1(true, pred) == pytest.approx(harmonic)


def test_pairwise_scores_do_not_overflow():
    labels = np.zeros(1_000_000, np.int8)
    assert pairwise_scores(labels, labels) == (1.0, 1.0, 1.0)


def test_pairwise_errors():
    with pytest.raises(ValueError, match="2 points have classes, but 1 have clusters"):
        pairwise_f1([0, 0], [0])
    with pytest.raises(ValueError, match="not defined"):
        pairwise_f1([0, 1], [0, 0])
    with pytest.raises(ValueError, match="1-d array, one entry per point"):
        pairwise_f1([], [])


def test_classes_were_labels():
    with pytest.raises(TypeError, match="takes 'classes' now, not 'labels'"):
        dendrogram_purity([[0, 1]], labels=[0, 0])
