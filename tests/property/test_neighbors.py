"""The linkage by neighbours equals the slow, obvious version, node for node."""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numba.core import config

from batching import small_batches
from perchtree import ClusterTree
from perchtree._kernels.edges import SAMPLED
from perchtree._kernels.schema import BOX_ROWS, EDGES
from perchtree.metrics import dendrogram_purity
from perchtree.settings import ASKED, LISTED, Settings
from reference import clades_of
from reference_neighbors import NeighborTree
from strategies import grids

few = settings(
    max_examples=max(8, settings.default.max_examples // 10),
    suppress_health_check=[HealthCheck.filter_too_much],
)


def assert_same(tree, reference):
    tree.check()
    assert clades_of(tree) == reference.clades()
    assert (tree.stats.interchanges, tree.stats.grafts) == (
        reference.interchanges,
        reference.grafts,
    )


def weights_of(tree):
    """The weight of all edges of a tree, from its lists; and that kept at its nodes."""
    arrays = tree._tree
    listed = np.ascontiguousarray(arrays.lists[: tree.next_id, :, 2]).view(np.float32)
    return float(listed.sum() / 2), float(arrays.moments[: arrays.state[BOX_ROWS], EDGES].sum())


@pytest.mark.parametrize(
    "graft", [pytest.param(0, marks=() if config.DISABLE_JIT else pytest.mark.slow), 5]
)
@given(X=grids(max_points=40))
@few
def test_same_tree(graft, X):
    tree = ClusterTree(X.shape[1], linkage="neighbors", graft=graft, search="astar")
    reference = NeighborTree(graft)
    for x in X:
        tree.insert(x[np.newaxis])
        reference.insert(x)
        assert_same(tree, reference)


@given(X=grids(max_points=45), n_jobs=st.integers(1, 2))
@few
def test_same_tree_from_small_batches(X, n_jobs):
    tree = ClusterTree(X.shape[1], linkage="neighbors", search="scan", n_jobs=n_jobs)
    with small_batches(11):
        tree.insert(X)
    reference = NeighborTree()
    for x in X:
        reference.insert(x)
    assert_same(tree, reference)


@given(X=grids(min_points=3, max_points=16), steps=st.lists(st.integers(0, 99), max_size=12))
@few
def test_removals_and_refinement(X, steps):
    """With few points, removals look at all of the tree for grafts, as the reference does."""
    tree = ClusterTree(X.shape[1], linkage="neighbors", search="astar")
    reference = NeighborTree()
    for place, x in enumerate(X):
        tree.insert(x[np.newaxis])
        reference.insert(x)
        step = steps[place] if place < len(steps) else 99
        if step < 60 and tree.n_points > 1:
            gone = int(tree.ids[step % tree.n_points])
            tree.remove([gone])
            reference.remove(gone)
        elif step < 70 and tree.n_leaves >= 3:
            assert tree.refine(1, neighbors=3) == reference.refine(1, 3)
        elif step < 80:
            tree = pickle.loads(pickle.dumps(tree))
        assume(not reference.ambiguous)
        assert_same(tree, reference)
    kept, at_nodes = weights_of(tree)
    assert kept == pytest.approx(at_nodes, abs=1e-4)


@pytest.mark.jit
def test_weights_stay_with_their_edges():
    """Whatever was estimated on the way, no edge is lost or counted twice by much."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)) + 3 * rng.integers(0, 6, (3000, 1))
    tree = ClusterTree(4, linkage="neighbors")
    tree.insert(X)
    tree.remove(tree.ids[::3])
    tree.insert(X[::3])
    tree.check()
    kept, at_nodes = weights_of(tree)
    assert at_nodes == pytest.approx(kept, rel=0.1)


@pytest.mark.jit
def test_files_and_order_of_batches(tmp_path):
    X = np.random.default_rng(0).random((400, 3))
    whole = ClusterTree(3, linkage="neighbors")
    whole.insert(X)
    part = ClusterTree(3, linkage="neighbors", n_jobs=2)
    part.insert(X[:100])
    part.save(tmp_path / "part.perch")
    part = ClusterTree.load(tmp_path / "part.perch")
    for start in range(100, 400, 50):
        part.insert(X[start : start + 50])
    part.check()
    assert clades_of(part) == clades_of(whole)
    whole.save(tmp_path / "whole.perch")
    mapped = ClusterTree.load(tmp_path / "whole.perch", mmap=True)
    assert clades_of(mapped.copy()) == clades_of(whole)


@pytest.mark.jit
def test_clusters_that_are_not_round():
    rng = np.random.default_rng(1)
    angles, y = rng.random(600) * np.pi, np.arange(600) % 2
    X = np.column_stack([np.cos(angles) + y, np.sin(angles) * (1 - 2 * y) + y * 0.5])
    X += rng.normal(size=X.shape) * 0.05
    purity = {}
    for linkage in ("average", "neighbors"):
        tree = ClusterTree(2, linkage=linkage)
        tree.insert(X)
        purity[linkage] = dendrogram_purity(tree, y)
    assert purity["neighbors"] > purity["average"]


def test_settings():
    chosen = Settings(linkage="neighbors")
    assert (chosen.neighbors, chosen.listed) == (ASKED, LISTED)
    assert Settings().listed == 0
    assert SAMPLED > LISTED  # what the tests above take for granted: nothing is estimated in them
    with pytest.raises(ValueError, match="leave out max_leaves"):
        Settings(linkage="neighbors", max_leaves=10)
