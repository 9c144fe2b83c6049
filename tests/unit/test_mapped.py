"""Arrays in files: written to in memory only, grown without being read, and let go of."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perchtree import ClusterTree, _mapped, _system
from perchtree._arrays import Growing, used_rows
from perchtree._mapped import Mapped

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="maps memory at addresses")

WIDTH = 100  # rows of 400 bytes: they begin anywhere on a page


def file_of(path, n_rows, place=64):
    rows = np.random.default_rng(0).random((n_rows, WIDTH)).astype(np.float32)
    path.write_bytes(b"\xff" * place + rows.tobytes() + b"\xff" * 5000)
    return rows


def mapped_in(path, n_rows, place=64):
    with path.open("rb") as file:
        return Mapped.of(file, place, (n_rows, WIDTH), np.dtype(np.float32))


steps = st.lists(
    st.tuples(st.sampled_from(["write", "grow", "let go", "read"]), st.integers(0, 400)),
    max_size=12,
)


@given(place=st.sampled_from([0, 64, 4032, 4096, 8200]), n_rows=st.integers(1, 300), steps=steps)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_behaves_as_an_array_in_memory(tmp_path, place, n_rows, steps):
    """Whatever is written, let go of and grown, also past the end of the file."""
    path = tmp_path / "rows"
    expected = file_of(path, n_rows, place)
    before = path.read_bytes()
    growing = Growing(mapped_in(path, n_rows, place))
    array, views = growing.array, []
    for what, number in steps:
        array = growing.array
        if what == "write":
            array[number % len(array)] = expected[number % len(array)] = number
        elif what == "let go":
            Mapped.behind(array).let_go()
        elif what == "grow":
            views.append((array, expected))
            growing.grow(len(array) + number + 1, len(array))
            expected = np.concatenate([expected, np.zeros((number + 1, WIDTH), np.float32)])
        assert np.array_equal(growing.array, expected)
    del growing, array
    gc.collect()
    for view, seen in views:
        assert np.array_equal(view, seen[: len(view)])
    assert path.read_bytes() == before


def test_only_what_was_written_is_copied_to_grow(tmp_path):
    n_rows = 40_000
    rows = file_of(tmp_path / "rows", n_rows)
    growing = Growing(mapped_in(tmp_path / "rows", n_rows))
    growing.array[[3, 20_000]] = 7
    growing.grow(2 * n_rows, n_rows)
    copied = np.count_nonzero(Mapped.behind(growing.array)._written())
    assert 2 <= copied <= 5  # two rows, which may be on two pages each, and the end of the file
    rows[[3, 20_000]] = 7
    assert np.array_equal(growing.array[:n_rows], rows)


def test_pages_that_were_read_are_let_go_of(tmp_path, monkeypatch):
    n_rows = 40_000  # 16 MB
    rows = file_of(tmp_path / "rows", n_rows)
    array = mapped_in(tmp_path / "rows", n_rows)
    array[5] = 1
    rows[5] = 1
    before = _system.resident_file_bytes()
    assert np.array_equal(array, rows)
    assert _system.resident_file_bytes() - before > rows.nbytes / 2
    Mapped.behind(array[3:]).have_read()
    assert _system.resident_file_bytes() - before < rows.nbytes / 4
    assert np.array_equal(array, rows)  # what was written is not in the file


def test_without_a_map_of_pages_all_may_have_been_written(tmp_path, monkeypatch):
    """Nothing is let go of then, and everything copied."""
    rows = file_of(tmp_path / "rows", 300)
    array = mapped_in(tmp_path / "rows", 300)
    array[0] = rows[0] = 3
    monkeypatch.setattr(_mapped, "_PAGES", str(tmp_path / "nothing"))
    Mapped.behind(array).let_go()
    assert np.array_equal(array, rows)
    larger = Mapped.behind(array).grown(400, 300)
    assert np.array_equal(larger[:300], rows)
    assert not larger[300:].any()


def test_memory_that_cannot_be_had(tmp_path):
    rows = file_of(tmp_path / "rows", 10)
    growing = Growing(mapped_in(tmp_path / "rows", 10))
    with pytest.raises(MemoryError, match="cannot map"):
        growing.grow(2**50, 10)
    assert np.array_equal(growing.array, rows)


@pytest.mark.jit
@pytest.mark.parametrize("mode", [{"search": "cells"}, {}, {"linkage": "box", "search": "astar"}])
def test_a_mapped_tree_is_the_same_tree(tmp_path, mode, monkeypatch):
    """Through inserts, copies, removals and questions, however often pages are let go of."""
    monkeypatch.setattr("perchtree.search.cells.SMALLEST_TREE", 64)
    monkeypatch.setattr(_mapped, "_RESIDENT", 2**40)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 40)).astype(np.float32)
    tree = ClusterTree(40, **mode)
    tree.insert(X[:300])
    path = tmp_path / "tree.perch"
    tree.save(path)
    content = path.read_bytes()
    mapped = ClusterTree.load(path, mmap=True)
    for each in (tree, mapped):
        each.insert(X[290:400])  # ten copies
        each.remove(np.arange(0, 300, 3))
        each.insert(X[400:])
    for exact in (True, False):
        for one, other in zip(
            tree.nearest(X[:50], 3, exact=exact),
            mapped.nearest(X[:50], 3, exact=exact),
            strict=True,
        ):
            assert np.array_equal(one, other)
    assert np.array_equal(tree.cut(), mapped.cut())
    assert Mapped.behind(mapped._tree.points) is not None
    theirs = dict(used_rows(mapped._tree))
    for name, array in used_rows(tree._tree):
        assert np.array_equal(array, theirs[name]), name
    mapped.check()
    assert path.read_bytes() == content
    tree.save(tmp_path / "one.perch")
    mapped.save(tmp_path / "other.perch")
    assert (tmp_path / "one.perch").read_bytes() == (tmp_path / "other.perch").read_bytes()
