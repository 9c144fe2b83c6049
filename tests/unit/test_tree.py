"""What ClusterTree promises beyond the algorithm: input, output, errors, interruptions."""

import copy
import math
import os
import pickle
import signal
import sys
import threading
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from numba.core import config

from perchtree import ClusterTree, Depth, _arrays

FEW = 30 if config.DISABLE_JIT else 400


def random_tree(n_points=FEW, n_features=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_points, n_features))
    tree = ClusterTree(n_features, linkage="box")
    tree.insert(X)
    return tree, X


class TestInsert:
    def test_ids_go_by_arrival(self):
        tree = ClusterTree(2, linkage="box")
        assert tree.insert([[0, 0], [1, 1]]).tolist() == [0, 1]
        assert tree.insert([[0, 0]]).tolist() == [2]
        assert len(tree) == tree.n_points == 3
        assert tree.n_leaves == 2

    def test_empty_tree(self):
        tree = ClusterTree(2, linkage="box")
        tree.check()
        assert len(tree) == 0
        assert tree.depth == Depth(0, 0.0)
        assert math.isnan(tree.mean_balance)
        with pytest.raises(ValueError, match="empty"):
            _ = tree.children

    def test_one_point(self):
        tree = ClusterTree(2, linkage="box")
        tree.insert([[3, 4]])
        tree.check()
        assert tree.children.shape == (0, 2)
        assert tree.parents.tolist() == [-1]
        assert tree.heights.tolist() == [0]
        assert tree.depth == Depth(0, 0.0)
        assert tree.cut(1).tolist() == [0]
        assert tree.nearest([[0, 0]])[1].tolist() == [[5]]

    def test_two_points(self):
        tree = ClusterTree(1, linkage="box")
        tree.insert([[0], [3]])
        tree.check()
        assert tree.children.tolist() == [[0, 1]]
        assert tree.heights.tolist() == [0, 0, 3]
        assert tree.mean_balance == 1.0

    @pytest.mark.parametrize("n_features", [1, 5000])
    def test_few_and_many_dimensions(self, n_features):
        n_points = 20 if config.DISABLE_JIT and n_features > 1 else 50
        if config.DISABLE_JIT and n_features > 1:
            n_points = 6
        tree, X = random_tree(n_points, n_features)
        tree.check()
        ids, distances = tree.nearest(X)
        assert ids[:, 0].tolist() == list(range(n_points))
        assert not distances.any()

    @pytest.mark.jit
    def test_sorted_order(self):
        tree = ClusterTree(1, linkage="box")
        tree.insert(np.arange(20_000.0)[:, np.newaxis])
        tree.check()
        assert tree.depth.max < 100

    @pytest.mark.parametrize(
        "convert",
        [
            np.float16,
            np.float64,
            np.int16,
            np.int64,
            np.asfortranarray,
            lambda X: X[::-1][::-1],
            lambda X: X.tolist(),
            lambda X: X.astype(object),
        ],
    )
    def test_any_numeric_input_gives_the_same_tree(self, convert):
        X = np.random.default_rng(0).integers(-9, 9, (20, 3)).astype(np.float32)
        ours, theirs = ClusterTree(3, linkage="box"), ClusterTree(3, linkage="box")
        ours.insert(X)
        theirs.insert(convert(X))
        assert np.array_equal(ours.children, theirs.children)

    def test_read_only_memmap(self, tmp_path):
        X = np.random.default_rng(0).normal(size=(20, 3))
        np.save(tmp_path / "X.npy", X)
        tree = ClusterTree(3, linkage="box")
        tree.insert(np.load(tmp_path / "X.npy", mmap_mode="r"))
        expected = ClusterTree(3, linkage="box")
        expected.insert(X)
        assert np.array_equal(tree.children, expected.children)

    def test_input_is_not_changed_or_kept(self):
        X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
        before = X.copy()
        tree = ClusterTree(3, linkage="box")
        tree.insert(X)
        assert np.array_equal(X, before)
        X[:] = 0
        tree.check()
        assert tree.nearest(before)[0][:, 0].tolist() == list(range(20))

    def test_progress(self, capsys):
        tree = ClusterTree(1, linkage="box")
        tree.insert([[1.0], [2.0]], verbose=True)
        assert "2.00/2.00" in capsys.readouterr().err


class TestCopies:
    def test_share_a_leaf(self):
        tree = ClusterTree(1, linkage="box")
        tree.insert([[5], [0], [5], [5], [1]])
        tree.check()
        assert tree.n_leaves == 3
        assert tree.nearest([[5]], k=4)[0].tolist() == [[0, 2, 3, 4]]
        leaf = tree.leaf_of(0)
        assert tree.leaf_of([2, 3]).tolist() == [leaf, leaf]
        assert tree.members(leaf).tolist() == [0, 2, 3]
        assert tree.lca(2, 3) == tree.lca(0, 3) == tree.lca(0, 0) == leaf

    def test_equal_as_float32(self):
        tree = ClusterTree(1, linkage="box")
        tree.insert([[1.0], [1.0 + 1e-12]])
        assert tree.n_leaves == 1

    def test_underflow_does_not_hide_them(self):
        """Squares of tiny differences are 0 in float32, yet the points are not copies."""
        tree = ClusterTree(1, linkage="box")
        with pytest.warns(UserWarning, match="all norms are below 1e-18"):
            tree.insert([[0.0], [1e-30], [2e-30], [1e-30], [2e-30], [0.0], [3e-30]])
        tree.check()
        assert tree.n_leaves == 4
        assert tree.leaf_of(3) == tree.leaf_of(1)
        assert tree.leaf_of(4) == tree.leaf_of(2)

    @pytest.mark.jit
    def test_a_million_copies_are_one_leaf(self):
        tree = ClusterTree(2, linkage="box")
        tree.insert([[0, 0], [9, 9]])
        tree.insert(np.broadcast_to(np.float32([1, 1]), (1_000_000, 2)))
        tree.check()
        assert tree.n_leaves == 3
        assert tree.depth.max == 2
        assert tree.stats.distances < 6_000_000
        assert len(tree.children) == 1_000_001


class TestBadInput:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([[0, 0], [np.nan, 0]], "row 1 contains NaN"),
            ([[0, 0], [0, 0], [0, np.inf]], "row 2 contains infinity"),
            ([[0, 1e19]], "row 0 has a norm above 9e"),
            ([[0, 1e200]], "row 0 has a norm above 9e"),
            ([[0, 0, 0]], "expected 2 features, got rows of 3"),
            (np.empty((0, 2)), "at least one row"),
            ([], "2-d"),
            ([0, 0], r"2-d array, got 1-d: X.reshape\(1, -1\)"),
            (np.zeros((2, 2, 2)), "2-d array, got 3-d"),
            (3.0, "2-d array, got 0-d"),
            ([["a", "b"]], "expected numbers"),
            (np.array([[1, 2], [3, None]], dtype=object), "row 1 holds something"),
            ([[0, 1j]], "expected numbers"),
            ([[0, 1], [2]], "expected a 2-d array of numbers"),
            (scipy.sparse.eye(2).tocsr(), "sparse"),
            (np.ma.masked_equal([[0.0, 1.0]], 1.0), "masked values"),
        ],
    )
    def test_is_refused_and_the_tree_unchanged(self, X, message):
        tree = ClusterTree(2, linkage="box")
        tree.insert([[0, 1], [1, 0]])
        for call in (tree.insert, tree.nearest):
            with pytest.raises(ValueError, match=message):
                call(X)
        assert tree.n_points == 2
        tree.check()

    def test_bad_row_far_down(self):
        X = np.zeros((10_000, 100))
        X[9_000, 3] = np.nan
        tree = ClusterTree(100, linkage="box")
        with pytest.raises(ValueError, match="row 9000 contains NaN"):
            tree.insert(X)
        assert tree.n_points == 0

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"n_features": 0}, ValueError, "n_features must be at least 1"),
            ({"n_features": 2.5}, TypeError, "n_features must be a whole number"),
            ({"n_features": True}, TypeError, "n_features must be a whole number"),
            ({"n_features": 2, "masking": "no"}, ValueError, "masking must be one of 'published'"),
            ({"n_features": 2, "balance": 3}, ValueError, "balance must be one of 'size'"),
            ({"n_features": 2, "search": "x"}, ValueError, "search must be one of 'auto'"),
            ({"n_features": 2, "max_leaves": 0}, ValueError, "max_leaves must be at least 1"),
            ({"n_features": 2, "max_leaves": 2**40}, ValueError, "max_leaves must be at most"),
            ({"n_features": 2, "beam_width": 0}, ValueError, "beam_width must be at least 1"),
            (
                {"n_features": 2, "linkage": "box", "masking": "exact", "max_leaves": 9},
                ValueError,
                "masking='exact' needs the features of all points",
            ),
        ],
    )
    def test_constructor(self, arguments, error, message):
        with pytest.raises(error, match=message):
            ClusterTree(**arguments)

    def test_wrong_questions(self):
        tree = ClusterTree(1, linkage="box")
        tree.insert([[0], [1], [2]])
        with pytest.raises(ValueError, match="k = 4 neighbours asked of 3 points"):
            tree.nearest([[0]], k=4)
        with pytest.raises(ValueError, match="no point has the id 3"):
            tree.leaf_of([0, 3])
        with pytest.raises(ValueError, match="node must be at least 0"):
            tree.members(-1)
        with pytest.raises(ValueError, match="no node 5"):
            tree.lca(0, 5)
        with pytest.raises(TypeError, match="whole number"):
            tree.path(0.5)
        with pytest.raises(TypeError, match="whole numbers"):
            tree.leaf_of([0.5])
        with pytest.raises(ValueError, match="4 clusters asked of a tree of 3 leaves"):
            tree.cut(4)

    def test_huge_values_survive(self):
        """Norms just below the limit: boxes overflow to infinity, the search stays exact."""
        X = 8e18 * np.eye(6, dtype=np.float32)
        tree = ClusterTree(6, linkage="box")
        with np.errstate(over="ignore"):
            tree.insert(np.concatenate([X, -X]))
        tree.check()
        assert tree.nearest(X)[0][:, 0].tolist() == list(range(6))


class TestReading:
    def test_table_is_consistent(self):
        tree, _ = random_tree()
        n_points = tree.n_points
        assert tree.children.shape == (n_points - 1, 2)
        assert sorted(tree.children.ravel()) == list(range(2 * n_points - 2))
        rows = np.arange(n_points, 2 * n_points - 1)
        assert (tree.children < rows[:, np.newaxis]).all()
        assert (tree.parents[tree.children] == rows[:, np.newaxis]).all()
        assert (np.diff(tree.heights[n_points:]) >= 0).all()
        root = 2 * n_points - 2
        assert tree.parents[root] == -1
        assert tree.members(root).tolist() == list(range(n_points))

    def test_paths_and_meetings(self):
        tree, _ = random_tree(30)
        for a, b in [(0, 1), (5, 20), (29, 3)]:
            path_a, path_b = tree.path(a).tolist(), tree.path(b).tolist()
            assert path_a[0] == a
            assert path_a[-1] == 58
            meet = next(node for node in path_a if node in path_b)
            assert tree.lca(a, b) == tree.lca(b, a) == meet
            assert tree.lca(meet, a) == meet
            assert {a, b} <= set(tree.members(meet).tolist())

    def test_answers_follow_inserts_and_cannot_be_changed(self):
        tree, _ = random_tree(10)
        before = tree.children
        with pytest.raises(ValueError, match="read-only"):
            before[0, 0] = 5
        tree.insert([[9, 9, 9]])
        assert len(tree.children) == 10

    def test_depth(self):
        tree = ClusterTree(1, linkage="box")
        tree.insert([[0], [1], [10], [11], [100]])
        depths = [len(tree.path(point)) - 1 for point in range(5)]
        assert tree.depth == Depth(max(depths), np.mean(depths))

    def test_balance_is_definition_3(self):
        tree, _ = random_tree(30)
        sizes = tree.table.sizes[tree.children]
        assert tree.mean_balance == pytest.approx((sizes.min(1) / sizes.max(1)).mean())

    def test_repr(self):
        """Only settings that are not the default are shown."""
        assert repr(ClusterTree(3)) == "<ClusterTree(n_features=3): 0 points in 0 leaves>"
        tree = ClusterTree(2, linkage="ward", max_leaves=5)
        tree.insert([[0, 0], [1, 1], [1, 1]])
        expected = "<ClusterTree(n_features=2, linkage='ward', max_leaves=5): 3 points in 2 leaves>"
        assert repr(tree) == expected

    def test_stats_count_inserts_only(self):
        X = np.random.default_rng(0).normal(size=(30, 3))
        tree = ClusterTree(3, linkage="box", search="astar")
        tree.insert(X)
        before = tree.stats
        tree.nearest(X)
        assert tree.stats == before
        assert before.distances > before.expansions > 0
        assert before.masking_checks >= before.masking_rotations > 0
        assert before.balance_checks >= before.balance_rotations > 0


@pytest.mark.parametrize("name", ["n_features", "masking", "search", "max_leaves"])
def test_settings_are_fixed(name):
    tree = ClusterTree(3, linkage="box")
    with pytest.raises(AttributeError, match=f"{name} is fixed when a tree is made"):
        setattr(tree, name, 20)
    tree.n_jobs = 2


def test_an_interruption_while_growing_leaves_enough_working_memory():
    X = np.random.default_rng(0).normal(size=(40, 3))
    tree = ClusterTree(3, linkage="box", search="astar")
    tree.insert(X)
    with (
        mock.patch.object(_arrays, "make_astar", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt, match="0 of 800 rows were inserted"),
    ):
        tree.insert(np.tile(X, (20, 1)))
    tree.insert(X + 1)
    assert _arrays.suits(tree._search._memory, tree._tree)
    tree.check()


def test_a_table_made_during_an_insert_is_not_kept():
    """As by a signal handler, which runs in the thread that holds the lock."""
    tree, X = random_tree(30)
    insert_part = ClusterTree._insert_part

    def look_in_between(self, arrays, part):
        assert len(self.children) == self.n_points - 1
        insert_part(self, arrays, part)

    with mock.patch.object(ClusterTree, "_insert_part", look_in_between):
        tree.insert(X + 1)
    assert len(tree.children) == 59


def test_pickles_with_read_only_buffers_can_grow():
    tree, X = random_tree(30)
    buffers = []
    data = pickle.dumps(tree, protocol=5, buffer_callback=buffers.append)
    twin = pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])
    twin.insert(X + 1)
    twin.check()
    state = tree.__getstate__() | {"format": 0}
    with pytest.raises(ValueError, match="another version of perchtree"):
        twin.__setstate__(state)


def test_nearest_agrees_with_itself_in_collapsed_mode():
    rng = np.random.default_rng(0)
    tree = ClusterTree(2, linkage="box", max_leaves=12)
    tree.insert(rng.normal(size=(FEW, 2)))
    queries = rng.normal(size=(20, 2))
    one, few = tree.nearest(queries, k=1)[0], tree.nearest(queries, k=3)[0]
    assert np.array_equal(one[:, 0], few[:, 0])


@pytest.mark.parametrize("search", ["astar", "scan", "auto"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_nearest_by_every_search(search, n_jobs):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (FEW, 3)).astype(float)  # many copies and ties
    tree = ClusterTree(3, linkage="box", search=search, n_jobs=n_jobs)
    tree.insert(X)
    queries = rng.integers(0, 6, (40, 3)) + 0.5
    ids, distances = tree.nearest(queries, k=7)
    squared = ((queries[:, np.newaxis] - X) ** 2).sum(axis=2)
    expected = np.argsort(squared, axis=1, kind="stable")[:, :7]
    assert np.array_equal(ids, expected)
    assert np.allclose(distances**2, np.take_along_axis(squared, expected, axis=1))


@pytest.mark.parametrize(
    "duplicate",
    [ClusterTree.copy, copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))],
)
def test_copies_are_independent(duplicate):
    tree, X = random_tree(30)
    twin = duplicate(tree)
    assert repr(twin) == repr(tree)
    tree.insert(X + 1)
    assert twin.n_points == 30
    twin.check()
    twin.insert(X + 1)
    assert np.array_equal(twin.children, tree.children)
    assert twin.stats == tree.stats


@pytest.mark.jit
@pytest.mark.parametrize(
    "mode", [{"search": "astar"}, {"search": "scan"}, {"search": "scan", "n_jobs": 2}]
)
def test_ctrl_c_leaves_a_prefix(mode):
    X = np.random.default_rng(0).normal(size=(200_000, 100))
    ClusterTree(100, linkage="box", **mode).insert(X[:100])  # compile before the clock runs
    tree = ClusterTree(100, linkage="box", **mode)
    tree.insert(X[:10])
    timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt, match=r"of 199,990 rows were inserted") as interrupt:
        tree.insert(X[10:])
    tree.check()
    done = tree.n_points - 10
    assert 0 <= done < 199_990
    assert str(interrupt.value).startswith(f"{done:,} of")
    assert f"insert(X[{done}:])" in str(interrupt.value)
    same = ClusterTree(100, linkage="box", search="scan")
    same.insert(X[: tree.n_points])
    assert np.array_equal(tree.children, same.children)


@pytest.mark.jit
def test_several_threads_may_use_one_tree():
    """Calls are carried out one after the other: rows of one insert stay together."""
    tree = ClusterTree(2, linkage="box")
    tree.insert([[0, 0]])
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(3_000, 2)) for _ in range(4)]
    ids = {}
    failures = []

    def write(number):
        ids[number] = tree.insert(batches[number])

    def read():
        try:
            for _ in range(20):
                found, _ = tree.nearest([[0, 0]])
                assert found.tolist() == [[0]]
                tree.check()
                table = tree.table
                assert len(table.children) == table.n_points - 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    tree.check()
    assert tree.n_points == 12_001
    for number, batch in enumerate(batches):
        assert (np.diff(ids[number]) == 1).all()
        assert np.array_equal(tree.nearest(batch)[0][:, 0], ids[number])


def test_without_a_bar_nothing_is_asked_of_tqdm(monkeypatch):
    """Its silent bars start a thread, and take a lock that forked processes share: if one of them
    is killed while it holds the lock, all others wait for ever."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    tree = ClusterTree(2, search="astar")
    tree.insert([[0, 0], [0, 1], [5, 5], [6, 5]])
    tree.refine()
    tree.remove([1])
    with pytest.raises(ImportError):
        tree.insert([[9, 9]], verbose=True)


def test_room_can_be_made_before_it_is_needed(X):
    tree = ClusterTree(3, search="astar")
    tree.insert(X[:9])
    loaded = tree.copy()  # its arrays have no spare room
    loaded.reserve(1)
    rows = len(loaded._tree.points)
    assert rows > 9
    loaded.insert(X[9:12])
    tree.insert(X[9:12])
    assert len(loaded._tree.points) == rows
    assert (loaded.children == tree.children).all()
    loaded.check()
