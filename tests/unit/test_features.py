"""Boxes and means: of large nodes they are kept, of small ones computed; both must be right."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree, CorruptFileError, InvariantError, _arrays
from perchtree._arrays import copied, used_rows
from perchtree._centres import node_boxes, node_centres
from perchtree._kernels.features import MOST_SMALL
from perchtree._kernels.schema import (
    BOX_ROWS,
    FEATURE_ROWS,
    FEATURES,
    FREE_FEATURES,
    NONE,
    SIZE,
    SMALL,
)
from perchtree.clusters.cuts import points_below
from perchtree.files.trees import verified

MODES = [{}, {"linkage": "box"}, {"linkage": "ward", "graft": 0}, {"max_leaves": 8}]


@pytest.fixture(autouse=True, scope="module")
def small_nodes_as_of_long_rows():
    with mock.patch.object(_arrays, "SHORT_ROWS", 0):
        yield


def grown(settings, *, n_points=60, seed=0):
    """A tree with copies and freed rows."""
    random = np.random.default_rng(seed)
    tree = ClusterTree(3, search="astar", **settings)
    X = random.integers(0, 6, (n_points, 3)) + 1e6
    tree.insert(X)
    tree.remove(random.permutation(n_points)[: n_points // 3])
    tree.insert(X[:10])
    return tree


def nodes_in_use(arrays):
    nodes = 2 * np.arange(int(arrays.state[BOX_ROWS])) + 1
    return nodes[arrays.nodes[nodes, SIZE] > 0]


@pytest.mark.parametrize("settings", [{}, {"linkage": "box"}], ids=str)
@given(seed=st.integers(0, 1000), n_points=st.integers(2, 40))
def test_of_every_node_they_are_those_of_its_points(settings, seed, n_points):
    tree = grown(settings, seed=seed, n_points=n_points)
    arrays = tree._tree
    nodes = np.append(nodes_in_use(arrays), np.unique(arrays.ids[tree.ids, 0])).astype(np.int32)
    boxes, centres = node_boxes(arrays, nodes), node_centres(arrays, nodes)
    for node, box, centre in zip(nodes, boxes, centres, strict=True):
        points = tree.vectors(points_below(arrays, node)).astype(float)
        assert np.array_equal(box, [points.min(axis=0), points.max(axis=0)])
        middle = points.mean(axis=0) if tree.settings.has_linkage else box.mean(axis=0)
        np.testing.assert_allclose(centre, middle, rtol=1e-15)


@pytest.mark.parametrize("settings", MODES, ids=str)
def test_nodes_of_few_points_keep_none(settings):
    tree = grown(settings)
    tree.check()
    arrays = tree._tree
    nodes, few = nodes_in_use(arrays), int(arrays.state[SMALL])
    assert few == (0 if "max_leaves" in settings else MOST_SMALL)
    keeps = arrays.nodes[nodes, FEATURES] != NONE
    assert np.array_equal(keeps, arrays.nodes[nodes, SIZE] > few)
    lengths = {name: len(array) for name, array in used_rows(arrays)}
    assert lengths["boxes"] == arrays.state[FEATURE_ROWS] <= lengths["nodes"] // 2
    assert lengths["means"] in (0, lengths["boxes"])


@pytest.mark.parametrize(("n_features", "few"), [(3, 2), (63, 2), (64, 4)])
def test_of_short_rows_fewer_points_are_few(n_features, few):
    with mock.patch.object(_arrays, "SHORT_ROWS", 64):
        tree = ClusterTree(n_features, search="astar")
    tree.insert(np.random.default_rng(0).normal(size=(30, n_features)))
    tree.check()
    assert tree._tree.state[SMALL] == few


def test_rows_are_given_back_and_used_again():
    tree = ClusterTree(2, search="astar")
    X = np.random.default_rng(0).normal(size=(200, 2))
    tree.insert(X)
    rows = int(tree._tree.state[FEATURE_ROWS])
    tree.remove(tree.ids[: 200 - MOST_SMALL])
    tree.check()
    assert tree._tree.state[FREE_FEATURES] != NONE
    assert not tree._tree.boxes.any()
    assert not tree._tree.means.any()
    tree.insert(X[:150])
    tree.check()
    assert tree._tree.state[FEATURE_ROWS] <= rows


def test_copies_make_a_node_large():
    tree = ClusterTree(2, search="astar")
    tree.insert([[0.0, 0.0], [1.0, 3.0]])
    assert tree._tree.state[FEATURE_ROWS] == 0
    tree.insert([[1.0, 3.0]] * MOST_SMALL)
    tree.check()
    assert tree._tree.boxes[0].tolist() == [[0, 0], [1, 3]]
    np.testing.assert_allclose(tree._tree.means[0], [5 / 6, 15 / 6])
    tree.remove([2, 3])
    tree.check()
    assert tree._tree.state[FREE_FEATURES] == 0


@pytest.mark.parametrize(
    ("settings", "change"),
    [*((mode, "remove") for mode in MODES), ({}, "refine"), ({"max_leaves": 8}, "refine")],
    ids=str,
)
def test_a_tree_from_a_file_makes_room_for_features(settings, change, tmp_path):
    """In a file there are as many rows as are used, and repairs may need more."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        tree = ClusterTree(3, search="astar", **settings)
        tree.insert(random.normal(size=(50, 3)))
        gone = random.permutation(50)[:3]
        tree.save(tmp_path / "tree.perch")
        again = ClusterTree.load(tmp_path / "tree.perch")
        for each in (tree, again):
            if change == "refine":
                each.refine(neighbors=10)
            else:
                each.remove(gone)
            each.check()
        for name, array in used_rows(tree._tree):
            assert np.array_equal(array, dict(used_rows(again._tree))[name]), name


def of_another(arrays, large, small):
    arrays.nodes[large[0], FEATURES] = arrays.nodes[large[1], FEATURES]


def beyond_the_end(arrays, large, small):
    arrays.nodes[large[0], FEATURES] = arrays.state[FEATURE_ROWS]


def lost(arrays, large, small):
    arrays.nodes[large[0], FEATURES] = NONE


def too_many(arrays, large, small):
    arrays.nodes[small[0], FEATURES] = arrays.state[FREE_FEATURES]


def lost_free(arrays, large, small):
    arrays.state[FREE_FEATURES] = NONE


def free_in_use(arrays, large, small):
    arrays.state[FREE_FEATURES] = arrays.nodes[large[0], FEATURES]


def free_twice(arrays, large, small):
    row = arrays.state[FREE_FEATURES]
    arrays.nodes[2 * row, FEATURES] = row


def free_not_erased(arrays, large, small):
    arrays.means[arrays.state[FREE_FEATURES], 1] = 1e-9


def another_bound(arrays, large, small):
    arrays.state[SMALL] = MOST_SMALL + 1


def moved_mean(arrays, large, small):
    arrays.means[arrays.nodes[large[1], FEATURES], 0] += 1e-3


def moved_corner(arrays, large, small):
    arrays.boxes[arrays.nodes[large[1], FEATURES], 1, 0] += 1


@pytest.mark.parametrize(
    "damage",
    [of_another, beyond_the_end, lost, too_many, lost_free, free_in_use, free_twice,
     free_not_erased, another_bound, moved_mean, moved_corner],
)  # fmt: skip
def test_damage_is_found(damage):
    tree = grown({})
    tree.remove(tree.ids[:20])
    tree.check()
    arrays = tree._tree
    nodes = nodes_in_use(arrays)
    keeps = arrays.nodes[nodes, FEATURES] != NONE
    assert arrays.state[FREE_FEATURES] != NONE
    damage(arrays, nodes[keeps], nodes[~keeps])
    with pytest.raises(InvariantError, match=r"node -?\d+ "):
        tree.check()


def as_of_format_2(tree):
    """The arrays of a tree as they used to be: every node with features in its own row."""
    nodes = nodes_in_use(tree)
    n_boxes, d = int(tree.state[BOX_ROWS]), tree.points.shape[1]
    boxes = np.zeros((n_boxes, 2, d), np.float32)
    boxes[nodes // 2] = node_boxes(tree, nodes)
    means = np.zeros((n_boxes if tree.means.shape[1] else 0, tree.means.shape[1]))
    if len(means):
        means[nodes // 2] = node_centres(tree, nodes)
    old = copied(tree)
    return old._replace(
        nodes=old.nodes[:, :FEATURES].copy(),
        state=old.state[:SMALL].copy(),
        boxes=boxes,
        means=means,
    )


@pytest.mark.parametrize("settings", [{}, {"linkage": "box"}, {"max_leaves": 8}], ids=str)
@given(seed=st.integers(0, 100))
def test_trees_of_older_formats(settings, seed):
    """They keep what they need, and go on as if they had always been so."""
    tree = grown(settings, seed=seed)
    with tree.stored() as stored:
        old = stored._replace(tree=as_of_format_2(stored.tree))
    again = verified("it", old, deep=True)
    keeps = again.tree.nodes[nodes_in_use(again.tree), FEATURES] != NONE
    assert len(again.tree.boxes) == again.tree.state[FEATURE_ROWS] == np.count_nonzero(keeps)
    new = ClusterTree.from_stored(again)
    for each in (tree, new):
        each.remove(each.ids[::3])
        each.insert(np.random.default_rng(seed).integers(0, 6, (20, 3)) + 1e6)
        each.check()
    assert np.array_equal(tree.children, new.children)
    for one, other in zip(used_rows(tree._tree), used_rows(new._tree), strict=True):
        if one[0] in ("points", "ids", "moments"):
            np.testing.assert_allclose(one[1], other[1], rtol=1e-9, err_msg=one[0])


@pytest.mark.parametrize("name", ["nodes", "boxes", "means", "state"])
def test_of_older_formats_arrays_of_other_shapes(name):
    with grown({}).stored() as stored:
        old = as_of_format_2(stored.tree)
        damaged = stored._replace(tree=old._replace(**{name: getattr(old, name)[:-1]}))
    with pytest.raises(CorruptFileError, match="it holds no tree"):
        verified("it", damaged)
