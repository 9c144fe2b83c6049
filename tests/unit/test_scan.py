"""Matrix products find exactly what direct distances find."""

import functools
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config

from kernels import callable_from_python
from perchtree import ClusterTree
from perchtree._kernels import distances
from perchtree._kernels.scan import merge_answers
from perchtree._kernels.schema import NONE
from perchtree._validate import MAX_NORM
from perchtree.search.products import Points, scan_earlier, scan_points
from perchtree.search.threads import StoppedError, count_jobs, one_blas_thread, run_tasks

point_distance = callable_from_python(distances.point_distance)

SMALL = config.DISABLE_JIT


def brute(rows, points, k, *, earlier=False):
    """Direct distances, by the one function that all searches use; ties go to the smaller id."""
    near = np.full((len(rows), k), np.inf, np.float32)
    ids = np.full((len(rows), k), NONE, np.int32)
    for i, x in enumerate(rows):
        candidates = sorted(
            (point_distance(x, y), point_id)
            for y, point_id in zip(points.rows[: i if earlier else None], points.ids, strict=False)
            if point_id != NONE
        )[:k]
        for rank, (distance, point_id) in enumerate(candidates):
            near[i, rank], ids[i, rank] = distance, point_id
    return near, ids


def in_order(rows):
    """Points whose ids go by their rows."""
    return Points(rows, np.arange(7, 7 + len(rows), dtype=np.int32))


def out_of_order(rng, rows):
    """Points whose ids have gaps and do not go by their rows; some rows hold none."""
    ids = 3 * rng.permutation(len(rows)).astype(np.int32) + 5
    ids[rng.random(len(rows)) < 0.3] = NONE
    rows = rows.copy()
    rows[ids == NONE] = 0  # as rows that were freed
    return Points(rows, ids)


def bounds(points):
    rows = points.rows[points.ids != NONE]
    return None if len(rows) == 0 else np.stack([rows.min(axis=0), rows.max(axis=0)])


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 12 if SMALL else 60),
    n_points=st.integers(0, 15 if SMALL else 100),
    n_features=st.sampled_from([1, 2, 5] if SMALL else [1, 2, 3, 7, 16, 33, 130]),
    offset=st.sampled_from([0, 1, 1e3, 1e6, -1e6]),
    scale=st.sampled_from([1, 1e-3, 1e4, 1e15, 1e-15, 1e-22, 3e-23, 1e-24]),
    k=st.integers(1, 4),
    kind=st.sampled_from(["normal", "grid", "clusters"]),
)
def test_scan_is_brute_force(seed, n_rows, n_points, n_features, offset, scale, k, kind):
    rng = np.random.default_rng(seed)
    shape = (n_rows + n_points, n_features)
    X = rng.integers(0, 3, shape).astype(float) if kind == "grid" else rng.normal(size=shape)
    if kind == "clusters":
        X = 1e-3 * X + 100 * rng.integers(0, 3, (len(X), 1))
    X = ((X + offset) * scale).astype(np.float32)
    rows, others = X[:n_rows], X[n_rows:]
    # Rows that hold no point are zeros, which only points of a norm that is allowed can be near.
    orders = [in_order]
    if np.linalg.norm(X.astype(float), axis=1).max() <= MAX_NORM:
        orders.append(functools.partial(out_of_order, rng))
    for points in (order(others) for order in orders):
        found = scan_points(rows, points, bounds(points), k)
        near, ids = brute(rows, points, k)
        assert np.array_equal(found.near, near)
        assert np.array_equal(found.ids, ids)
    for points in (order(rows) for order in orders):
        found = scan_earlier(points, k)
        near, ids = brute(points.rows, points, k, earlier=True)
        assert np.array_equal(found.near, near)
        assert np.array_equal(found.ids, ids)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 5), n_rows=st.integers(1, 6))
def test_answers_merge_by_distance_then_id(seed, k, n_rows):
    """Two answers for the same rows, merged, are what one search over all points answers."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (n_rows, 2)).astype(np.float32)
    points = out_of_order(rng, rng.integers(0, 3, (20, 2)).astype(np.float32))
    cut = int(rng.integers(0, 21))
    near, ids = brute(rows, Points(points.rows[:cut], points.ids[:cut]), k)
    more = brute(rows, Points(points.rows[cut:], points.ids[cut:]), k)
    merge_answers(near, ids, *more)
    expected_near, expected_ids = brute(rows, points, k)
    assert np.array_equal(near, expected_near)
    assert np.array_equal(ids, expected_ids)


@pytest.mark.jit
@pytest.mark.parametrize("n_rows", [1, 31, 512, 513, 1024, 1025, 2100])
def test_blocks_and_tiles(n_rows):
    rng = np.random.default_rng(n_rows)
    rows = rng.normal(size=(n_rows, 5)).astype(np.float32)
    points = out_of_order(rng, rng.normal(size=(700, 5)).astype(np.float32))
    held = points.ids != NONE
    for n_jobs in (1, 3):
        found = scan_points(rows, points, bounds(points), 1, n_jobs)
        among = scan_earlier(in_order(rows), 1, n_jobs)
        for i in [0, n_rows // 2, n_rows - 1]:
            squared = ((points.rows[held].astype(float) - rows[i]) ** 2).sum(axis=1)
            assert found.ids[i, 0] == points.ids[held][squared.argmin()]
            before = ((rows[:i].astype(float) - rows[i]) ** 2).sum(axis=1)
            assert among.ids[i, 0] == (7 + before.argmin() if i else NONE)


@pytest.mark.jit
@pytest.mark.parametrize("n_features", [1, 2, 3, 8, 15, 31, 54, 64, 100, 257])
@pytest.mark.parametrize("offset", [0, 1e6])
def test_same_tree_by_every_search(n_features, offset):
    rng = np.random.default_rng(n_features)
    centres = rng.normal(size=(30, n_features))
    X = centres[rng.integers(0, 30, 3000)] + 0.1 * rng.normal(size=(3000, n_features)) + offset
    trees = []
    for search in ("astar", "scan", "auto"):
        for n_jobs in (None, 2):
            tree = ClusterTree(n_features, linkage="box", search=search, n_jobs=n_jobs)
            tree.insert(X[:10])
            tree.insert(X[10:2000])
            tree.insert(X[2000:])
            tree.check()
            trees.append(tree.children)
    for other in trees[1:]:
        assert np.array_equal(trees[0], other)


@pytest.mark.jit
@pytest.mark.parametrize(
    "name", ["aloi27", "clinc150", "covtype", "glass", "hist50k", "letter", "omniglot", "spambase"]
)
@pytest.mark.parametrize("offset", [0, 1e6])
def test_same_tree_on_real_data(name, offset, data):
    X, _ = data(name)
    X = X[np.random.default_rng(0).permutation(len(X))[:1500]] + np.float32(offset)
    by_astar = ClusterTree(X.shape[1], linkage="box", search="astar")
    by_scan = ClusterTree(X.shape[1], linkage="box", search="scan", n_jobs=2)
    by_astar.insert(X)
    by_scan.insert(X)
    assert by_scan.stats.scanned == len(X)
    assert np.array_equal(by_astar.children, by_scan.children)


@pytest.mark.jit
def test_several_threads_may_scan_at_once():
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(2500, 40)) for _ in range(4)]
    expected = []
    for X in data:
        tree = ClusterTree(40, linkage="box", search="scan")
        tree.insert(X)
        expected.append(tree.children)
    trees = [ClusterTree(40, linkage="box", search="scan", n_jobs=2) for _ in data]
    workers = [
        threading.Thread(target=tree.insert, args=[X]) for tree, X in zip(trees, data, strict=True)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for tree, children in zip(trees, expected, strict=True):
        assert np.array_equal(tree.children, children)


@pytest.mark.jit
def test_auto_chooses_by_counted_work():
    rng = np.random.default_rng(0)
    easy = rng.random((60_000, 2))
    tree = ClusterTree(2, linkage="box")
    tree.insert(easy)
    assert 0 < tree.stats.scanned < 30_000
    hard = rng.normal(size=(6_000, 100))
    tree = ClusterTree(100, linkage="box")
    tree.insert(hard)
    assert tree.stats.scanned == 6_000
    again = ClusterTree(100, linkage="box")
    again.insert(hard)
    assert again.stats == tree.stats


@pytest.mark.jit
@pytest.mark.parametrize("linkage", ["box", "average"])
def test_collapsed_trees_are_the_same_by_every_search(linkage, data):
    X, _ = data("hist50k")
    X = X[np.random.default_rng(0).permutation(len(X))[:3000]]
    rules = {"linkage": linkage, "max_leaves": 400}
    expected = ClusterTree(X.shape[1], search="astar", **rules)
    expected.insert(X)
    for search, n_jobs, n_parts in (("scan", 1, 1), ("scan", 2, 7), ("auto", 3, 2)):
        tree = ClusterTree(X.shape[1], search=search, n_jobs=n_jobs, **rules)
        for part in np.array_split(X, n_parts):
            tree.insert(part)
        tree.check()
        assert np.array_equal(tree.children, expected.children)
        assert tree.stats.scanned > 0.9 * len(X)
        found, distances = tree.nearest(X[:100] + np.float32(0.01), k=9)
        same, far = expected.nearest(X[:100] + np.float32(0.01), k=9)
        assert np.array_equal(found, same)
        assert np.array_equal(distances, far)


@pytest.mark.jit
def test_answers_are_looked_for_again_only_if_they_are_in_doubt():
    """Rows are near the leaves that are being collapsed, so that some answers are lost."""
    X = np.random.default_rng(0).integers(0, 40, (4000, 2)).astype(np.float32)
    tree = ClusterTree(2, max_leaves=300, search="scan")
    expected = ClusterTree(2, max_leaves=300, search="astar")
    tree.insert(X)
    expected.insert(X)
    assert np.array_equal(tree.children, expected.children)
    assert len(X) - 500 < tree.stats.scanned < 1.5 * len(X)


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 1), (1, 1), (3, 3)])
def test_count_jobs(n_jobs, threads):
    assert count_jobs(n_jobs) == threads
    assert count_jobs(-1) == count_jobs(np.int64(-1)) >= 1
    assert count_jobs(-1000) == 1


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "2"])
def test_bad_n_jobs(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs must"):
        ClusterTree(2, linkage="box", n_jobs=n_jobs)


def test_an_error_in_a_thread_stops_the_others():
    at_work = threading.Event()
    ends = []

    def fail(go_on):
        at_work.wait(10)
        raise ZeroDivisionError

    def work(go_on):
        at_work.set()
        give_up = time.monotonic() + 10
        try:
            while time.monotonic() < give_up:
                go_on()
            ends.append("was never told")
        except StoppedError:
            ends.append("was told to stop")
            raise

    with pytest.raises(ZeroDivisionError):
        run_tasks([fail, work], 2)
    assert ends == ["was told to stop"]


def test_blas_threads_are_put_back():
    from threadpoolctl import threadpool_info, threadpool_limits

    def blas():
        libraries = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
        ours = [lib for lib in libraries if "numpy" in lib["filepath"]]  # SciPy has one of its own
        return [lib["num_threads"] for lib in ours or libraries]

    with threadpool_limits(2, user_api="blas"):  # also where there is only one core
        assert set(blas()) == {2}
        with one_blas_thread(), one_blas_thread():
            assert set(blas()) == {1}
        assert set(blas()) == {2}


def test_blas_is_held_to_one_thread_whichever_thread_asks():
    """threadpoolctl listens to one thread only, as long as it lives."""
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    blas = next((lib for lib in libraries if "numpy" in lib.filepath), libraries[0])
    before, seen = blas.get_num_threads(), []

    def in_another_thread():
        with one_blas_thread():
            seen.append(blas.get_num_threads())
        seen.append(blas.get_num_threads())

    try:
        blas.set_num_threads(2)  # from now on, this thread is listened to
        thread = threading.Thread(target=in_another_thread)
        thread.start()
        thread.join()
        assert seen == [1, 2]
        blas.set_num_threads(3)  # nor is the other thread listened to alone
        assert blas.get_num_threads() == 3
    finally:
        blas.set_num_threads(before)


@pytest.mark.parametrize("search", ["astar", "scan", "auto"])
def test_a_batch_of_nothing_but_copies(search):
    """No row is left to be compared with the rows before it."""
    X = np.arange(40.0)[:, np.newaxis]
    tree = ClusterTree(1, linkage="box", search=search, n_jobs=2)
    tree.insert(X)
    tree.insert(X[::-1])
    tree.check()
    assert tree.n_leaves == 40
    assert np.array_equal(tree.leaf_of(range(40, 80)), tree.leaf_of(range(40))[::-1])
