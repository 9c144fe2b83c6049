"""Copies of trees that others change while they are made."""

import threading

import numpy as np
import pytest

from perchtree import ClusterTree
from perchtree._arrays import used_rows
from perchtree.store import copies
from perchtree.store.copies import Copy

pytestmark = [pytest.mark.outer, pytest.mark.jit]

MODES = [{}, {"linkage": "box"}, {"linkage": "average", "max_leaves": 8}]


def change(tree, random):
    """Insert, remove and refine."""
    for _ in range(int(random.integers(1, 4))):
        kind = random.choice(["insert", "remove", "refine"])
        if kind == "insert" or tree.n_points < 8:
            tree.insert(random.integers(0, 9, (int(random.integers(1, 20)), 3)))
        elif kind == "remove":
            tree.remove(random.permutation(tree.ids)[: int(random.integers(1, 6))])
        elif tree.settings.has_linkage:
            tree.refine()


def compare(tree, copied):
    with tree.reading() as arrays:
        theirs = dict(used_rows(copied.tree))
        for name, array in used_rows(arrays):
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_what_changes_meanwhile_is_copied_in_the_end(mode, seed, monkeypatch):
    random = np.random.default_rng(seed)
    tree = ClusterTree(3, search="astar", **mode)
    tree.insert(random.integers(0, 30, (800, 3)))  # room for 50 more
    monkeypatch.setattr(copies, "_PIECE", 4096)
    catch_up = Copy._catch_up

    def disturbed(self, tree):
        change(tree, random)
        catch_up(self, tree)

    monkeypatch.setattr(Copy, "_catch_up", disturbed)
    copy = Copy(tree)
    change(tree, random)
    with tree.stored() as stored:
        copied = copy.of(stored)
    compare(tree, copied)
    change(tree, random)  # which the copy does not follow
    ClusterTree.from_stored(copied).check()


def test_is_whole_while_another_thread_inserts():
    random = np.random.default_rng(0)
    tree = ClusterTree(3, search="astar")
    tree.insert(random.normal(size=(500, 3)))
    stop = threading.Event()

    def work():
        while not stop.is_set():
            tree.insert(random.normal(size=(50, 3)))
            tree.remove(tree.ids[:20])

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(10):
            copy = Copy(tree)
            with tree.stored() as stored:
                copied = copy.of(stored)
                compare(tree, copied)
    finally:
        stop.set()
        worker.join()
    ClusterTree.from_stored(copied).check()


def test_without_some_rows():
    tree = ClusterTree(3, search="astar")
    tree.insert(np.random.default_rng(0).normal(size=(40, 3)))
    copy = Copy(tree, without=("means",))
    with tree.stored() as stored:
        copied = copy.of(stored).tree
    assert len(copied.means) == 0
    assert np.array_equal(copied.boxes, dict(used_rows(stored.tree))["boxes"])


def test_the_counter_of_touched_nodes_may_begin_again(monkeypatch):
    tree = ClusterTree(2, search="astar")
    tree.insert(np.random.default_rng(0).integers(0, 9, (30, 2)))
    copy = Copy(tree)
    copy._changes -= copies.COUNTED + 1
    for array in copy._copied.values():
        array.fill(0)
    with tree.stored() as stored:
        compare(tree, copy.of(stored))
