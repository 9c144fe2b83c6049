"""Linkage modes equal the slow, obvious version, node for node; and their cost is bounded."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from batching import small_batches
from perchtree import ClusterTree
from perchtree._kernels.interchange import MOST_GRAFTS
from reference import clades_of
from reference_linkage import LinkageTree
from strategies import grids

LINKAGES = ["ward", "average"]
few = settings(max_examples=max(10, settings.default.max_examples // 8))


def grown(reference, X):
    for x in X:
        reference.insert(x)
    return reference


def assert_same(tree, reference):
    tree.check()
    assert clades_of(tree) == reference.clades()
    assert tree.stats.interchanges == reference.interchanges
    assert tree.stats.grafts == reference.grafts


@pytest.mark.parametrize("graft", [0, 1, 5])
@pytest.mark.parametrize("linkage", LINKAGES)
@given(X=grids(max_points=30))
@few
def test_same_tree(linkage, graft, X):
    tree = ClusterTree(X.shape[1], linkage=linkage, graft=graft)
    reference = LinkageTree(linkage, graft)
    for x in X:
        tree.insert(x[np.newaxis])
        reference.insert(x)
        assert_same(tree, reference)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("search", ["scan", "astar"])
@given(X=grids(max_points=40))
@few
def test_same_tree_from_small_batches(search, n_jobs, X):
    """Neighbours are rows of the same batch, and copies must not count as further ones."""
    tree = ClusterTree(X.shape[1], linkage="average", search=search, n_jobs=n_jobs)
    with small_batches(11):
        tree.insert(X)
    assert_same(tree, grown(LinkageTree("average"), X))


@pytest.mark.parametrize("linkage", LINKAGES)
@given(X=grids(max_points=35), max_leaves=st.integers(1, 15))
@few
def test_collapsed(linkage, X, max_leaves):
    tree = ClusterTree(X.shape[1], linkage=linkage, max_leaves=max_leaves, search="astar")
    reference = LinkageTree(linkage, max_leaves=max_leaves)
    for x in X:
        tree.insert(x[np.newaxis])
        reference.insert(x)
        assert_same(tree, reference)


@pytest.mark.parametrize("n_jobs", [1, 2])
@given(
    X=grids(max_points=45), max_leaves=st.integers(1, 25), batch_rows=st.sampled_from([2, 7, 40])
)
@few
def test_collapsed_in_batches(n_jobs, X, max_leaves, batch_rows):
    """Several neighbours are found ahead, then compared with the leaves that have changed."""
    rules = {"max_leaves": max_leaves, "search": "scan", "n_jobs": n_jobs}
    tree = ClusterTree(X.shape[1], linkage="average", **rules)
    with small_batches(batch_rows):
        tree.insert(X)
    assert_same(tree, grown(LinkageTree("average", max_leaves=max_leaves), X))


@given(X=grids(max_points=40), width=st.integers(1, 4))
@few
def test_beam(X, width):
    tree = ClusterTree(X.shape[1], linkage="average", search="beam", beam_width=width)
    tree.insert(X)
    assert_same(tree, grown(LinkageTree("average", beam_width=width), X))


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("max_leaves", [None, 12])
@given(X=grids(min_points=3, max_points=30), neighbors=st.integers(1, 6))
@few
def test_refine(linkage, max_leaves, X, neighbors):
    tree = ClusterTree(X.shape[1], linkage=linkage, graft=2, max_leaves=max_leaves)
    tree.insert(X)
    reference = grown(LinkageTree(linkage, 2, max_leaves=max_leaves), X)
    made = tree.refine(passes=3, neighbors=neighbors)
    if tree.n_leaves >= 3:
        expected = reference.refine(3, neighbors)
        assume(not reference.ambiguous)
        assert made == expected
    assert_same(tree, reference)


@given(X=grids(min_points=2, max_points=40))
@few
def test_means_far_from_zero(X):
    """Moved far away, as far as float32 can still tell the points apart, the tree is the same."""
    near, far = (ClusterTree(X.shape[1], linkage="average") for _ in range(2))
    near.insert(X)
    far.insert(X + 2.0**20)
    far.check()
    assert clades_of(near) == clades_of(far)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_an_outlier_that_comes_first(linkage):
    """It takes a place at the root, and changes nothing else."""
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    first = np.concatenate([np.full((1, 3), 1e8, np.float32), X])
    alone, after = (ClusterTree(3, linkage=linkage, graft=0) for _ in range(2))
    alone.insert(X)
    after.insert(first)
    expected = {frozenset(i + 1 for i in clade) for clade in clades_of(alone)}
    missing = expected - clades_of(after)
    assert len(missing) <= 3  # the first points meet near the outlier


@pytest.mark.jit
@pytest.mark.parametrize("order", ["random", "sorted", "alternating", "clustered"])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_cost_of_an_insert_is_bounded(linkage, order):
    """Linkages computed: at most 2 D on the way up, 2 D for each neighbour, and for each graft
    again 2 D, two for the choice of the place, and both repairs; D is the largest depth."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.random((3000, 3)).astype(np.float32), axis=0)
    if order == "random":
        X = rng.permutation(X)
    elif order == "alternating":
        X = X[np.argsort(np.arange(3000) % 2, kind="stable")]
    elif order == "clustered":
        X = (X * 0.01 + rng.integers(0, 20, (3000, 1))).astype(np.float32)
    tree = ClusterTree(3, linkage=linkage, graft=5)
    deepest = 0
    for start in range(0, 3000, 60):
        before, grafts = tree.stats.linkages, tree.stats.grafts
        tree.insert(X[start : start + 60])
        deepest = max(deepest, tree.depth.max + 2)
        made = tree.stats.grafts - grafts
        assert made <= 60 * MOST_GRAFTS
        allowed = 60 * (2 + 2 * 5) * deepest + made * (2 * deepest + 2 + 2 * 2 * deepest)
        assert tree.stats.linkages - before <= allowed
    assert tree.depth.max <= 5 * np.log2(3000)
    tree.check()
