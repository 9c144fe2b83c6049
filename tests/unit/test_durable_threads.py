"""Changes of a folder by several threads, and their way to disk."""

import os
import threading
import time

import pytest

from kept import ASTAR, assert_same, filled, rows
from perchtree import (
    Collection,
    ReadOnlyError,
)
from perchtree.collection import sharing

pytestmark = [pytest.mark.outer, pytest.mark.jit]


def test_small_adds_of_many_threads_share_commits(path):
    people = Collection.open(path, write=True, **ASTAR)
    commits = []
    people._store._writer.set_trace_callback(
        lambda statement: commits.append(1) if statement == "COMMIT" else None
    )

    def work(number):
        for i in range(10):
            people.add(rows(1, number), keys=[f"{number}-{i}"])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert people.operation == len(people) == 80
    assert len(commits) < 60
    people.close()
    with Collection.open(path) as again:
        assert sorted(again.keys) == sorted(f"{n}-{i}" for n in range(8) for i in range(10))


def test_additions_that_wait_are_made_together(path):
    """Each is an operation, and fails or succeeds by itself, whoever makes it."""
    people = filled(path)
    people.keep_clusters(distance=1)
    results, before = {}, people.operation
    inserted, inside = people.tree.insert_checked, threading.Event()
    sizes = []

    def insert_checked(points, **options):
        sizes.append(len(points))
        inside.set()
        if len(sizes) == 1:  # until all others wait
            while len(people._log._queue._waiting) < 7:
                time.sleep(0.001)
        return inserted(points, **options)

    people.tree.insert_checked = insert_checked

    def work(number):
        try:
            key = "k3" if number == 5 else f"new{number}"  # one is there already
            X = rows(2 if number == 3 else 1, number)[:, : 2 if number == 6 else 3]
            keys = [key, f"{key}/2"][: len(X)]
            results[number] = people.add(X, keys=keys, texts=[f"text {key}"] * len(X))
        except ValueError as error:
            results[number] = str(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    threads[0].start()
    inside.wait()
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    del people.tree.insert_checked
    assert sizes == [1, 6]
    assert "keys must be unique" in results[5]
    assert "features" in results[6]
    for number in (0, 1, 2, 3, 4, 7):
        names = people.records.keys(results[number]).tolist()
        assert names == [f"new{number}", f"new{number}/2"][: len(names)]
        assert len(names) == (2 if number == 3 else 1)
    assert people.operation == before + 6
    memory = people.copy()
    people._store.close()  # as if it were killed
    with Collection.open(path) as again:
        assert_same(memory, again)
        again.verify()


def test_threads_that_come_at_the_same_time_are_let_in(path, monkeypatch):
    """Whoever comes first gives way until no other comes; then all are inserted together."""
    people = filled(path)
    inserted, sizes, threads = people.tree.insert_checked, [], []
    queue = people._log._queue

    def insert_checked(points, **options):
        sizes.append(len(points))
        return inserted(points, **options)

    def add(number):
        people.add(rows(1, number), keys=[f"new{number}"])

    def give_way(_):
        if len(threads) < 3:  # one more comes each time
            n_waiting = len(queue._waiting)
            threads.append(threading.Thread(target=add, args=(1 + len(threads),)))
            threads[-1].start()
            while len(queue._waiting) == n_waiting:
                os.sched_yield()

    people.tree.insert_checked = insert_checked
    with monkeypatch.context() as patch:
        patch.setattr(sharing.time, "sleep", give_way)
        first = threading.Thread(target=add, args=(0,))
        first.start()
        first.join()
    for thread in threads:
        thread.join()
    del people.tree.insert_checked
    assert sizes == [4]
    assert people.keys[-4:].tolist() == [f"new{n}" for n in range(4)]
    people.close()


def test_a_thread_that_is_the_only_one_does_not_give_way(path, monkeypatch):
    people, given_way = filled(path), []
    monkeypatch.setattr(sharing.time, "sleep", given_way.append)
    for i in range(5):
        people.add(rows(1, i), keys=[f"new{i}"])
    assert not given_way
    other = threading.Thread(target=people.add, args=(rows(1),), kwargs={"keys": ["other"]})
    other.start()
    other.join()
    assert given_way
    people.close()


def test_an_interruption_leaves_others_to_themselves(path):
    people = filled(path)
    real, started, results = people.tree.insert_checked, threading.Event(), {}

    def insert_checked(points, **options):
        if len(points) == 2:
            raise MemoryError("none left")
        if not started.is_set():
            started.set()
            while len(people._log._queue._waiting) < 2:
                time.sleep(0.001)
        return real(points, **options)

    people.tree.insert_checked = insert_checked

    def work(number):
        try:
            results[number] = people.add(rows(1, number), keys=[f"new{number}"])
        except MemoryError as error:
            results[number] = error

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    threads[0].start()
    started.wait()
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    del people.tree.insert_checked
    failed = [n for n in results if isinstance(results[n], MemoryError)]
    assert len(failed) == 1
    assert len(people) == 32
    assert {f"new{n}" for n in range(3) if n not in failed} < set(people.keys)
    people.verify()
    people.close()


def test_without_sync_a_barrier_waits(path):
    people = Collection.open(path, write=True, sync=False)
    for i in range(20):
        people.add(rows(1, i), keys=[i])
        assert people.keys[-1] == i
    assert people.barrier() == people.operation == 20
    people.close()


def test_a_tree_that_was_changed_behind_its_back_is_not_recorded(path):
    people = filled(path)
    people.tree.insert(rows(1))
    with pytest.raises(ReadOnlyError, match="changed without its collection"):
        people.add(rows(1), keys=["x"])
    with pytest.raises(ReadOnlyError):
        people.snapshot()
    people.close()
    with Collection.open(path) as again:
        assert len(again) == 30
