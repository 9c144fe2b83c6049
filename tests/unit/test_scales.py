"""A minimum size found from the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree, Perch
from perchtree.clusters import scales
from strategies import grids

pytestmark = pytest.mark.outer


def grow(X, **settings):
    tree = ClusterTree(X.shape[1], **settings)
    tree.insert(X)
    return tree


def blobs(n_clusters, size, seed=0):
    rng = np.random.default_rng(seed)
    centres = 10 * rng.normal(size=(n_clusters, 6))
    return centres[rng.permutation(np.repeat(np.arange(n_clusters), size))] + rng.normal(
        size=(n_clusters * size, 6)
    )


@pytest.mark.parametrize(("n_clusters", "size"), [(60, 5), (30, 20), (10, 100)])
@pytest.mark.parametrize(
    ("settings", "factor"),
    [({}, 1.2), ({"max_leaves": 150}, 1.2), ({"linkage": "box"}, 3)],  # those trees are less pure
)
def test_finds_what_is_obvious(n_clusters, size, settings, factor):
    tree = grow(blobs(n_clusters, size), **settings)
    best = tree.suggest_cuts()[0]
    assert best.stands_out
    assert best.n_clusters == tree.cut().max() + 1
    assert n_clusters / factor <= best.n_clusters <= factor * n_clusters
    assert np.array_equal(tree.cut(), tree.cut(min_cluster_size=best.min_cluster_size))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_features", [2, 10])
def test_says_that_nothing_stands_out(n_features, seed):
    tree = grow(np.random.default_rng(seed).normal(size=(800, n_features)))
    (only,) = tree.suggest_cuts()
    assert not only.stands_out
    assert only.min_cluster_size == 48
    assert tree.cut().max() + 1 == only.n_clusters


@given(X=grids(max_points=40))
def test_any_tree_has_a_first_suggestion(X):
    tree = grow(X)
    first = tree.suggest_cuts(1)[0]
    labels = tree.cut()
    assert labels.max() + 1 == first.n_clusters
    assert np.array_equal(labels, tree.cut(min_cluster_size=first.min_cluster_size))
    assert np.array_equal(Perch().fit(X).labels_, labels)


def test_repeats_and_is_kept_until_the_tree_changes():
    X = blobs(20, 10)
    tree, again = grow(X), grow(X)
    assert tree.suggest_cuts() == again.suggest_cuts()
    assert tree.suggest_cuts()[0] is tree.suggest_cuts(1)[0]
    assert tree.copy().suggest_cuts()[0] is tree.suggest_cuts(1)[0]
    tree.insert(blobs(20, 10, seed=1))
    assert tree.suggest_cuts()[0].n_clusters > again.suggest_cuts()[0].n_clusters


@pytest.mark.parametrize("factor", [1e-12, 1e17])
def test_does_not_depend_on_the_unit(factor):
    X = blobs(20, 10).astype(np.float32).astype(float)
    usual, scaled = grow(X).suggest_cuts(), grow(X * factor).suggest_cuts()
    assert [s[:2] for s in usual] == [s[:2] for s in scaled]


def test_cosine():
    X = blobs(10, 30)
    tree = grow(X, metric="cosine")
    assert tree.cut().max() + 1 == tree.suggest_cuts()[0].n_clusters


@given(n_rows=st.integers(1, 12), n_columns=st.integers(1, 12), seed=st.integers(0, 99))
def test_principal_coordinates_keep_distances_and_are_uncorrelated(n_rows, n_columns, seed):
    rows = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    rows -= rows.mean(axis=0)
    found = scales.principal_coordinates(rows)
    assert found.shape == (n_rows, min(n_rows, n_columns))
    assert found @ found.T == pytest.approx(rows @ rows.T, abs=1e-9)
    spread = found.T @ found
    assert spread == pytest.approx(np.diag(np.diag(spread)), abs=1e-9)


def test_minimum_sizes():
    assert scales.minimum_sizes(1) == [2]
    assert scales.minimum_sizes(64) == [2, 3, 4]
    assert scales.minimum_sizes(400) == [2, 3, 4, 6, 8, 12, 16, 24]


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        ([0.0], [0]),
        ([0.2, 0.4, 0.3], [2]),  # nothing stands out
        ([0.2, 0.9, 0.3], [1]),
        ([0.9, 0.85, 0.3], [1]),  # a plateau
        ([2.0, 1.0, 0.3], [0]),
        ([0.8, 0.9, 0.85, 0.88, 0.3], [3]),
        ([1.0, 0.6, 0.95, 0.2, 0.75], [2, 0, 4]),  # two more peaks
        ([1.0, 0.6, 0.75, 0.2, 0.4], [0, 2]),  # one of them does not stand out
    ],
)
def test_telling(gaps, expected):
    assert scales.telling(np.array(gaps), lambda place: 0.6) == expected


PLATEAU = np.array([0.2, 1.0, 1.1, 1.05, 0.3])


@pytest.mark.parametrize(
    ("shares", "best"),
    [
        ([1.0, 0.9, 0.8, 0.6, 0.0], 3),  # the largest of equals
        ([1.0, 0.9, 0.8, 0.5, 1.0], 2),  # the largest whose clusters are found again
        ([1.0, 0.6, 0.1, 0.4, 0.0], 1),
        ([1.0, 0.3, 0.4, 0.2, 1.0], 2),  # none are: where most is
    ],
)
def test_of_equals_the_largest_that_is_found_again(shares, best):
    assert scales.telling(PLATEAU, shares.__getitem__) == [best]


def test_a_known_minimum_size_stays_as_long_as_none_is_much_better():
    def nobody_asks(place):
        raise AssertionError

    assert scales.telling(PLATEAU, nobody_asks, known=1) == [1]
    assert scales.telling(PLATEAU, lambda place: 0.6, known=4) == [3]


def test_the_first_suggestion_stays_when_points_are_added(monkeypatch):
    def pretend(*gaps):
        monkeypatch.setattr(scales, "find_gaps", lambda *_: np.array(gaps))

    X = blobs(20, 12)
    tree, fresh = grow(X[:220]), grow(X)
    pretend(0.2, 0.5, 1.5, 1.0, 0.9, 0.8)
    assert tree.suggest_cuts()[0].min_cluster_size == 4
    tree.insert(X[220:])
    pretend(0.2, 0.5, 1.4, 1.5, 1.5, 0.8)
    assert tree.suggest_cuts()[0].min_cluster_size == 4
    assert fresh.suggest_cuts()[0].min_cluster_size == 8
    tree.insert(X[:1])
    pretend(0.2, 0.5, 1.2, 1.5, 1.5, 0.8)
    assert tree.suggest_cuts()[0].min_cluster_size == 8
