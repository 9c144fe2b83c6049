"""The fast tree equals the slow, obvious one, node for node."""

import numpy as np
import pytest
from hypothesis import given, settings

from batching import small_batches
from perchtree import ClusterTree
from reference import ReferenceTree, clades_of
from strategies import grids


def grow_reference(X):
    reference = ReferenceTree()
    for x in X:
        reference.insert(x)
    return reference


@given(grids())
@settings(max_examples=4 * settings.default.max_examples)
def test_same_tree(X):
    tree = ClusterTree(X.shape[1], linkage="box")
    tree.insert(X)
    reference = grow_reference(X)
    assert clades_of(tree) == reference.clades()
    assert tree.stats.masking_rotations == reference.masking_rotations
    assert tree.stats.balance_rotations == reference.balance_rotations


@given(grids(max_points=30))
def test_every_step(X):
    tree, reference = ClusterTree(X.shape[1], linkage="box"), ReferenceTree()
    for x in X:
        tree.insert(x[np.newaxis])
        reference.insert(x)
        tree.check()
        assert clades_of(tree) == reference.clades()


@given(grids())
def test_numbering_is_the_defined_one(X):
    tree = ClusterTree(X.shape[1], linkage="box")
    tree.insert(X)
    assert list(map(tuple, tree.children.tolist())) == grow_reference(X).children()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("search", ["scan", "astar"])
@given(X=grids())
@settings(max_examples=max(10, settings.default.max_examples // 4))
def test_same_tree_from_small_batches(search, n_jobs, X):
    """Batches of seven: neighbours are often rows of the same batch, or their copies."""
    with small_batches(7):
        tree = ClusterTree(X.shape[1], linkage="box", search=search, n_jobs=n_jobs)
        tree.insert(X)
    tree.check()
    assert clades_of(tree) == grow_reference(X).clades()


@given(grids(min_points=2))
def test_one_call_or_many(X):
    whole, parts = (
        ClusterTree(X.shape[1], linkage="box", search="astar"),
        ClusterTree(X.shape[1], linkage="box", search="astar"),
    )
    whole.insert(X)
    third = len(X) // 3
    for part in (X[:third], X[third : 2 * third], X[2 * third :]):
        if len(part):
            parts.insert(part)
    used = 2 * whole.n_leaves - 1
    assert np.array_equal(whole._tree.nodes[:used], parts._tree.nodes[:used])
    assert np.array_equal(whole.children, parts.children)
    assert whole.stats == parts.stats


@given(grids())
def test_search_is_brute_force(X):
    queries = np.concatenate([X, X + 0.5])
    tree = ClusterTree(X.shape[1], linkage="box")
    tree.insert(X)
    for k in {1, min(3, len(X)), len(X)}:
        ids, distances = tree.nearest(queries, k=k)
        squared = ((queries[:, np.newaxis] - X) ** 2).sum(axis=2)
        expected = np.argsort(squared, axis=1, kind="stable")[:, :k]
        assert np.array_equal(ids, expected)
        assert np.allclose(distances, np.sqrt(np.take_along_axis(squared, expected, axis=1)))


@pytest.mark.jit
@given(grids(min_points=50, max_points=150, max_features=2))
@settings(max_examples=150)
def test_same_tree_with_large_subtrees(X):
    """Most nodes near the root hold more than 20 points: boxes decide there."""
    tree = ClusterTree(X.shape[1], linkage="box")
    tree.insert(X)
    assert clades_of(tree) == grow_reference(X).clades()
