"""Matrix products find exactly what direct distances find."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config
from perchtree.search.scan import scan

from perchtree import ClusterTree
from perchtree._kernels.distances import point_distance
from perchtree.search.threads import StoppedError, count_jobs, one_blas_thread, run_tasks

SMALL = config.DISABLE_JIT


def brute(rows, points, k, earlier):
    """Direct distances, computed by the one function that all searches use."""
    near = np.full((len(rows), k), np.inf, np.float32)
    ranks = np.full((len(rows), k), -1)
    for i, x in enumerate(rows):
        others = np.concatenate([points, rows[:i]]) if earlier else points
        squared = np.array([point_distance(x, y) for y in others], np.float32)
        best = np.argsort(squared, kind="stable")[:k]
        near[i, : len(best)], ranks[i, : len(best)] = squared[best], best
    return near, ranks


def bounds(points):
    return None if len(points) == 0 else np.stack([points.min(axis=0), points.max(axis=0)])


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
    rows, points = X[:n_rows], X[n_rows:]
    found = scan(rows, points, bounds(points), k=k, earlier=True)
    near, ranks = brute(rows, points, k, earlier=True)
    assert np.array_equal(found.near, near)
    assert np.array_equal(found.ranks, ranks)


@pytest.mark.jit
@pytest.mark.parametrize("n_rows", [1, 31, 512, 513, 1024, 1025, 2100])
def test_blocks_and_tiles(n_rows):
    rng = np.random.default_rng(n_rows)
    rows = rng.normal(size=(n_rows, 5)).astype(np.float32)
    points = rng.normal(size=(700, 5)).astype(np.float32)
    for n_jobs in (1, 3):
        found = scan(rows, points, bounds(points), earlier=True, n_jobs=n_jobs)
        everything = np.concatenate([points, rows])
        for i in [0, n_rows // 2, n_rows - 1]:
            squared = ((everything[: 700 + i].astype(float) - rows[i]) ** 2).sum(axis=1)
            assert found.ranks[i, 0] == squared.argmin()


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
@pytest.mark.parametrize("search", ["astar", "scan", "auto"])
def test_collapsed_trees_are_the_same_by_every_search(search, data):
    X, _ = data("hist50k")
    X = X[np.random.default_rng(0).permutation(len(X))[:3000]]
    expected = ClusterTree(X.shape[1], linkage="box", max_leaves=400, search="astar")
    expected.insert(X)
    tree = ClusterTree(X.shape[1], linkage="box", max_leaves=400, search=search, n_jobs=2)
    for part in np.array_split(X, 7):
        tree.insert(part)
    tree.check()
    assert np.array_equal(tree.children, expected.children)


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 1), (1, 1), (3, 3)])
def test_count_jobs(n_jobs, threads):
    assert count_jobs(n_jobs) == threads
    assert count_jobs(-1) == count_jobs(np.int64(-1)) >= 1
    assert count_jobs(-1000) == 1


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "2"])
def test_bad_n_jobs(n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs must be"):
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
        return [lib["num_threads"] for lib in libraries if "faiss" not in lib["filepath"]]

    with threadpool_limits(2, user_api="blas"):  # also where there is only one core
        assert set(blas()) == {2}
        with one_blas_thread(), one_blas_thread():
            assert set(blas()) == {1}
        assert set(blas()) == {2}
