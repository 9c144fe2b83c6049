"""Arrays grow in place where the system allows it, and never lose what they hold."""

import mmap
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree, _arrays
from perchtree._arrays import Growing, Storage, copied, empty_tree, used_rows

in_place = pytest.mark.skipif(
    not hasattr(mmap, "MAP_ANONYMOUS"), reason="arrays are copied on this system"
)


@pytest.fixture(params=[0, 2**62], ids=["mapped", "copied"])
def smallest(request):
    """From how many bytes on arrays are maps."""
    with mock.patch.object(_arrays, "_SHORT", request.param):
        yield


def content(n_rows, shape, dtype):
    return (np.arange(n_rows * int(np.prod(shape))) % 100).reshape(n_rows, *shape).astype(dtype)


@pytest.mark.usefixtures("smallest")
@pytest.mark.parametrize(
    ("shape", "dtype"), [((6,), np.int32), ((2, 5), np.float32), ((3,), np.float64)]
)
def test_content_stays_and_new_rows_are_zero(shape, dtype):
    rows = content(3, shape, dtype)
    growing = Growing(rows.copy())
    for length in (4, 5, 50, 1_000, 1_001, 9_000, 30_000):
        used = len(rows)
        growing.grow(length, used)
        assert growing.array.shape == (length, *shape)
        assert growing.array.dtype == dtype
        assert np.array_equal(growing.array[:used], rows)
        assert not growing.array[used:].any()
        rows = content(length, shape, dtype)
        growing.array[:] = rows
    growing.grow(10, 10)  # it never shrinks
    assert len(growing.array) == 30_000
    assert np.array_equal(growing.array, rows)


@pytest.mark.usefixtures("smallest")
@given(steps=st.lists(st.tuples(st.integers(0, 300), st.booleans()), max_size=12))
def test_any_way_of_growing(steps):
    """Whether or not someone looks at the array while it grows."""
    growing = Growing(np.zeros((0, 2), np.int64))
    expected, views = np.zeros((0, 2), np.int64), []
    for more, look in steps:
        used = len(expected)
        growing.grow(used + more, used)
        expected = np.concatenate([expected, np.full((more, 2), used + 1)])
        growing.array[used : used + more] = used + 1
        assert np.array_equal(growing.array[: used + more], expected)
        if look:
            views.append((growing.array, expected.copy()))
    for view, seen in views:
        assert np.array_equal(view[: len(seen)], seen)  # older views are whole, too


@in_place
def test_large_arrays_grow_in_place_unless_they_are_looked_at():
    with mock.patch.object(_arrays, "_SHORT", 0):
        growing = Growing(np.zeros((0, 4), np.float32))
        growing.grow(1_000, 0)
        growing.array[:] = 7
        memory = growing._map
        growing.grow(100_000, 1_000)
        assert growing._map is memory
        view = growing.array
        view[1_000:] = 8
        growing.grow(200_000, 100_000)
        assert growing._map is not memory  # the view would point to nowhere
        growing.array[:] = 9
        assert (view[:1_000] == 7).all()
        assert (view[1_000:] == 8).all()


@in_place
@pytest.mark.parametrize("mapped", [False, True])
def test_memory_that_cannot_be_had(mapped):
    """A MemoryError says how much was asked for, and leaves the array as it was."""
    with mock.patch.object(_arrays, "_SHORT", 0):
        growing = Growing(content(10, (3,), np.float32))
        if mapped:
            growing.grow(20, 10)
        with pytest.raises(MemoryError, match=r"cannot allocate [0-9,]+ bytes"):
            growing.grow(2**58, 10)
        assert np.array_equal(growing.array[:10], content(10, (3,), np.float32))
        growing.grow(40, 10)
        assert np.array_equal(growing.array[:10], content(10, (3,), np.float32))


@in_place
def test_a_tree_without_memory_stays_whole():
    X = np.random.default_rng(0).random((40, 3))
    tree = ClusterTree(3)
    tree.insert(X[:20])
    before, n_points = tree.children, tree.n_points
    for failing in ("points", "boxes", "nodes", "ids"):
        grow = Growing.grow

        def fail(self, rows, used, failing=failing, grow=grow):
            if self is tree._storage._growing[failing]:
                raise MemoryError("cannot allocate")
            grow(self, rows, used)

        with (
            mock.patch.object(Growing, "grow", fail),
            pytest.raises(MemoryError, match="0 of 500 rows were inserted, and the tree is whole"),
        ):
            tree.insert(np.random.default_rng(1).random((500, 3)))
        tree.check()
        assert tree.n_points == n_points
        assert np.array_equal(tree.children, before)
    tree.insert(X[20:])
    expected = ClusterTree(3)
    expected.insert(X)
    assert np.array_equal(tree.children, expected.children)


@pytest.mark.parametrize("settings", [{}, {"linkage": "box"}, {"max_leaves": 8}])
def test_growing_does_not_change_a_tree(settings):
    """With maps or by copying, from many small inserts or one: the same tree."""
    X = np.random.default_rng(0).random((60, 3))
    expected = ClusterTree(3, **settings)
    expected.insert(X)
    with mock.patch.object(_arrays, "_SHORT", 0):
        tree = ClusterTree(3, **settings)
        for row in X:
            tree.insert(row[np.newaxis])
    tree.check()
    assert np.array_equal(tree.children, expected.children)
    for name, array in used_rows(tree._tree):
        assert np.array_equal(array, dict(used_rows(expected._tree))[name]), name


def test_capacity():
    """The first call gets what it asks for; then lengths at least double, up to the bound."""
    storage = Storage(empty_tree(2, None))
    storage.make_room(10)
    assert len(storage.show().points) == len(storage.show().ids) == 10
    assert len(storage.show().nodes) == 20
    assert len(storage.show().means) == len(storage.show().moments) == 0
    storage.make_room(10)
    assert len(storage.show().points) == 10  # nothing was used yet
    storage.make_room(11)
    assert len(storage.show().points) == 20
    bounded = Storage(empty_tree(2, 5, with_moments=True))
    bounded.make_room(1_000)
    assert len(bounded.show().points) == 6
    assert len(bounded.show().boxes) == len(bounded.show().means) == 11
    assert len(bounded.show().nodes) == 22
    assert len(bounded.show().ids) == 1_000


def test_copies_are_independent_and_have_no_spare_rows():
    tree = ClusterTree(2)
    tree.insert(np.random.default_rng(0).random((5, 2)))
    tree.insert(np.random.default_rng(1).random((2, 2)))
    assert len(tree._tree.points) == 10
    twin = copied(tree._tree)
    assert len(twin.points) == len(twin.ids) == 7
    twin.points[:] = 0
    tree.check()
