"""Trees with a linkage: settings, statistics, refinement and what can go wrong."""

import pickle
from unittest import mock

import numpy as np
import pytest
from numba.core import config
from sklearn.datasets import load_digits

from perchtree import ClusterTree
from perchtree._kernels.schema import FIRST, SCATTER
from perchtree.clusters.cuts import Cuts
from perchtree.metrics import dendrogram_purity

N_ROWS = 80 if config.DISABLE_JIT else 400


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:N_ROWS]
    return X[order, 20:44], y[order]


def made(X, **settings):
    tree = ClusterTree(X.shape[1], **{"linkage": "average", **settings})
    tree.insert(X)
    return tree


def test_rules_about_boxes_do_not_apply():
    for wrong in ({"masking": "exact"}, {"balance": None}):
        with pytest.raises(ValueError, match="rules about boxes"):
            ClusterTree(2, linkage="ward", **wrong)
    with pytest.raises(ValueError, match="linkage"):
        ClusterTree(2, linkage="single")
    with pytest.raises(ValueError, match="graft must be at least 0"):
        ClusterTree(2, linkage="ward", graft=-1)


@pytest.mark.jit
@pytest.mark.parametrize("linkage", ["average", "ward"])
def test_purer_than_boxes(digits, linkage):
    X, y = digits
    assert dendrogram_purity(made(X, linkage=linkage), y) > 0.05 + dendrogram_purity(
        made(X, linkage="box"), y
    )
    collapsed = [made(X, linkage=by, max_leaves=100) for by in (linkage, "box")]
    assert dendrogram_purity(collapsed[0], y) > 0.05 + dendrogram_purity(collapsed[1], y)


def test_copies_and_pickles_go_on_alike(digits):
    X, _ = digits
    tree = made(X[::2], max_leaves=20)
    twins = [tree.copy(), pickle.loads(pickle.dumps(tree))]
    tree.insert(X[1::2])
    for twin in twins:
        assert twin.linkage == "average"
        twin.insert(X[1::2])
        twin.check()
        assert np.array_equal(twin.children, tree.children)


@pytest.mark.parametrize("max_leaves", [None, 40])
def test_scatter_is_that_of_the_points(digits, max_leaves):
    """Also in collapsed mode, where points are forgotten; and so are cuts by it."""
    X = digits[0] + 10_000
    tree = made(X, max_leaves=max_leaves)
    table, moments = tree.table, tree._tree.moments
    for merge in np.flatnonzero(~table.inner):
        points = X[tree.members(table.n_points + merge)]
        exact = ((points - points.mean(axis=0)) ** 2).sum()
        assert moments[table.nodes[merge] // 2, SCATTER] == pytest.approx(exact, rel=1e-4)
    for criterion in ("scatter", "ward"):
        assert len(np.unique(tree.cut(10, criterion=criterion))) == 10


def test_scatter_cuts_agree_with_those_from_points(digits):
    """The statistics kept by the tree and those computed from all points give the same cuts."""
    tree = made(digits[0])
    without_means = tree._tree._replace(means=np.empty((0, 0)))
    from_points = Cuts(without_means, tree.table)
    for criterion in ("scatter", "ward"):
        for k in (2, 10, 30):
            expected = from_points.into(k, criterion)
            assert np.array_equal(tree.cut(k, criterion=criterion), expected)


def test_refine(digits, capsys):
    X, _ = digits
    tree = made(X, graft=0)
    tree.cut(10)
    assert tree.refine(passes=1, verbose=True) == [tree.stats.grafts]
    assert "point" in capsys.readouterr().err
    tree.check()
    assert tree.stats.grafts > 0
    assert len(np.unique(tree.cut(10))) == 10  # made anew from the tree as it is now
    passes = tree.refine(passes=50)
    assert passes[-1] == 0  # the one that changes nothing is the last
    assert 0 not in passes[:-1]
    assert tree.n_points == len(X)


def test_refine_stops_in_time(digits):
    tree = made(digits[0], graft=0)
    tree.refine(passes=1)  # compiled
    tree = made(digits[0], graft=0)
    assert len(tree.refine(passes=1000, time_limit=1e-9)) <= 1
    tree.check()


def test_refine_can_be_interrupted(digits):
    tree = made(digits[0], graft=0)
    done = []

    def update(count):
        done.append(count)
        raise KeyboardInterrupt

    with (
        mock.patch("perchtree.tree.progress") as bar,
        mock.patch("perchtree.refining._LEAVES_AT_ONCE", 50),
    ):
        bar.return_value.__enter__.return_value.update = update
        with pytest.raises(KeyboardInterrupt, match="the tree is whole"):
            tree.refine()
    assert done == [50]
    tree.check()
    assert tree.insert(digits[0][:3]).tolist() == [N_ROWS, N_ROWS + 1, N_ROWS + 2]


def test_refine_says_what_is_wrong(digits):
    with pytest.raises(ValueError, match="needs a tree with a linkage"):
        made(digits[0], linkage="box").refine()
    tree = made(digits[0])
    for wrong, message in (
        ({"passes": 0}, "passes"),
        ({"neighbors": 0}, "neighbors"),
        ({"time_limit": -1}, "time_limit must be positive"),
        ({"time_limit": float("nan")}, "time_limit must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            tree.refine(**wrong)


def test_refine_of_next_to_nothing():
    tree = ClusterTree(1, linkage="ward")
    assert tree.refine() == [0]
    tree.insert([[1.0], [2.0], [2.0]])
    assert tree.refine() == [0]


def test_neighbours_of_leaves_leave_out_the_leaf_itself(digits):
    tree = made(digits[0], search="astar")
    refinement = tree._refinement(3)
    neighbours = refinement._find(refinement.leaves)
    ids, _ = tree.nearest(digits[0], k=4)
    assert np.array_equal(tree._tree.nodes[neighbours, FIRST], ids[:, 1:])
