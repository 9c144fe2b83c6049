"""Measures agree with brute force over all pairs, and with other people's code."""

import higra
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    tree = ClusterTree(X.shape[1])
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


def test_purity_errors():
    with pytest.raises(ValueError, match="3 labels for a tree of 2 points"):
        dendrogram_purity([[0, 1]], [0, 0, 1])
    with pytest.raises(ValueError, match="no two points share a label"):
        dendrogram_purity([[0, 1]], [0, 1])
    with pytest.raises(ValueError, match="expected a ClusterTree or an integer array"):
        dendrogram_purity([0, 1], [0, 1])
    with pytest.raises(ValueError, match="exactly once"):
        dendrogram_purity([[0, 1], [0, 2]], [0, 1, 1])
    with pytest.raises(ValueError, match="1-d array of labels"):
        dendrogram_purity([[0, 1]], [[0, 1]])


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
    with pytest.raises(ValueError, match="2 true labels, but 1 predicted"):
        pairwise_f1([0, 0], [0])
    with pytest.raises(ValueError, match="not defined"):
        pairwise_f1([0, 1], [0, 0])
    with pytest.raises(ValueError, match="1-d array of labels"):
        pairwise_f1([], [])
