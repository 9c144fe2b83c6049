"""Every mode of the paper equals its slow version, node for node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import config

from batching import small_batches
from kernels import COMPILED
from perchtree import ClusterTree
from reference import ReferenceTree, box_max, box_min, clades_of
from strategies import grids

MASKINGS = ["published", "interval", "exact", None]
BALANCES = ["size", "ratio", None]


def pairs(maskings, compiled):
    """Rules to compare, as arguments of a test."""
    marks = () if config.DISABLE_JIT else pytest.mark.slow
    every = [(masking, balance) for masking in maskings for balance in BALANCES]
    return pytest.mark.parametrize(
        ("masking", "balance"),
        [pytest.param(*pair, marks=() if pair in compiled else marks) for pair in every],
    )


few = settings(max_examples=max(5, settings.default.max_examples // 4))


def assert_same(tree, reference):
    tree.check()
    assert clades_of(tree) == reference.clades()
    assert tree.stats.masking_rotations == reference.masking_rotations
    assert tree.stats.balance_rotations == reference.balance_rotations


def assert_same_growth(X, tree, reference, step=1):
    """Compare after every `step` inserts."""
    for start in range(0, len(X), step):
        tree.insert(X[start : start + step])
        for x in X[start : start + step]:
            reference.insert(x)
        assert_same(tree, reference)


@pairs(MASKINGS, COMPILED)
@given(X=grids())
@few
def test_rules(masking, balance, X):
    """By one search: which one found the leaf does not concern the rules."""
    rules = {"masking": masking, "balance": balance}
    tree = ClusterTree(X.shape[1], linkage="box", search="astar", **rules)
    reference = ReferenceTree(masking, balance)
    assert_same_growth(X, tree, reference, step=len(X))


@pairs(["published", "interval", None], [("published", "size"), ("interval", "ratio")])
@given(X=grids(max_points=30), max_leaves=st.sampled_from([1, 2, 3, 5, 8, 13]))
@few
def test_collapsing(masking, balance, X, max_leaves):
    rules = {"masking": masking, "balance": balance, "max_leaves": max_leaves}
    tree = ClusterTree(X.shape[1], linkage="box", search="astar", **rules)
    assert_same_growth(X, tree, ReferenceTree(masking, balance, max_leaves=max_leaves))


@given(X=grids(), max_leaves=st.integers(1, 20), batch_rows=st.sampled_from([2, 5, 11]))
def test_collapsing_in_batches(X, max_leaves, batch_rows):
    """Searched ahead on two threads, then compared with the leaves that have changed since."""
    tree = ClusterTree(X.shape[1], linkage="box", max_leaves=max_leaves, search="scan", n_jobs=2)
    reference = ReferenceTree(max_leaves=max_leaves)
    with small_batches(batch_rows):
        assert_same_growth(X, tree, reference, step=len(X))


@pytest.mark.parametrize("width", [1, 2, 5])
@given(X=grids())
def test_beam(width, X):
    tree = ClusterTree(X.shape[1], linkage="box", search="beam", beam_width=width)
    reference = ReferenceTree(beam_width=width)
    assert_same_growth(X, tree, reference, step=len(X))


@given(X=grids(max_points=30), width=st.integers(1, 4), max_leaves=st.integers(1, 12))
def test_beam_and_collapsing(X, width, max_leaves):
    tree = ClusterTree(
        X.shape[1], linkage="box", search="beam", beam_width=width, max_leaves=max_leaves
    )
    assert_same_growth(X, tree, ReferenceTree(beam_width=width, max_leaves=max_leaves))


@given(X=grids())
def test_a_wide_beam_is_exact(X):
    exact = ClusterTree(X.shape[1], linkage="box")
    wide = ClusterTree(X.shape[1], linkage="box", search="beam", beam_width=1000)
    exact.insert(X)
    wide.insert(X)
    assert np.array_equal(exact.children, wide.children)
    assert wide.stats.beam_found == wide.stats.beam_checked == min(len(X), 100) - 1


@given(X=grids(), max_leaves=st.integers(1, 20))
def test_nearest_in_collapsed_mode(X, max_leaves):
    """A point is as near as the box of its leaf; of equals the tighter box, then the id counts."""
    tree = ClusterTree(X.shape[1], linkage="box", max_leaves=max_leaves)
    reference = ReferenceTree(max_leaves=max_leaves)
    assert_same_growth(X, tree, reference, step=len(X))
    for query in X[:5] + 0.5:
        ids, distances = tree.nearest(query[np.newaxis], k=len(X))
        expected = sorted(
            (box_min(query, leaf), box_max(query, leaf), point_id)
            for leaf in reference.root.leaves()
            for point_id in leaf.ids
        )
        assert np.allclose(distances[0] ** 2, [near for near, _, _ in expected], rtol=1e-5)
        assert ids[0].tolist() == [point_id for _, _, point_id in expected]


@pytest.mark.jit
@given(X=grids(min_points=100, max_points=300), max_leaves=st.integers(5, 40))
@settings(max_examples=20)
def test_many_collapses(X, max_leaves):
    """Queues fill up with stale entries and are made anew; rows are freed and used again."""
    tree = ClusterTree(X.shape[1], linkage="box", max_leaves=max_leaves)
    assert_same_growth(X, tree, ReferenceTree(max_leaves=max_leaves), step=25)
