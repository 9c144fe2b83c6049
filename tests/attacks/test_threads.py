"""Many threads use one tree, collection or model at once."""

import copy
import pickle
import signal
import sys
import threading

import numpy as np
import pytest
from faults import in_thread

import perchtree.tree
from perchtree import ClusterTree, Collection, Perch, _arrays, check_file
from perchtree._locks import FairLock
from perchtree.reading import ReadableTree

X = np.random.default_rng(3).normal(size=(3_000, 4)).astype(np.float32)


@pytest.fixture(autouse=True)
def _busy(monkeypatch):
    """Threads take turns often, and arrays of every size grow as large ones do."""
    monkeypatch.setattr(_arrays, "_SHORT", 256)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def all_at_once(*works, seconds=120):
    """Do several things in threads of their own; what went wrong in any of them."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), "threads wait for each other"
    if errors:
        raise errors[0]


def keys_of(rows):
    return [f"k{i}" for i in rows]


@pytest.mark.jit
@pytest.mark.parametrize("settings", [{}, {"max_leaves": 300}, {"search": "beam"}], ids=str)
def test_everything_at_once(settings, tmp_path):
    collection = Collection(**settings)
    collection.add(X[:100], keys=keys_of(range(100)))
    tree, path = collection.tree, tmp_path / "c.perch"
    turns = range(12)

    def add(start, stop):
        for first in range(start, stop, 50):
            rows = range(first, min(first + 50, stop))
            collection.add(X[rows], keys=keys_of(rows))

    def read():
        for _ in turns:
            keys, _ = collection.nearest(X[:2], k=3)
            assert keys.shape == (2, 3)
            assert len(collection) >= 100
            assert len(set(collection.keys.tolist())) >= 100

    def cut():
        for turn in turns:
            assert set(tree.cut(3 + turn).tolist()) == set(range(3 + turn))
            tree.check()
            tree.suggest_cuts(2)

    def save():
        for _ in turns:
            collection.save(path)
            check_file(path)
            assert len(Collection.open(path).keys) >= 100

    def duplicate():
        for _ in turns:
            twin = pickle.loads(pickle.dumps(collection))
            assert len(twin.keys) == len(twin) == twin.tree.n_points
            copy.copy(collection).tree.check()

    def refine():
        for _ in turns:
            tree.refine(1)

    all_at_once(
        lambda: add(100, 600), lambda: add(600, 1_100), read, read, cut, save, duplicate, refine
    )
    tree.check()
    assert len(collection) == 1_100
    assert set(collection.keys.tolist()) == set(keys_of(range(1_100)))
    held = [int(key[1:]) for key in collection.keys[:400]]
    if "max_leaves" not in settings:  # keys went in with their own rows
        nearest, distances = collection.nearest(X[held])
        assert nearest[:, 0].tolist() == keys_of(held)
        assert not distances.any()


@pytest.mark.jit
def test_a_reader_waits_for_one_part_of_an_insert(monkeypatch):
    """Counted in kernel calls, not by a clock; a starved reader waits for all that are left."""
    tree = ClusterTree(4)
    tree.insert(X[:1000])
    many = np.random.default_rng(4).normal(size=(12_000, 4)).astype(np.float32)
    calls, begun = [], threading.Event()
    make = perchtree.tree.modes.insert_kernel

    def counting(*mode):
        kernel = make(*mode)

        def insert(*arguments):
            begun.set()
            kernel(*arguments)
            calls.append(len(arguments[-1]))

        return insert

    monkeypatch.setattr(perchtree.tree.modes, "insert_kernel", counting)
    monkeypatch.setattr(perchtree.tree, "_rows_at_once", lambda *_: 64)
    waited = []

    def read():
        begun.wait(60)
        for _ in range(4):
            before = len(calls)
            tree.nearest(X[:1])
            waited.append(len(calls) - before)

    all_at_once(lambda: tree.insert(many), read)
    assert sum(calls) == len(many)
    assert len(calls) >= 45
    assert max(waited) <= 10  # some pass before the reader comes to the lock
    assert max(calls) <= 64


def test_numbers_can_be_read_while_arrays_grow(monkeypatch):
    """Whoever shows the arrays while they grow could leave those of the old size behind."""
    tree = ClusterTree(4)
    tree.insert(X[:10])
    shown = ReadableTree._tree.fget

    def guarded(tree):
        if not (tree._lock.is_mine or tree._writing.is_mine):
            raise RuntimeError("the arrays were asked for without a lock")
        return shown(tree)

    monkeypatch.setattr(ReadableTree, "_tree", property(guarded))
    assert (len(tree), tree.n_points, tree.n_leaves, tree.next_id) == (10, 10, 10, 10)
    assert tree.changes >= 10
    assert tree.estimate_memory(20) > 0
    assert "10 points" in repr(tree)
    assert tree.stats.distances >= 0
    assert tree.depth.max > 0
    assert 0 < tree.mean_balance <= 1
    assert len(tree.to_newick()) > 10
    assert len(tree.to_linkage()) == 9
    assert tree.cluster_of(0, distance=1).size >= 1
    tree.insert(X[10:20])
    tree.refine()
    tree.check()


def test_a_tree_is_polled_while_it_grows_row_by_row():
    tree = ClusterTree(4, linkage="box")
    done = threading.Event()

    def grow():
        try:
            for row in X[:400]:
                tree.insert(row[np.newaxis])
        finally:
            done.set()

    def poll():
        sizes = [0]
        while not done.is_set():
            sizes.append(len(tree))
        assert sizes == sorted(sizes)

    all_at_once(grow, poll, poll)
    tree.check()
    assert tree.n_points == 400


def test_views_that_are_held_keep_what_they_show():
    tree = ClusterTree(4)
    tree.insert(X[:50])
    tree.insert(X[50:120])  # grown once: now in a map
    with tree.reading() as shown:
        before = [array.copy() for array in shown]
    kept = shown.points[:120]
    tree.insert(X[120:600])
    assert np.array_equal(kept, before[1][:120])
    tree.check()
    other = ClusterTree(4)
    other.insert(X[:600])
    assert np.array_equal(tree.children, other.children)


# The order of locks


def test_a_tree_cannot_be_changed_while_it_is_read(tmp_path):
    collection = Collection()
    collection.add(X[:50])
    tree = collection.tree
    changes = [
        lambda: tree.insert(X[:1]),
        lambda: tree.refine(),
        lambda: collection.add(X[:1]),
        lambda: tree.lock().__enter__(),
    ]
    for change in changes:
        with tree.reading(), pytest.raises(RuntimeError, match=r"leave `reading\(\)` first"):
            change()
    with tree.lock():
        collection.add(X[50:60])
        with tree.reading():
            tree.insert(X[60:61])
    in_thread(lambda: collection.add(X[61:62]))
    assert len(collection) == 62


@pytest.mark.jit
def test_threads_that_take_locks_in_any_order_go_on(tmp_path):
    collection = Collection()
    collection.add(X[:200])
    tree = collection.tree

    def add():
        for first in range(200, 700, 100):
            collection.add(X[first : first + 100])

    def from_reading():
        for turn in range(10):
            with tree.reading():
                tree.copy()
                tree.save(tmp_path / "t.perch")
                collection.save(tmp_path / "c.perch")
                assert len(copy.copy(collection)) == len(collection) == tree.n_points
                tree.cut(2 + turn)

    def from_lock():
        for first in range(700, 1_000, 100):
            with tree.lock():
                before = len(collection)
                collection.add(X[first : first + 100])
                assert len(collection) == before + 100

    all_at_once(add, from_reading, from_lock)
    assert len(collection) == 1_000
    tree.check()


def test_signals_leave_a_lock_free():
    """Some hundred alarms, wherever the loop is when they come."""

    class AlarmError(Exception):
        pass

    def ring(_number, _frame):
        raise AlarmError

    lock, turns, rung = FairLock(), 0, 0
    tracer = sys.gettrace()
    sys.settrace(None)  # a signal amid the bookkeeping of coverage would leave *its* lock taken
    handler = signal.signal(signal.SIGALRM, ring)
    try:
        while rung < 300:
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 3e-7 * rung)
                while True:
                    with lock:
                        turns += 1
                        with lock:
                            turns += 1
            except AlarmError:
                rung += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        sys.settrace(tracer)

    def take():
        with lock:
            return True

    assert not lock.is_mine
    assert in_thread(take)
    assert turns > 300


# Copies


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, Collection.copy])
def test_copies_are_independent(duplicate):
    collection = Collection()
    collection.add(X[:20], keys=keys_of(range(20)))
    collection.notes["from"] = ["a"]
    twin = duplicate(collection)
    twin.notes["from"].append("b")
    twin.add(X[20:30], keys=keys_of(range(20, 30)))
    assert len(collection) == collection.tree.n_points == 20
    collection.add(X[30:35], keys=keys_of(range(30, 35)))
    assert collection.keys.tolist() == keys_of([*range(20), *range(30, 35)])
    assert collection.notes == {"from": ["a"]}
    assert twin.keys.tolist() == keys_of(range(30))
    twin.tree.check()
    assert len(duplicate(Collection())) == 0


@pytest.mark.jit
def test_a_model_is_copied_while_it_grows():
    model = Perch(n_clusters=4).fit(X[:200], keys=keys_of(range(200)))
    twins = []

    def grow():
        for first in range(200, 2_000, 200):
            rows = range(first, first + 200)
            model.partial_fit(X[rows], keys=keys_of(rows))

    def duplicate(how):
        twins.extend(how(model) for _ in range(8))

    all_at_once(
        grow,
        lambda: duplicate(copy.deepcopy),
        lambda: duplicate(lambda m: pickle.loads(pickle.dumps(m))),
        lambda: duplicate(lambda m: m.collection_.copy()),
    )
    for twin in twins:
        collection = getattr(twin, "collection_", twin)
        collection.tree.check()
        assert collection.keys.tolist() == keys_of(range(len(collection)))
    assert model.keys_.tolist() == keys_of(range(2_000))


# Numbers of threads


@pytest.mark.jit
@pytest.mark.parametrize("n_jobs", [10**6, 10**30, -(10**30), -1])
def test_any_number_of_threads(n_jobs):
    one, many = ClusterTree(4), ClusterTree(4, n_jobs=n_jobs)
    for tree in (one, many):
        tree.insert(X)
    assert np.array_equal(one.children, many.children)
    assert threading.active_count() < 50
    assert np.array_equal(one.nearest(X, 2)[0], many.nearest(X, 2)[0])


@pytest.mark.jit
@pytest.mark.parametrize("settings", [{}, {"linkage": "box", "max_leaves": 700}], ids=str)
def test_the_number_of_threads_changes_during_work(settings):
    one, changing = ClusterTree(4, **settings), ClusterTree(4, **settings)
    one.insert(X)
    done = threading.Event()

    def insert():
        try:
            changing.insert(X)
        finally:
            done.set()

    def change():
        n_jobs = 1
        while not done.is_set():
            n_jobs = n_jobs % 5 + 1
            changing.n_jobs = n_jobs

    all_at_once(insert, change)
    assert np.array_equal(one.children, changing.children)
