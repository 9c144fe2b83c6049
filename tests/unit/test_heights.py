"""The heights of a tree: how far apart the two parts of a merge are."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree, Perch
from strategies import grids

LINKAGES = ["average", "ward"]


def grow(X, **settings):
    tree = ClusterTree(X.shape[1], **settings)
    tree.insert(X)
    return tree


def mean_square(left, right):
    """Over all pairs of a row of one and a row of the other."""
    return float(((left[:, np.newaxis] - right) ** 2).sum(axis=2).mean())


def slow_heights(tree, X):
    """From the definition; copies of a point are 0 apart."""
    squared = np.zeros(2 * len(X) - 1)
    for merge, parts in enumerate(tree.children):
        left, right = (X[tree.members(part)] for part in parts)
        squared[len(X) + merge] = max(mean_square(left, right), *squared[parts])
    return np.sqrt(squared)


@pytest.mark.parametrize("linkage", LINKAGES)
@given(X=grids(max_points=25))
def test_are_root_mean_squared_distances(linkage, X):
    tree = grow(X, linkage=linkage)
    assert tree.heights == pytest.approx(slow_heights(tree, X), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_far_from_the_origin(offset):
    X = (np.random.default_rng(0).random((40, 3)) + offset).astype(np.float32).astype(float)
    tree = grow(X)
    assert tree.heights == pytest.approx(slow_heights(tree, X), rel=1e-6)


@pytest.mark.parametrize("max_leaves", [None, 7])
@pytest.mark.parametrize("linkage", [*LINKAGES, "box"])
@given(X=grids(min_points=2))
def test_never_shrink_towards_the_root(linkage, max_leaves, X):
    tree = grow(X, linkage=linkage, max_leaves=max_leaves)
    parents = tree.parents[:-1]
    assert (tree.heights[:-1] <= tree.heights[parents]).all()
    assert (np.diff(tree.heights[len(X) :]) >= 0).all()
    assert (tree.heights[: len(X)] == 0).all()


def closed(children, n_points):
    """All sets of merges that hold every merge below one of theirs."""
    below = [[c - n_points for c in parts if c >= n_points] for parts in children]
    for chosen in itertools.product([False, True], repeat=len(children)):
        if all(chosen[c] for m, parts in enumerate(below) if chosen[m] for c in parts):
            yield np.array(chosen)


def slow_pooled(tree, X):
    """Isotonic regression by its max-min formula (Robertson, Wright and Dykstra, 1988, chapter 1):
    the largest of the smallest means over an upper set cut by a lower set, both with the merge."""
    parts = [[X[tree.members(part)] for part in pair] for pair in tree.children]
    squared = np.array([mean_square(left, right) for left, right in parts])
    pairs = np.array([len(left) * len(right) for left, right in parts])
    lower = list(closed(tree.children, len(X)))

    def smallest(merge, above):
        sets = [above & below for below in lower if below[merge]]
        return min(float((squared * pairs)[s].sum() / pairs[s].sum()) for s in sets)

    return np.sqrt([
        max(smallest(merge, ~below) for below in lower if not below[merge])
        for merge in range(len(squared))
    ])  # fmt: skip


@pytest.mark.parametrize("linkage", LINKAGES)
@given(X=grids(min_points=2, max_points=8))
def test_pooled_ones_are_isotonic_regression(linkage, X):
    tree = grow(X, linkage=linkage)
    expected = slow_pooled(tree, X)
    assert tree.table.pooled[len(X) :] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("max_leaves", [None, 7])
@pytest.mark.parametrize("linkage", [*LINKAGES, "box"])
@given(X=grids(min_points=2))
def test_pooled_ones_never_shrink_towards_the_root(linkage, max_leaves, X):
    table = grow(X, linkage=linkage, max_leaves=max_leaves).table
    assert (table.pooled[:-1] <= table.pooled[table.parents[:-1]] * (1 + 1e-12)).all()
    assert (table.pooled <= table.heights * (1 + 1e-12)).all()
    sizes = table.sizes[table.children].astype(float)
    pairs = sizes[:, 0] * sizes[:, 1]
    assert pairs @ table.pooled[len(X) :] ** 2 == pytest.approx(pairs @ table.distances**2)
    if linkage == "box":
        assert table.pooled == pytest.approx(table.heights)


@given(X=grids(min_points=2))
def test_of_boxes_are_diagonals(X):
    tree = grow(X, linkage="box")
    for number in range(len(X), 2 * len(X) - 1):
        points = X[tree.members(number)]
        sides = points.max(axis=0) - points.min(axis=0)
        assert tree.heights[number] == pytest.approx(np.sqrt((sides**2).sum()))


def test_of_a_collapsed_leaf_are_those_between_two_of_its_points():
    X = np.array([[0.0, 0], [1, 0], [0, 2], [100, 0], [300, 0]])
    tree = grow(X, max_leaves=3)
    assert len(np.unique(tree.leaf_of(range(3)))) == 1
    a, b, c = X[:3]
    squared = [((one - other) ** 2).sum() for one, other in ((a, b), (a, c), (b, c))]
    leaf = int(tree.leaf_of([0])[0])
    assert tree.heights[leaf] == pytest.approx(np.sqrt(np.mean(squared)))


@pytest.mark.parametrize("max_leaves", [None, 9])
@pytest.mark.parametrize("linkage", [*LINKAGES, "box"])
@given(X=grids(), data=st.data())
def test_cluster_of_agrees_with_cut(linkage, max_leaves, X, data):
    tree = grow(X, linkage=linkage, max_leaves=max_leaves)
    distance = data.draw(st.sampled_from(tree.heights.tolist())) * data.draw(
        st.sampled_from([0.9, 1.0, 1.1])
    )
    labels = tree.cut(distance=distance)
    assert np.array_equal(labels, tree.cut(level=distance, criterion="height"))
    for point, label in enumerate(labels.tolist()):
        cluster = tree.cluster_of(point, distance=distance)
        assert cluster == tree.cluster_of(point, level=distance, criterion="height")
        assert tree.points_in(cluster).tolist() == np.flatnonzero(labels == label).tolist()


@given(X=grids(min_points=2, max_points=30), data=st.data())
def test_cut_at_a_distance_joins_what_is_no_farther_apart(X, data):
    tree = grow(X)
    distance = data.draw(st.floats(0, 30))
    labels = tree.cut(distance=distance)
    heights = slow_heights(tree, X)
    for number in range(len(X), 2 * len(X) - 1):
        if abs(heights[number] - distance) > 1e-6:
            joined = len(np.unique(labels[tree.members(number)])) == 1
            assert joined == (heights[number] < distance)


def test_cluster_of_sees_inserts():
    tree = grow(np.array([[0.0], [1.0], [50.0]]))
    assert tree.cluster_of(0, distance=2).size == 2
    tree.insert([[0.5]])
    assert tree.cluster_of(0, distance=2).size == 3


def test_diameter_has_its_own_name():
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    tree = grow(X)
    assert tree.cut(level=2, criterion="diameter").tolist() == [0, 0, 0, 1]
    assert tree.cut(level=1.9, criterion="diameter").max() == 2
    assert tree.cut(distance=1.9).tolist() == [0, 0, 0, 1]  # (1 + 4) / 2 or (1 + 1) / 2, squared


def test_estimator():
    X = np.random.default_rng(0).random((50, 3))
    model = Perch(distance_threshold=0.4).fit(X)
    tree = model.tree_
    assert np.array_equal(model.distances_, tree.heights[50:])
    assert np.array_equal(model.labels_, tree.cut(distance=0.4))
    assert len(model.cluster_ids_) > 1
    assert np.array_equal(model.predict(X), model.labels_)
