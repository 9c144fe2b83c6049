"""What every search promises: it answers exactly, and it never writes to the tree."""

from unittest import mock

import numpy as np
import pytest
from numba.core import config

from batching import small_batches
from gapped import insert_with_gaps
from perchtree import ClusterTree, _arrays
from perchtree._kernels.schema import (
    BOX_ROWS,
    BY_ID,
    FIRST,
    FREE_POINT,
    LAST,
    LEAF,
    LEFT,
    NODE,
    NODE_COLUMNS,
    NONE,
    PARENT,
    POINT_ROWS,
    RIGHT,
    ROOT,
    SIZE,
    WORK,
)
from perchtree.search.interface import Search
from perchtree.search.making import make_search
from perchtree.settings import Settings

FEW = 60 if config.DISABLE_JIT else 200

SEARCHES = [
    {"search": "astar"},
    {"search": "scan"},
    {"search": "auto", "n_jobs": 2},
    {"search": "beam", "beam_width": 3},
    {"search": "cells"},
    {"search": "astar", "max_leaves": 20},
    {"search": "scan", "max_leaves": 20, "n_jobs": 2},
    {"search": "beam", "beam_width": 3, "max_leaves": 20},
]


def points(n_points=FEW):
    return np.random.default_rng(0).integers(0, 12, (n_points, 3)).astype(np.float32)


def content(tree):
    return {name: array.tobytes() for name, array in tree._asdict().items()}


class Watched(Search):
    """A search, and a look at all bytes of the tree before and after each of its steps."""

    def __init__(self, search):
        super().__init__(search.k)
        self.search, self.steps = search, 0

    def parts(self, tree, rows, done):
        self.search.n_jobs = self.n_jobs
        parts = self.search.parts(tree, rows, done)
        while True:
            part = self._step(tree, lambda: next(parts, None))
            if part is None:
                return
            yield part

    def nearest(self, tree, rows, k, done):
        return self._step(tree, lambda: self.search.nearest(tree, rows, k, done))

    def added(self, tree, ids):
        self._step(tree, lambda: self.search.added(tree, ids))

    def removed(self, tree, ids):
        self._step(tree, lambda: self.search.removed(tree, ids))

    def _step(self, tree, step):
        before = content(tree)
        answer = step()
        assert content(tree) == before
        self.steps += 1
        return answer


@pytest.mark.parametrize("settings", SEARCHES)
def test_searches_never_write_to_the_tree(settings):
    X = points()
    with small_batches(16):
        expected = ClusterTree(3, linkage="box", **settings)
        expected.insert(X)
        tree = ClusterTree(3, linkage="box", **settings)
        watched = tree._search = Watched(tree._search)
        watched.n_jobs = settings.get("n_jobs", 1)
        tree.insert(X)
        assert watched.steps >= len(X) // 16
        inserts = watched.steps
        tree.nearest(X[:40] + 0.5, k=3)
        assert watched.steps > inserts
    assert np.array_equal(tree.children, expected.children)


@pytest.mark.parametrize("settings", SEARCHES)
def test_questions_count_their_work_where_they_are_told_to(settings):
    tree = ClusterTree(3, linkage="box", **settings)
    tree.insert(points())
    before, done = tree.stats, _arrays.make_work()
    tree._search.nearest(tree._tree, points(5) + 0.5, 2, done)
    assert tree.stats == before
    assert done.sum() > 0
    assert len(done) == len(WORK)


@pytest.mark.parametrize("settings", SEARCHES)
def test_more_neighbours_than_leaves(settings):
    """What is missing is NONE, at an infinite distance."""
    rows = np.float32([[0, 0], [5, 5], [5, 5]])
    for n_rows in (1, 40):  # one by one, and by products
        tree = ClusterTree(2, linkage="box", **settings)
        tree.insert(rows)
        queries = np.zeros((n_rows, 2), np.float32)
        found = tree._search.nearest(tree._tree, queries, 4, _arrays.make_work())
        assert found.leaves[0, :, BY_ID].tolist() == [0, 1, NONE, NONE]
        assert found.leaves[0, :, NODE].tolist() == [*tree._tree.ids[:2, LEAF], NONE, NONE]
        assert found.distances[0, :2, 0].tolist() == [0, 50]
        assert np.isinf(found.distances[0, 2:]).all()


@pytest.mark.parametrize("settings", SEARCHES)
def test_an_empty_tree_has_no_neighbours(settings):
    search = make_search(Settings(linkage="box", **settings))
    empty = ClusterTree(2, linkage="box", **settings)._tree
    for n_rows in (1, 40):
        rows = np.zeros((n_rows, 2), np.float32)
        found = search.nearest(empty, rows, 2, _arrays.make_work())
        assert (found.leaves == NONE).all()
        assert np.isinf(found.distances).all()


@pytest.mark.parametrize("search", ["astar", "scan", "auto"])
def test_rows_that_are_not_in_the_order_of_ids(search):
    """Points whose rows were shuffled, some of them free: answers are still by distance and id."""
    X = np.random.default_rng(1).integers(0, 4, (40, 2)).astype(np.float32)
    tree = ClusterTree(2, linkage="box", search=search)
    ids = insert_with_gaps(tree, X, [2, 0, 1], 5)
    with tree.stored() as stored:
        shuffled = ClusterTree.from_stored(stored._replace(tree=shuffle_points(stored.tree)))
    shuffled.check()
    squared = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    expected = ids[np.argsort(squared, axis=1, kind="stable")]
    with small_batches(8):
        for each in (tree, shuffled):
            assert np.array_equal(each.nearest(X, k=40)[0], expected)
        more = X[::-1] + np.float32(0.5)
        tree.insert(more)
        shuffled.insert(more)
    shuffled.check()
    assert np.array_equal(shuffled.children, tree.children)


def shuffle_points(tree):
    """The same tree with its leaves in other rows of `points`, of which every third is free."""
    tree = _arrays.copied(tree)
    n_old = int(tree.state[POINT_ROWS])
    n_new = n_old + n_old // 2
    rows = np.random.default_rng(2).permutation(n_new)
    new_row, free = rows[:n_old], np.sort(rows[n_old:])

    boxes = 2 * np.arange(int(tree.state[BOX_ROWS])) + 1
    new_node = np.arange(2 * max(n_new, len(boxes)))
    new_node[2 * np.arange(n_old)] = 2 * new_row
    renumbered = np.append(new_node, NONE)  # for NONE itself

    nodes = np.zeros((len(new_node), NODE_COLUMNS), np.int32)
    old = np.concatenate([2 * np.arange(n_old), boxes])
    nodes[new_node[old]] = tree.nodes[old]
    for column in (PARENT, LEFT, RIGHT):
        nodes[new_node[old], column] = renumbered[tree.nodes[old, column]]
    nodes[2 * free] = 0
    nodes[2 * free, PARENT] = np.append(2 * free[1:], NONE)
    nodes[np.ix_(2 * free, [LEFT, RIGHT, FIRST, LAST])] = NONE
    assert (nodes[2 * free, SIZE] == 0).all()

    features = np.zeros((n_new, tree.points.shape[1]), np.float32)
    features[new_row] = tree.points
    tree.ids[:, LEAF] = renumbered[tree.ids[:, LEAF]]
    tree.state[[ROOT, POINT_ROWS, FREE_POINT]] = new_node[tree.state[ROOT]], n_new, 2 * free[0]
    return tree._replace(nodes=nodes, points=features)


def test_a_search_that_fails_leaves_the_tree_as_it_was():
    tree = ClusterTree(3, linkage="box")
    tree.insert(points())
    before = content(tree._tree)
    with (
        mock.patch.object(type(tree._search), "nearest", side_effect=ZeroDivisionError),
        pytest.raises(ZeroDivisionError),
    ):
        tree.nearest(points(3))
    assert content(tree._tree) == before
    assert tree.nearest(points(1))[0].tolist() == [[0]]
