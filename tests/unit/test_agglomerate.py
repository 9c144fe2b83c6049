"""Batch clustering by neighbours equals the slow version, and makes trees like any other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_agglomerate as slow
from perchtree import ClusterTree, agglomerate
from perchtree.metrics import dendrogram_purity
from reference import clades_of
from strategies import grids

few = settings(max_examples=max(10, settings.default.max_examples // 8))


def clades_of_merges(merges, members):
    """The sets of ids below each leaf and each merge."""
    below = [frozenset(ids) for ids in members]
    for a, b in merges:
        below.append(below[a] | below[b])
    return set(below)


@given(seed=st.integers(0, 2**16), n=st.integers(1, 40), d=st.integers(1, 3), k=st.integers(1, 8))
@few
def test_same_merges(seed, n, d, k):
    """No ties, so that rounding decides nothing; some rows are copies of others."""
    rng = np.random.default_rng(seed)
    distinct = rng.normal(size=(n, d)).astype(np.float32)
    X = np.concatenate([distinct, distinct[rng.integers(0, n, n // 5)]])
    tree = agglomerate(X, neighbors=k)
    tree.check()
    members = [np.flatnonzero((x == X).all(axis=1)).tolist() for x in distinct]
    merges = slow.agglomerate(distinct.astype(float), [len(ids) for ids in members], k)
    assert clades_of(tree) == clades_of_merges(merges, members)


@given(X=grids(max_points=40), k=st.integers(1, 6))
@few
def test_ties_and_copies(X, k):
    """Whatever the input: a whole tree of all points, the same from any number of threads."""
    tree = agglomerate(X, neighbors=k)
    tree.check()
    assert tree.n_points == len(X)
    assert tree.n_leaves == len(np.unique(X, axis=0))
    assert clades_of(agglomerate(X, neighbors=k, n_jobs=2)) == clades_of(tree)


def test_what_no_edges_join_is_joined_by_distance():
    near = np.random.default_rng(0).normal(size=(3, 30, 2)) * 0.1
    X = (near + np.array([[0, 0], [10, 0], [100, 0]])[:, np.newaxis]).reshape(-1, 2)
    tree = agglomerate(X, neighbors=3)
    labels = tree.cut(2, criterion="size")
    assert len(np.unique(labels[:60])) == 1
    assert labels[0] != labels[-1]


@pytest.mark.jit
def test_clusters_that_are_not_round():
    """Two half moons: by distances alone they are torn apart."""
    rng = np.random.default_rng(0)
    angles = rng.random(400) * np.pi
    y = np.arange(400) % 2
    X = np.column_stack([np.cos(angles) + y, np.sin(angles) * (1 - 2 * y) + y * 0.5])
    X += rng.normal(size=X.shape) * 0.05
    average = ClusterTree(2, linkage="average")
    average.insert(X)
    assert dendrogram_purity(agglomerate(X), y) > 0.98 > 0.9 > dendrogram_purity(average, y)


@pytest.mark.jit
def test_a_tree_like_any_other(tmp_path):
    X = np.random.default_rng(0).random((150, 2))
    tree = agglomerate(X[:120])
    tree.save(tmp_path / "tree.perch")
    again = ClusterTree.load(tmp_path / "tree.perch")
    for one in (tree, again):
        assert one.insert(X[120:]).tolist() == list(range(120, 150))
        one.remove([3, 50])
        one.refine()
        one.check()
    assert clades_of(again) == clades_of(tree)
    assert tree.to_linkage().shape == (147, 4)


def test_one_point_and_only_copies():
    assert agglomerate([[1.0, 2.0]]).n_points == 1
    tree = agglomerate(np.ones((5, 2)))
    tree.check()
    assert (tree.n_points, tree.n_leaves) == (5, 1)
    assert agglomerate([[-0.0], [0.0]]).n_leaves == 1


def test_cosine():
    X = np.random.default_rng(0).normal(size=(60, 4))
    tree = agglomerate(X, metric="cosine")
    assert clades_of(tree) == clades_of(agglomerate(5 * X, metric="cosine"))


@pytest.mark.parametrize(
    ("given_", "error"),
    [
        ({"linkage": "box"}, "with a linkage"),
        ({"max_leaves": 9}, "max_leaves"),
        ({"neighbors": 0}, "neighbors"),
        ({"metrc": "cosine"}, "did you mean 'metric'"),
    ],
)
def test_what_is_refused(given_, error):
    with pytest.raises((ValueError, TypeError), match=error):
        agglomerate([[0.0], [1.0]], **given_)


def test_bad_rows():
    with pytest.raises(ValueError, match="row 1 contains NaN"):
        agglomerate([[0.0], [np.nan]])
    with pytest.raises(ValueError, match="empty"):
        agglomerate(np.empty((0, 3)))
