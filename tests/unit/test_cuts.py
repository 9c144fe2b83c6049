"""Cutting a tree into clusters."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree
from perchtree.clusters import cuts
from perchtree.metrics import pairwise_f1
from strategies import grids

CRITERIA = ["cost", "diameter", "height", "size", "blend", "scatter", "ward"]


def grow(X, **mode):
    tree = ClusterTree(X.shape[1], **({"linkage": "box"} | mode))
    tree.insert(X)
    return tree


def scatter_of(X, members):
    points = X[sorted(members)]
    return float(((points - points.mean(axis=0)) ** 2).sum())


def slow_costs(tree, X, criterion):
    """Node -> cost, from the definitions; nodes are sets of ids."""
    n_points = tree.n_points
    nodes = [n_points + i for i in np.flatnonzero(~tree.table.inner)]
    costs = {}
    for node in nodes:
        members = frozenset(tree.members(node).tolist())
        left, right = (tree.members(child) for child in tree.children[node - n_points])
        costs[members] = {
            "cost": tree.heights[node] * len(members),
            "diameter": tree.heights[node],
            "height": tree.heights[node],
            "size": len(members),
            "blend": len(members) * np.cbrt(tree.heights[node]),
            "scatter": scatter_of(X, members),
            "ward": scatter_of(X, members) - scatter_of(X, left) - scatter_of(X, right),
        }[criterion]
    return costs


def slow_cut(tree, costs, n_clusters):
    """Collapse the cheapest node whose children are leaves, again and again."""
    leaves = set(tree.leaf_of(range(tree.n_points)).tolist())
    clusters = [frozenset(tree.members(leaf).tolist()) for leaf in leaves]
    while len(clusters) > n_clusters:
        ready = [node for node in costs if sum(c < node for c in clusters) == 2]
        node = min(ready, key=lambda n: (costs[n], min(n)))
        clusters = [c for c in clusters if not c < node] + [node]
    labels = np.empty(tree.n_points, int)
    for label, cluster in enumerate(sorted(clusters, key=min)):
        labels[list(cluster)] = label
    return labels


@pytest.mark.parametrize("criterion", ["cost", "diameter", "height", "size", "blend"])
@given(X=grids(max_points=25), data=st.data())
def test_is_the_greedy_heuristic(criterion, X, data):
    tree = grow(X)
    n_clusters = data.draw(st.integers(1, tree.n_leaves))
    expected = slow_cut(tree, slow_costs(tree, X, criterion), n_clusters)
    assert tree.cut(n_clusters, criterion=criterion).tolist() == expected.tolist()


@pytest.mark.parametrize("offset", [0, 1e5])
@given(X=grids(min_points=2, max_points=25), seed=st.integers(0, 2**32 - 1))
def test_scatter_is_exact(offset, X, seed):
    X = (X + np.random.default_rng(seed).random(X.shape) + offset).astype(np.float32).astype(float)
    tree = grow(X)
    for criterion in ("scatter", "ward"):
        expected = slow_costs(tree, X, criterion)
        values = cuts.CRITERIA[criterion](tree._tree, tree.table)
        for merge, value in enumerate(values):
            members = frozenset(tree.members(tree.n_points + merge).tolist())
            if members in expected:
                assert value == pytest.approx(expected[members], rel=1e-6, abs=1e-6)


@given(grids(), st.data())
def test_labels_are_a_partition_of_the_tree(X, data):
    tree = grow(X)
    criterion = data.draw(st.sampled_from(CRITERIA))
    n_clusters = data.draw(st.integers(1, tree.n_leaves))
    labels = tree.cut(n_clusters, criterion=criterion)
    assert sorted(set(labels.tolist())) == list(range(n_clusters))
    firsts = [int(np.flatnonzero(labels == label)[0]) for label in range(n_clusters)]
    assert firsts == sorted(firsts)
    leaves = tree.leaf_of(range(len(X)))
    for label in range(n_clusters):
        members = np.flatnonzero(labels == label).tolist()
        top = members[0]
        for member in members:
            top = tree.lca(top, member)
        assert tree.members(max(top, leaves[members[0]])).tolist() == members


@given(grids(min_points=3), st.data())
def test_several_cuts_are_nested(X, data):
    tree = grow(X)
    counts = data.draw(st.lists(st.integers(1, tree.n_leaves), min_size=1, max_size=4))
    criterion = data.draw(st.sampled_from([None, *CRITERIA]))
    labels = tree.cut(counts, criterion=criterion)
    assert labels.shape == (len(X), len(counts))
    for column, count in enumerate(counts):
        if column == 0 or criterion is not None:
            assert np.array_equal(labels[:, column], tree.cut(count, criterion=criterion))
        for other, coarser in enumerate(counts):
            if coarser <= count:
                pairs = set(zip(labels[:, column].tolist(), labels[:, other].tolist(), strict=True))
                assert len(pairs) == count


@pytest.mark.parametrize("max_leaves", [None, 9])
@given(X=grids(), data=st.data())
def test_cluster_of_agrees_with_cut(max_leaves, X, data):
    tree = grow(X, max_leaves=max_leaves)
    criterion = data.draw(st.sampled_from(["cost", "diameter", "height", "size"]))
    n_clusters = data.draw(st.integers(1, tree.n_leaves))
    level = tree.cut_level(n_clusters, criterion=criterion)
    labels = tree.cut(level=level, criterion=criterion)
    assert labels.max() + 1 <= n_clusters
    clusters = [tree.cluster_of(i, level=level, criterion=criterion) for i in range(len(X))]
    for i in range(len(X)):
        members = np.flatnonzero(labels == labels[i])
        assert tree.points_in(clusters[i]).tolist() == members.tolist()
        assert clusters[i].size == len(members)
        assert (clusters[i] == clusters[0]) == (labels[i] == labels[0])


@given(grids(), st.floats(0, 50))
def test_distance_is_the_largest_diagonal(X, distance):
    tree = grow(X)
    labels = tree.cut(distance=distance)
    for label in range(labels.max() + 1):
        points = X[labels == label]
        assert np.sqrt(((points.max(axis=0) - points.min(axis=0)) ** 2).sum()) <= distance + 1e-9
    first = tree.cluster_of(0, distance=distance)
    assert tree.points_in(first).tolist() == np.flatnonzero(labels == labels[0]).tolist()


def test_two_obvious_clusters():
    tree = grow(np.array([[0], [10], [1], [11], [0.5]]))
    assert tree.cut(2).tolist() == [0, 1, 0, 1, 0]
    assert tree.cut(2, criterion="cost").tolist() == [0, 1, 0, 1, 0]


def skewed(exponent):
    """A tree of 30 clusters whose sizes follow a power law, and the cluster of each point."""
    shares = np.arange(1, 31) ** -exponent
    sizes = np.maximum(2, (600 * shares / shares.sum()).astype(int))
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(30, 12))
    classes = rng.permutation(np.repeat(np.arange(30), sizes))
    X = centres[classes] + 0.3 * rng.normal(size=(len(classes), 12))
    tree = ClusterTree(12)
    tree.insert(X)
    return tree, classes


@pytest.mark.jit
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_skewed_sizes_are_cut_by_pooled_heights(exponent):
    tree, classes = skewed(exponent)
    assert np.array_equal(tree.cut(30), tree.cut(30, criterion="pooled"))
    assert pairwise_f1(classes, tree.cut(30)) > 0.9
    assert pairwise_f1(classes, tree.cut(30, criterion="cost")) < 0.6


@pytest.mark.jit
def test_several_numbers_are_cut_by_what_suits_each_of_them():
    """Whatever their order: by pooled heights only if each alone would be."""
    tree, _ = skewed(1.0)
    assert np.array_equal(tree.cut(300), tree.cut(300, criterion="blend"))
    assert not np.array_equal(tree.cut(30), tree.cut(30, criterion="blend"))
    for numbers in ([30, 300], [300, 30]):
        assert np.array_equal(tree.cut(numbers), tree.cut(numbers, criterion="blend"))
    assert np.array_equal(tree.cut([30, 29]), tree.cut([30, 29], criterion="pooled"))


@pytest.mark.parametrize("linkage", ["box", "average"])
def test_sizes_that_are_alike_are_cut_by_the_blend(linkage):
    X = np.random.default_rng(0).random((200, 3))
    tree = grow(X, linkage=linkage)
    for count in (1, 2, 10, 100, 200):
        assert np.array_equal(tree.cut(count), tree.cut(count, criterion="blend"))


def test_collapsed_trees():
    tree = grow(np.random.default_rng(0).random((60, 2)), max_leaves=10)
    assert tree.cut(10).max() == 9
    with pytest.raises(ValueError, match="11 clusters asked of a tree of 10 leaves"):
        tree.cut(11)
    for criterion in ("scatter", "ward"):
        with pytest.raises(ValueError, match="features, which collapsing drops"):
            tree.cut(3, criterion=criterion)


def test_repeated_cuts_are_cheap_and_inserts_are_seen():
    X = np.random.default_rng(0).random((30, 2))
    tree = grow(X, linkage="average")
    with mock.patch.object(cuts, "arranged", wraps=cuts.arranged) as arranged:
        tree.cut(3)
        tree.cut([4, 5])
        assert arranged.call_count == 2  # pooled and by the blend
        tree.insert([[5, 5]])
        assert tree.cut(2, criterion="height").tolist() == [0] * 30 + [1]
        assert arranged.call_count == 3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_clusters": 2, "distance": 1}, ValueError, "at most one of"),
        ({"n_clusters": 0}, ValueError, "at least 1"),
        ({"n_clusters": 2.5}, TypeError, "not iterable|whole number"),
        ({"n_clusters": []}, ValueError, "n_clusters is empty"),
        ({"n_clusters": 2, "criterion": "nonsense"}, ValueError, "criterion must be one of"),
        ({"distance": -1}, ValueError, "at least 0"),
        ({"level": np.nan}, ValueError, "at least 0"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    tree = grow(np.arange(5.0)[:, np.newaxis])
    with pytest.raises(error, match=message):
        tree.cut(**arguments)


def test_cluster_of_needs_costs_that_grow():
    tree = grow(np.arange(5.0)[:, np.newaxis])
    with pytest.raises(ValueError, match="criterion must be one of 'cost'"):
        tree.cluster_of(0, level=1, criterion="ward")
    with pytest.raises(ValueError, match="either distance or level"):
        tree.cluster_of(0)
    with pytest.raises(ValueError, match="no id 5"):
        tree.cluster_of(5, level=1)


@given(grids())
def test_merges_by_id(X):
    """By the smallest point below them, as a sort has it; parts before wholes."""
    table = grow(X).table
    smallest = np.array([table.members(number).min() for number in range(len(table.parents))])
    np.testing.assert_array_equal(table.smallest, smallest)
    by_id = np.lexsort((np.arange(len(table.children)), smallest[table.n_points :]))
    np.testing.assert_array_equal(table.by_id, by_id)
