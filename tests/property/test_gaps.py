"""Whatever ids points have, as long as they ascend, everything else is the same."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batching import small_batches
from gapped import insert_with_gaps, skip_ids
from perchtree import ClusterTree
from perchtree.clusters.cuts import CRITERIA
from perchtree.clusters.exemplars import find_exemplars
from perchtree.metrics import dendrogram_purity
from reference import ReferenceTree, clades_of
from reference_linkage import LinkageTree
from strategies import grids

BOX = {"linkage": "box"}
AVERAGE = {"linkage": "average"}
COLLAPSED = {"linkage": "average", "max_leaves": 7}
MODES = [BOX, AVERAGE, COLLAPSED, {"linkage": "box", "search": "beam", "beam_width": 2}]

few = settings(
    max_examples=max(8, settings.default.max_examples // 8),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
gaps_of = st.lists(st.integers(0, 4), min_size=1, max_size=4)
rows_of = st.sampled_from([1, 3, 10, 100])


def grow_twins(mode, X, gaps, batch_rows):
    """A tree with the ids 0, 1, 2, ..., the same one with gaps between its ids, and these ids."""
    dense, gapped = (ClusterTree(X.shape[1], **mode) for _ in range(2))
    insert_with_gaps(dense, X, [0], batch_rows)
    return dense, gapped, insert_with_gaps(gapped, X, gaps, batch_rows)


@pytest.mark.parametrize("mode", MODES)
@given(X=grids(max_points=30), gaps=gaps_of, batch_rows=rows_of)
@few
def test_structure(mode, X, gaps, batch_rows):
    dense, gapped, ids = grow_twins(mode, X, gaps, batch_rows)
    gapped.check()
    assert gapped.ids.tolist() == gapped.table.ids.tolist() == ids.tolist()
    assert len(gapped) == gapped.n_points == len(X)
    assert gapped.next_id == ids[-1] + 1
    assert gapped.n_leaves == dense.n_leaves
    assert gapped.depth == dense.depth
    assert np.array_equal(gapped.mean_balance, dense.mean_balance, equal_nan=True)
    for name in ("children", "parents", "heights"):
        assert np.array_equal(getattr(gapped, name), getattr(dense, name))
    assert np.array_equal(gapped.leaf_of(ids), dense.table.leaves)
    for node in range(2 * len(X) - 1):
        assert np.array_equal(gapped.members(node), ids[dense.members(node)])
    for number, point_id in enumerate(ids.tolist()):
        assert np.array_equal(gapped.path(point_id), dense.path(number))


@given(X=grids(max_points=12), gaps=st.lists(st.integers(1, 3), min_size=1, max_size=3))
@few
def test_an_id_that_no_point_has(X, gaps):
    _, gapped, ids = grow_twins(BOX, X, gaps, 1)
    for absent in {*range(gapped.next_id), gapped.next_id + 3} - set(ids.tolist()):
        for use in (
            gapped.leaf_of,
            gapped.path,
            lambda point_id: gapped.cluster_of(point_id, level=1),
        ):
            with pytest.raises(ValueError, match=f"no (point has the )?id {absent}"):
                use(absent)


@pytest.mark.parametrize(
    ("mode", "reference"),
    [
        (BOX, ReferenceTree),
        ({"linkage": "box", "max_leaves": 5}, lambda: ReferenceTree(max_leaves=5)),
        (AVERAGE, lambda: LinkageTree("average")),
        (COLLAPSED, lambda: LinkageTree("average", max_leaves=7)),
    ],
)
@given(X=grids(max_points=25), gaps=gaps_of, batch_rows=rows_of)
@few
def test_the_tree_is_that_of_the_reference(mode, reference, X, gaps, batch_rows):
    tree, slow = ClusterTree(X.shape[1], **mode), reference()
    ids = insert_with_gaps(tree, X, gaps, batch_rows)
    for x in X:
        slow.insert(x)
    expected = {frozenset(ids[sorted(clade)].tolist()) for clade in slow.clades()}
    assert clades_of(tree) == expected


@pytest.mark.parametrize("mode", [BOX, AVERAGE, COLLAPSED])
@given(X=grids(max_points=30), gaps=gaps_of, data=st.data())
@few
def test_cuts(mode, X, gaps, data):
    dense, gapped, ids = grow_twins(mode, X, gaps, 5)
    n_clusters = data.draw(st.integers(1, dense.n_leaves))
    for criterion in CRITERIA:
        labels = gapped.cut(n_clusters, criterion=criterion)
        assert np.array_equal(labels, dense.cut(n_clusters, criterion=criterion))
        level = gapped.cut_level(n_clusters, criterion=criterion)
        assert level == dense.cut_level(n_clusters, criterion=criterion)
    assert gapped.suggest_cuts() == dense.suggest_cuts()
    assert np.array_equal(gapped.cut(), dense.cut())
    labels = gapped.cut(level=gapped.cut_level(n_clusters))
    assert np.array_equal(gapped.cut([n_clusters, 1])[:, 0], gapped.cut(n_clusters))
    for number, point_id in enumerate(ids.tolist()):
        cluster = gapped.cluster_of(point_id, level=gapped.cut_level(n_clusters))
        assert gapped.points_in(cluster).tolist() == ids[labels == labels[number]].tolist()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("search", ["astar", "scan", "auto"])
@pytest.mark.parametrize("mode", [BOX, AVERAGE, COLLAPSED])
@given(X=grids(max_points=30), gaps=gaps_of, batch_rows=rows_of)
@few
def test_every_exact_search_gives_the_same_tree(mode, search, n_jobs, X, gaps, batch_rows):
    dense = ClusterTree(X.shape[1], **mode, search="astar")
    dense.insert(X)
    gapped = ClusterTree(X.shape[1], **mode, search=search, n_jobs=n_jobs)
    queries = np.concatenate([X[:4], X[:4] + 0.5])
    with small_batches(7):
        ids = insert_with_gaps(gapped, X, gaps, batch_rows)
        gapped.check()
        assert np.array_equal(gapped.children, dense.children)
        for k in {1, min(3, len(X)), len(X)}:
            found, distances = gapped.nearest(queries, k)
            numbers, expected = dense.nearest(queries, k)
            assert np.array_equal(found, ids[numbers])
            assert np.array_equal(distances, expected)


@given(X=grids(max_points=30), gaps=gaps_of)
@few
def test_neighbours_at_the_same_distance_come_by_id(X, gaps):
    _, gapped, ids = grow_twins(BOX, X, gaps, 3)
    queries = np.concatenate([X, X + 0.5])
    squared = ((queries[:, np.newaxis] - X) ** 2).sum(axis=2)
    found, _ = gapped.nearest(queries, len(X))
    assert np.array_equal(found, ids[np.argsort(squared, axis=1, kind="stable")])


@pytest.mark.parametrize("mode", [AVERAGE, COLLAPSED])
@given(X=grids(min_points=3, max_points=25), gaps=gaps_of)
@few
def test_refine(mode, X, gaps):
    dense, gapped, ids = grow_twins({**mode, "graft": 1}, X, gaps, 10)
    assert gapped.refine(passes=3) == dense.refine(passes=3)
    gapped.check()
    assert np.array_equal(gapped.children, dense.children)
    assert gapped.ids.tolist() == ids.tolist()


@pytest.mark.parametrize("mode", [BOX, COLLAPSED])
@given(X=grids(min_points=4, max_points=25), gaps=gaps_of, last=st.integers(0, 3))
@few
def test_files_and_pickles(tmp_path, mode, X, gaps, last):
    half = len(X) // 2
    dense = ClusterTree(X.shape[1], **mode)
    dense.insert(X)
    gapped = ClusterTree(X.shape[1], **mode)
    ids = insert_with_gaps(gapped, X[:half], gaps, 2)
    skip_ids(gapped, last)  # the last points of all are gone
    gapped.save(tmp_path / "tree.perch")
    for twin in (
        ClusterTree.load(tmp_path / "tree.perch"),
        ClusterTree.load(tmp_path / "tree.perch", mmap=True),
        pickle.loads(pickle.dumps(gapped)),
        gapped.copy(),
    ):
        assert twin.next_id == gapped.next_id == ids[-1] + 1 + last
        more = twin.insert(X[half:])
        twin.check()
        assert more[0] == gapped.next_id
        assert twin.ids.tolist() == [*ids.tolist(), *more.tolist()]
        assert np.array_equal(twin.children, dense.children)


@pytest.mark.parametrize("mode", [BOX, COLLAPSED])
@given(X=grids(min_points=2, max_points=25), gaps=gaps_of)
@few
def test_what_is_made_of_a_tree(mode, X, gaps):
    """Exports by name are the same; without names they show ids. Purity and exemplars follow."""
    dense, gapped, ids = grow_twins(mode, X, gaps, 1)
    names = [f"n{number}" for number in range(len(X))]
    assert gapped.to_newick(names=names) == dense.to_newick(names=names)
    assert gapped.to_json(names=names) == dense.to_json(names=names)
    assert gapped.to_json() == dense.to_json(names=ids.tolist())
    assert np.array_equal(gapped.to_linkage(), dense.to_linkage())
    listed = [node.get("points", []) for node in json.loads(gapped.to_json())["nodes"]]
    assert {point for points in listed for point in points} <= set(ids.tolist())
    classes = np.arange(len(X)) % 2
    if len(X) > 2:
        assert dendrogram_purity(gapped, classes) == dendrogram_purity(dense, classes)
    labels = gapped.cut(min(2, gapped.n_leaves))
    found = find_exemplars(gapped._tree, gapped.table, labels)
    assert np.array_equal(found, ids[find_exemplars(dense._tree, dense.table, labels)])
