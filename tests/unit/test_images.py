"""Reduced vectors: bounds that are never too high, of points that are really there."""

import contextlib
import threading
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config

from perchtree import ClusterTree
from perchtree._kernels.guesses import divide
from perchtree._kernels.schema import NONE
from perchtree.search import axes as axes_module
from perchtree.search import exact, guesses, images, products, scanning
from perchtree.search.axes import Axes, rounding_of
from perchtree.search.images import Images, make_space, rotate_rows
from perchtree.search.products import Nearest, Points, scan, scan_points

IS_POOR = scanning.is_poor
IMPROVE = guesses.Guesses.improve
SMALL = config.DISABLE_JIT
N_POINTS = 60 if SMALL else 300


def make_axes(rows, split, n_all, scale=None):
    """Axes from all rows, however little they are worth."""
    centre = rows.mean(axis=0, dtype=np.float64)
    vectors = axes_module._principal(rows - centre, n_all)
    reach = np.sqrt(((rows - centre) ** 2).sum(axis=1).max()) or 1.0
    scale = scale or 2.0 ** -np.ceil(np.log2(reach))
    return Axes(centre, float(scale), vectors, min(split, vectors.shape[1]), 1.0)


@pytest.fixture
def reduced(monkeypatch):
    """Let trees of few points have axes, always of few coordinates, in batches of few rows."""
    monkeypatch.setattr(images, "SMALLEST_SAMPLED", 16)
    monkeypatch.setattr(images, "GROWTH", 2)
    monkeypatch.setattr(images, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(exact, "AHEAD_ROWS", 20)
    monkeypatch.setattr(guesses, "FEWEST_POINTS", 16)
    monkeypatch.setattr(guesses, "LARGEST_PART", 4)
    monkeypatch.setattr(guesses, "N_PARTS", 2)
    monkeypatch.setattr(scanning, "is_poor", lambda *_: False)
    monkeypatch.setattr(products, "BLOCK_ROWS", 8)
    monkeypatch.setattr(products, "TILE_COLUMNS", 16)
    monkeypatch.setattr(images, "sample_axes", lambda points, bounds, k: Always(held(points)))


class Always:
    """Axes that are worth it, whatever they leave."""

    def __init__(self, rows):
        self._rows = rows

    def cheapest(self, n_rows):
        return make_axes(self._rows, 2, 4)


def axes_of(tree, n_rows=1000):
    """Those for many rows; for few if so many are few."""
    return tree._search._images.axes_for(n_rows)


def held(points):
    return points.rows[points.ids != NONE]


def hard_rows(seed, n_rows, n_features, offset, scale):
    """Clusters with ties, copies and columns that are nearly the same."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n_rows, n_features)) + 10.0 * rng.integers(0, 4, (n_rows, 1))
    X[n_rows // 2 :] += 0.01 * rng.normal(size=X[n_rows // 2 :].shape)
    return ((X + offset) * scale).astype(np.float32)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.sampled_from([1, 2, 5] if SMALL else [1, 2, 3, 7, 40]),
    offset=st.sampled_from([0, 1e3, 1e6]),
    scale=st.sampled_from([1, 1e-6, 1e6, 1e-22]),
    split=st.integers(1, 3),
    more=st.integers(0, 3),
    k=st.integers(1, 3),
)
def test_images_find_what_all_features_find(seed, n_features, offset, scale, split, more, k):
    X = hard_rows(seed, 40, n_features, offset, scale)
    rows, others = X[::3], X[1::3]
    points = Points(others, np.arange(len(others), dtype=np.int32)[::-1].copy())
    points.ids[::5] = NONE
    axes = make_axes(X, split, split + more)
    space = make_space(axes, rows, axes.image(rows), others, axes.image(others))
    answers = Nearest.unknown(len(rows), k)
    scan(rows, points, space, answers, 1)
    bounds = np.stack([X.min(axis=0), X.max(axis=0)])
    expected = scan_points(rows, points, bounds, k)
    assert np.array_equal(answers.ids, expected.ids)
    assert np.array_equal(answers.near, expected.near)


def test_a_bound_is_never_above_the_distance_by_more_than_its_rounding():
    """And without the allowance for rounding it is, now and then."""
    rng = np.random.default_rng(0)
    above = 0
    for n_features in (3, 30):
        X = (
            rng.normal(size=(80, n_features)) @ rng.normal(size=(n_features, n_features)) + 50
        ).astype("f4")
        X[40:] = X[:40] + 1e-4 * rng.normal(size=(40, n_features)).astype("f4")
        axes = make_axes(X - X.mean(axis=0) + 50, 2, 3)
        image = axes.image(X)
        heads = np.column_stack([image.coordinates[:, : axes.split], image.rests[:, 1]])
        share = rounding_of(n_features, axes.vectors.shape[1])
        squared = 2 * (image.halves[:, np.newaxis] + image.halves) / (1 - share)
        products_of = (heads @ heads.T).astype(np.float64)
        direct = ((X[:, np.newaxis].astype(np.float64) - X) ** 2).sum(axis=2) * axes.scale**2
        excess = squared - 2 * products_of - direct
        above += np.count_nonzero(excess > 0)
        assert (excess <= share * squared).all()
    assert above > 0


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("linkage", ["box", "average"])
@pytest.mark.parametrize(("offset", "scale"), [(0, 1), (1000, 1), (0, 1e-6), (0, 1e6)])
def test_same_tree(reduced, linkage, n_jobs, offset, scale):
    X = hard_rows(1, N_POINTS, 9, offset, scale)
    expected = ClusterTree(9, linkage=linkage, search="astar")
    expected.insert(X)
    tree = ClusterTree(9, linkage=linkage, search="scan", n_jobs=n_jobs)
    for part in np.split(X, [1, 3, 30, 37]):
        tree.insert(part)
    tree.check()
    assert axes_of(tree) is not None
    assert np.array_equal(tree.children, expected.children)
    for n_rows in (1, 3, 30):
        found = tree.nearest(X[:n_rows] * np.float32(1.01), k=3)
        assert np.array_equal(found[0], expected.nearest(X[:n_rows] * np.float32(1.01), k=3)[0])


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_row_that_another_point_has_taken(reduced, monkeypatch, is_kept):
    """Rows of removed points are used again: an image of the old point would be stale."""
    linkage = "average" if is_kept else "box"
    if not is_kept:  # as if the points that take the rows were found by A*
        monkeypatch.setattr(Images, "keep", lambda *_: None)
    rng = np.random.default_rng(3)
    X = hard_rows(2, N_POINTS, 6, 0, 1)
    twins = [ClusterTree(6, linkage=linkage, search=search) for search in ("astar", "scan")]
    for turn in range(3 if SMALL else 6):
        gone = None
        for tree in twins:
            tree.insert(X[turn::6] + np.float32(turn))
            tree.nearest(X[:20])  # images are up to date now
            if gone is None:
                gone = rng.permutation(tree.ids)[: len(tree.ids) // 2]
            tree.remove(gone)
            tree.insert(X[: len(gone)] * np.float32(-1 - turn))  # far from those that had the rows
            tree.check()
        assert np.array_equal(twins[0].children, twins[1].children)
        for n_rows in (1, 30):
            queries = X[-n_rows:] * np.float32(-1.1)
            found = [tree.nearest(queries, k=4)[0] for tree in twins]
            assert np.array_equal(*found)
    assert axes_of(twins[1]) is not None


def test_first_neighbours_come_from_the_nearest_parts(reduced):
    """With few parts to look into, they leave the scan less to look at, and the same answers."""
    X = hard_rows(6, N_POINTS, 9, 0, 1)
    tree = ClusterTree(9, search="scan")
    tree.insert(X)
    tree.remove(tree.ids[::4])  # parts are out of date
    expected = ClusterTree(9, search="astar")
    expected.insert(X)
    expected.remove(expected.ids[::4])
    computed = []

    def improve(self, *arguments):
        computed.append(IMPROVE(self, *arguments))
        return computed[-1]

    with mock.patch.object(guesses.Guesses, "improve", improve):
        for row in range(0, len(X), 7):
            query = X[row : row + 1] + np.float32(0.1)
            for found, right in zip(
                tree.nearest(query, k=3), expected.nearest(query, k=3), strict=True
            ):
                assert np.array_equal(found, right)
    assert min(computed) > 0


def test_parts_hold_every_point_once():
    X = hard_rows(9, N_POINTS, 3, 0, 1)
    tree = ClusterTree(3, linkage="box", search="astar")
    tree.insert(X)
    arrays, n_leaves = tree._tree, tree.n_leaves
    rows, starts = np.empty(n_leaves, np.int32), np.empty(n_leaves + 1, np.int32)
    for largest in (1, 5, len(X)):
        n_parts = divide(arrays, largest, rows, starts)
        assert sorted(rows) == list(range(n_leaves))
        assert starts[0] == 0
        assert starts[n_parts] == n_leaves
        sizes = np.diff(starts[: n_parts + 1])
        assert sizes.min() > 0
        assert sizes.max() <= largest
    assert n_parts == 1


def test_points_far_beyond_the_first_ones(reduced):
    """Products of images must not overflow: axes are found anew, or all features compared."""
    X = hard_rows(4, 60, 5, 0, 1e-12)
    far = hard_rows(5, 40, 5, 0, 1e15)
    tree, expected = (ClusterTree(5, linkage="box", search=s) for s in ("scan", "astar"))
    for each in (tree, expected):
        each.insert(X)
    for queries in (far, far[:2]):
        found = [each.nearest(queries, k=2)[0] for each in (tree, expected)]
        assert np.array_equal(*found)
    for each in (tree, expected):
        each.insert(far)
        each.insert(X[::-1])
    assert np.array_equal(tree.children, expected.children)


@pytest.mark.jit
def test_axes_do_not_depend_on_batches(monkeypatch):
    monkeypatch.setattr(images, "SMALLEST_SAMPLED", 512)
    X = np.random.default_rng(0).normal(size=(600, 200)) * 0.5 ** np.arange(200)
    found = []
    for n_rows in (600, 200, 50):
        tree = ClusterTree(200, linkage="box", search="scan")
        for first in range(0, 600, n_rows):
            tree.insert(X[first : first + n_rows])
        tree.nearest(X[:50])
        found.append(axes_of(tree))
    assert found[0] is not None
    for other in found[1:]:
        assert other.split == found[0].split
        assert np.array_equal(other.vectors, found[0].vectors)


@pytest.mark.jit
def test_few_rows_have_axes_where_many_have_none(monkeypatch):
    """Reading all features is what a single row costs; for many it is their product."""
    monkeypatch.setattr(images, "SMALLEST_SAMPLED", 512)
    X = np.random.default_rng(0).normal(size=(700, 250)) * np.arange(1, 251) ** -0.4
    tree = ClusterTree(250, linkage="box", search="scan")
    tree.insert(X[:600])
    found = tree.nearest(X[600:], k=3)
    assert axes_of(tree) is None
    for row in range(600, 700):
        near = tree.nearest(X[row : row + 1], k=3)
        assert np.array_equal(near[0][0], found[0][row - 600])
    assert axes_of(tree, 1) is not None


@pytest.mark.jit
def test_images_for_few_rows_are_made_little_by_little(monkeypatch):
    """A single row must not wait for the images of all points."""
    monkeypatch.setattr(images, "SMALLEST_SAMPLED", 512)
    monkeypatch.setattr(images, "MADE_AT_ONCE", 100)
    X = np.random.default_rng(0).normal(size=(700, 250)) * np.arange(1, 251) ** -0.4
    tree = ClusterTree(250, linkage="box", search="scan")
    tree.insert(X[:600])
    expected = ClusterTree(250, linkage="box", search="astar")
    expected.insert(X[:600])
    rotated = []

    def count(axes, rows, n_jobs):
        rotated.append(len(rows))
        return rotate_rows(axes, rows, n_jobs)

    with mock.patch.object(images, "rotate_rows", count):
        for row in range(600, 620):
            for each in (tree, expected):
                each.insert(X[row : row + 1])
            assert tree.nearest(X[row - 300 : row - 299])[0].tolist() == [[row - 300]]
    assert max(rotated) <= 100
    assert 600 <= sum(rotated) <= 620
    assert np.array_equal(tree.children, expected.children)


@pytest.mark.jit
def test_flat_spectra_are_not_reduced_and_steep_ones_are():
    rng = np.random.default_rng(0)
    n = 400
    ids = np.arange(n, dtype=np.int32)
    flat = rng.normal(size=(n, 250)).astype(np.float32)
    steep = flat * (1 / np.arange(1, 251) ** 2).astype(np.float32)
    for rows, is_reduced in ((flat, False), (steep, True)):
        bounds = np.stack([rows.min(axis=0), rows.max(axis=0)])
        assert (axes_module.find_axes(Points(rows, ids), bounds, 1, 1024) is not None) == is_reduced


def test_axes_that_leave_too_much_are_given_up(reduced, monkeypatch):
    """Points that come later may differ along other axes."""
    is_poor = IS_POOR
    tree = ClusterTree(40, linkage="box", search="scan")
    rng = np.random.default_rng(0)
    first = np.zeros((40, 40), np.float32)
    first[:, :4] = rng.normal(size=(40, 4))
    tree.insert(first)
    tree.nearest(first)
    assert axes_of(tree) is not None
    monkeypatch.setattr(scanning, "is_poor", is_poor)
    monkeypatch.setattr(scanning, "MANY_ROWS", 10)
    with mock.patch.object(Images, "_renew"):  # until the next fixed number of points
        tree.insert(1000 * rng.normal(size=(40, 40)))
        tree.nearest(rng.normal(size=(40, 40)))
        assert axes_of(tree) is None
        assert tree.nearest(first[:9])[0].tolist() == [[i] for i in range(9)]


def test_one_thread_is_enough(reduced):
    """With n_jobs=1 nothing is searched in a second thread."""
    names = set()

    def note(*arguments):
        names.add(threading.current_thread().name)
        return rotate_rows(*arguments)

    with mock.patch.object(images, "rotate_rows", note):
        for n_jobs, expected in ((1, 1), (2, 2)):
            names.clear()
            tree = ClusterTree(4, linkage="box", search="scan", n_jobs=n_jobs)
            tree.insert(hard_rows(0, 60, 4, 0, 1))
            tree.insert(hard_rows(1, 60, 4, 0, 1))
            assert threading.main_thread().name in names or n_jobs > 1
            assert len(names) <= expected


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_insert_leaves_a_prefix_and_no_thread(reduced, n_jobs):
    X = hard_rows(7, 100, 4, 0, 1)
    n_threads = threading.active_count()
    tree = ClusterTree(4, linkage="box", search="scan", n_jobs=n_jobs)
    insert, calls = ClusterTree._insert_part, []

    def interrupted(self, arrays, part):
        calls.append(part)
        if len(calls) == 3:
            raise KeyboardInterrupt
        insert(self, arrays, part)

    with (
        mock.patch.object(ClusterTree, "_insert_part", interrupted),
        pytest.raises(KeyboardInterrupt),
    ):
        tree.insert(X)
    assert threading.active_count() == n_threads
    assert tree.n_points == 40
    tree.insert(X[::-1])  # the same ids as rows that were searched for but never inserted
    tree.check()
    expected = ClusterTree(4, linkage="box", search="astar")
    expected.insert(X[:40])
    expected.insert(X[::-1])
    assert np.array_equal(tree.children, expected.children)


def test_an_interruption_never_leaves_images_of_other_axes(reduced):
    """Wherever Ctrl-C strikes while images are renewed or grow, later answers are right."""
    X = hard_rows(8, 90, 4, 0, 1)
    expected = ClusterTree(4, linkage="box", search="astar")
    expected.insert(X)
    answers = expected.nearest(X + np.float32(0.3), k=2)[0]
    struck = 0
    for name in ("rotate_rows", "_nothing", "sample_axes"):
        for turn in range(3):
            tree = ClusterTree(4, linkage="box", search="scan")
            calls, real = [], getattr(images, name)

            def strike(*arguments, calls=calls, real=real, turn=turn):
                calls.append(arguments)
                if len(calls) == turn + 1:
                    raise KeyboardInterrupt
                return real(*arguments)

            with mock.patch.object(images, name, strike), contextlib.suppress(KeyboardInterrupt):
                tree.insert(X)
            if tree.n_points < len(X):
                struck += 1
                tree.insert(X[tree.n_points :])
            assert np.array_equal(tree.children, expected.children)
            assert np.array_equal(tree.nearest(X + np.float32(0.3), k=2)[0], answers)
    assert struck >= 5
