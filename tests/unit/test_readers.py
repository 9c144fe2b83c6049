"""What only reads a tree has its turn while a long insert runs, and sees whole trees."""

import threading
from unittest import mock

import numpy as np
import pytest

from batching import small_batches
from in_threads import await_line, join, start
from perchtree import ClusterTree, Collection, Perch, tree
from perchtree._kernels import modes

X = np.random.default_rng(0).integers(0, 30, (96, 2)).astype(float)


def look(tree, seen):
    """Read a tree in many ways at one moment; everything must fit together."""
    with tree.reading():
        n_points = tree.n_points
        tree.check()
        assert len(tree.ids) == len(tree.cut(1)) == tree.table.n_points == n_points
        assert tree.children.shape == (n_points - 1, 2)
        ids, distances = tree.nearest(X[:n_points])
        assert not distances.any()
        assert np.array_equal(X[ids[:, 0]], X[:n_points])
    seen.append(n_points)


def inserted_while_read(insert, tree_of):
    """Insert rows eight at a time, and wait each time until the reader stands in line.

    Returns the numbers of points that the reader has seen.
    """
    seen, compiled, finished = [], modes.insert_kernel, threading.Event()

    def read():
        while not finished.is_set():
            look(tree_of(), seen)

    readers = []

    def slow_kernel(*rules):
        kernel = compiled(*rules)

        def insert_rows(*arguments):
            kernel(*arguments)
            if not readers:
                readers.extend(start(read))
            await_line(tree_of()._lock, readers[0])

        return insert_rows

    with (
        mock.patch.object(tree, "_rows_at_once", return_value=8),
        mock.patch.object(modes, "insert_kernel", slow_kernel),
    ):
        insert()
    finished.set()
    join(readers)
    assert seen == sorted(seen)
    return sorted(set(seen))


@pytest.mark.parametrize("settings", [{"search": "astar"}, {"search": "scan"}])
def test_readers_see_a_tree_that_grows(settings):
    growing = ClusterTree(2, **settings)
    seen = inserted_while_read(lambda: growing.insert(X), lambda: growing)
    assert seen == list(range(8, 97, 8))
    expected = ClusterTree(2)
    expected.insert(X)
    assert np.array_equal(growing.children, expected.children)


def test_readers_see_records_that_arrive():
    collection, keys = Collection(search="astar"), [f"k{i}" for i in range(96)]
    looked, writer = [], threading.current_thread()

    def tree_of():
        if threading.current_thread() is not writer:
            looked.append(collection.keys.tolist())
        return collection.tree

    seen = inserted_while_read(lambda: collection.add(X, keys=keys), tree_of)
    assert all(there == keys[: len(there)] for there in looked)
    # The reader's turns are spent on keys or on the tree.
    assert {len(there) for there in looked} | set(seen) == set(range(8, 97, 8))


def test_labels_can_be_read_while_points_are_added():
    model = Perch(n_clusters=2, search="astar").fit(X[:10])
    looked, writer = set(), threading.current_thread()

    def tree_of():
        if threading.current_thread() is not writer:
            looked.add(len(model.all_labels_))
        return model.tree_

    seen = inserted_while_read(lambda: model.partial_fit(X[10:]), tree_of)
    assert looked | set(seen) == {*range(18, 91, 8), 96}
    assert len(model.labels_) == 86


def test_growing_arrays_do_not_pull_the_ground_from_under_a_reader():
    """Arrays are moved when they grow: those that a reader has got stay as they were."""
    growing = ClusterTree(2, linkage="box")
    growing.insert(X[:3])
    with growing.reading() as arrays:
        kept = arrays.points[:3]
    table = growing.table
    with small_batches(4):
        for row in X[3:]:
            growing.insert(row[np.newaxis])
    assert np.array_equal(kept, X[:3].astype(np.float32))
    assert table.n_points == 3
    assert growing.table.n_points == len(X)


def test_writers_come_one_after_the_other():
    """An insert by another thread waits for the end of the first one: its rows stay together."""
    growing, ids = ClusterTree(2, search="astar"), {}
    others, writer = [], threading.current_thread()

    def insert_others():
        ids["second"] = growing.insert(X[:5] + 100)

    def tree_of():
        if threading.current_thread() is not writer and not others:
            others.extend(start(insert_others))
        return growing

    inserted_while_read(lambda: ids.update(first=growing.insert(X)), tree_of)
    join(others)
    assert ids["first"].tolist() == list(range(96))
    assert ids["second"].tolist() == list(range(96, 101))
    growing.check()
