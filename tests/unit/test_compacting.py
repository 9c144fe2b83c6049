"""Compaction next to snapshots: neither waits for the other forever, and nothing comes back."""

import threading

import numpy as np
import pytest

from in_threads import join, start
from perchtree import Collection
from perchtree.store import folder
from perchtree.store.journal import Journal
from perchtree.store.snapshots import snapshots_in

pytestmark = [pytest.mark.outer, pytest.mark.jit]


@pytest.fixture
def people(tmp_path):
    with Collection.open(tmp_path / "x.perchdb", write=True, search="astar") as kept:
        kept.add(np.arange(20.0).reshape(10, 2), keys=[f"k{i}" for i in range(10)])
        yield kept


def test_a_snapshot_that_has_begun_does_not_keep_a_compaction_waiting(people, monkeypatch):
    """Each held what the other waited for, so that nothing could be changed any more."""
    begun, compacting = threading.Event(), threading.Event()

    class LateCopy(folder.Copy):
        def __init__(self, tree):
            begun.set()
            assert compacting.wait(20)
            super().__init__(tree)

    check_tree = Journal.check_tree

    def tell(journal, changes):
        if threading.current_thread() is not snapshot[0]:
            compacting.set()  # which has the tree for itself by now
        check_tree(journal, changes)

    monkeypatch.setattr(folder, "Copy", LateCopy)
    snapshot = start(people.snapshot)
    assert begun.wait(20)
    monkeypatch.setattr(Journal, "check_tree", tell)
    join(start(people.compact))
    join(snapshot)
    people.add([[1.0, 1.0]], keys=["more"])
    people.verify()


def test_a_snapshot_from_before_a_compaction_is_not_written(people, monkeypatch):
    """It has what was removed, and erased from all other files."""
    copied, compacted = threading.Event(), threading.Event()
    wait = Journal.wait

    def wait_for_a_compaction(journal, number):
        if threading.current_thread() is snapshot[0]:
            copied.set()
            assert compacted.wait(20)
        wait(journal, number)

    monkeypatch.setattr(Journal, "wait", wait_for_a_compaction)
    snapshot = [threading.Thread(target=people.snapshot)]
    snapshot[0].start()
    assert copied.wait(20)
    people.remove(["k3"])
    people.compact()
    compacted.set()
    join(snapshot)
    assert list(snapshots_in(people.path)) == []
    people.verify()
