"""Exemplars: the point whose leaf is nearest to the mean of its cluster."""

import numpy as np
import pytest

from gapped import GappedTree
from perchtree import ClusterTree
from perchtree._centres import node_centres
from perchtree._kernels.schema import LEAF
from perchtree.clusters.exemplars import find_exemplar, find_exemplars

pytestmark = pytest.mark.outer

MODES = [
    {"linkage": "box"},
    {"linkage": "average"},
    {"linkage": "box", "max_leaves": 20},
    {"linkage": "average", "max_leaves": 20},
]


def grow(**mode):
    # Skewed, so that means are far from the middles of boxes; rounded, so that there are copies.
    X = np.random.default_rng(0).exponential(size=(120, 2)).round(1).astype(np.float32)
    tree = ClusterTree(2, **mode)
    tree.insert(X)
    return tree, X.astype(np.float64)


def centres_of_leaves(tree, X):
    """The centre of the leaf that holds each point, from the features of all points."""
    centres = np.empty_like(X)
    for leaf in np.unique(tree.table.leaves):
        own = tree.table.leaves == leaf
        rows = X[own]
        middle = (rows.min(axis=0) + rows.max(axis=0)) / 2
        centres[own] = middle if tree.linkage == "box" else rows.mean(axis=0)
    return centres


@pytest.mark.parametrize("mode", MODES)
def test_centres(mode):
    tree, X = grow(**mode)
    found = node_centres(tree._tree, tree._tree.ids[: tree.n_points, LEAF])
    assert found.dtype == np.float64
    assert found == pytest.approx(centres_of_leaves(tree, X), rel=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n_clusters", [1, 4, 20])
def test_exemplars_are_the_most_central(mode, n_clusters):
    tree, X = grow(**mode)
    table, clusters = tree.table, tree.cut(n_clusters)
    centres = centres_of_leaves(tree, X)
    exemplars = find_exemplars(tree._tree, table, clusters)
    assert clusters[exemplars].tolist() == list(range(n_clusters))
    for cluster, exemplar in enumerate(exemplars):
        own = centres[clusters == cluster]
        gaps = np.linalg.norm(own - own.mean(axis=0), axis=1)
        gap = np.linalg.norm(centres[exemplar] - own.mean(axis=0))
        assert gap == pytest.approx(gaps.min(), abs=1e-12)
        assert exemplar == np.flatnonzero(table.leaves == table.leaves[exemplar])[0]


@pytest.mark.parametrize("mode", MODES)
def test_exemplars_are_ids(mode):
    tree, X = grow(**mode)
    gapped = GappedTree(2, **mode)
    gapped.insert(X)
    clusters = tree.cut(5)
    assert np.array_equal(gapped.cut(5), clusters)
    numbers = find_exemplars(tree._tree, tree.table, clusters)
    found = find_exemplars(gapped._tree, gapped.table, clusters)
    assert found.tolist() == gapped.ids[numbers].tolist()


@pytest.mark.parametrize("mode", MODES)
def test_copies_in_several_clusters(mode):
    """Each of these clusters has a part of the leaf, and an exemplar among its own points."""
    tree, X = grow(**mode)
    clusters = tree.cut(4)
    leaves, counts = np.unique(tree.table.leaves, return_counts=True)
    shared = np.flatnonzero(tree.table.leaves == leaves[counts.argmax()])
    assert len(shared) > 1
    clusters[shared[1:]] = 4  # nothing but copies, or what a collapsed leaf holds
    exemplars = find_exemplars(tree._tree, tree.table, clusters)
    assert clusters[exemplars].tolist() == [0, 1, 2, 3, 4]
    assert exemplars[4] == shared[1]
    centres = centres_of_leaves(tree, X)
    for cluster, exemplar in enumerate(exemplars):
        own = centres[clusters == cluster]
        gaps = np.linalg.norm(own - own.mean(axis=0), axis=1)
        gap = np.linalg.norm(centres[exemplar] - own.mean(axis=0))
        assert gap == pytest.approx(gaps.min(), abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_one_exemplar_is_that_of_all(mode):
    tree, _ = grow(**mode)
    labels = tree.cut(7)
    with tree.reading() as arrays:
        expected = find_exemplars(arrays, tree.table, labels)
        for cluster in range(7):
            ids = tree.ids[labels == cluster]
            assert find_exemplar(arrays, ids) == expected[cluster]
