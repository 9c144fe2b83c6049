"""Columns of numbers and texts: every value comes back, missing ones as missing."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from perchtree import CorruptFileError
from perchtree.files.columns import column_names, pack, unpack
from perchtree.files.container import Reader, Section, write

pytestmark = pytest.mark.outer

# Each example waits for the disk, which is told to keep what is written.
quickly = settings(
    max_examples=max(15, settings.default.max_examples // 4),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Text of all characters, also those that are half of a pair and have no UTF-8.
texts = st.text(st.characters())
whole = st.integers(-(2**63), 2**63 - 1)


def again(tmp_path, column):
    path = tmp_path / "columns.perch"
    write(path, {"columns": Section({}, pack("c", column))})
    return unpack(Reader(path), "columns", "c")


@given(column=st.lists(texts | st.none()))
@example(column=["", None, "zwölf", "a\0b", "最後", "\ud800", "\udc00"])
@quickly
def test_texts(tmp_path, column):
    assert again(tmp_path, column) == column


@given(column=st.lists(whole, min_size=1))
@example(column=[-(2**63), 2**63 - 1])
@quickly
def test_whole_numbers(tmp_path, column):
    read = again(tmp_path, column)
    assert read.dtype == np.int64
    assert read.tolist() == column
    assert again(tmp_path, np.array(column)).tolist() == column


@given(column=st.lists(whole | st.none()).filter(lambda c: None in c))
@quickly
def test_whole_numbers_with_gaps(tmp_path, column):
    read = again(tmp_path, column)
    assert read == column
    assert all(type(value) in (int, type(None)) for value in read)


@given(column=st.lists(st.floats(), min_size=1))
@quickly
def test_floats(tmp_path, column):
    read = again(tmp_path, column)
    assert read.dtype == np.float64
    # Bit for bit, so that -0.0 and NaN count.
    assert read.tobytes() == np.array(column).tobytes()


@given(column=st.lists(st.floats() | st.none()).filter(lambda c: None in c))
@quickly
def test_floats_with_gaps(tmp_path, column):
    """NaN is a number, a gap is not."""
    read = again(tmp_path, column)
    assert [value is None for value in read] == [value is None for value in column]
    np.testing.assert_array_equal(
        [value for value in read if value is not None],
        [value for value in column if value is not None],
    )


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([], []),
        ([None, None], [None, None]),
        (np.array([], np.float32), []),
        ([True, False], [1, 0]),
        ([True, 0.5], [1.0, 0.5]),
        (np.array([True]), [1]),
        ([1, 0.5], [1.0, 0.5]),
        ([2**53 + 1, 0.5], ["9007199254740993", "0.5"]),
        ([2**63], ["9223372036854775808"]),
        (np.array([2**64 - 1], np.uint64), ["18446744073709551615"]),
        (np.array([7], np.uint64), [7]),
        ([np.int64(3), np.int64(4)], [3, 4]),
        ([1, "a", None], ["1", "a", None]),
        ((1, 2), [1, 2]),
        (np.array(["a", "bc"]), ["a", "bc"]),
        (np.array(["a", None], object), ["a", None]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.Series(["a", None]), ["a", None]),
        (pd.Series(["a", None], dtype="string"), ["a", None]),
        (pd.to_datetime(pd.Series(["2020-01-01", None])), ["2020-01-01 00:00:00", None]),
    ],
)
def test_what_columns_become(tmp_path, column, expected):
    read = again(tmp_path, column)
    assert list(read) == expected
    assert [type(value) for value in list(read)] == [type(value) for value in expected] or (
        read.dtype in (np.int64, np.float64)
    )


def test_names_of_columns(tmp_path):
    path = tmp_path / "columns.perch"
    columns = {"a": [1, None], "b": ["x"], "b.c": [2], "d": ["x", None]}
    arrays = {}
    for name, column in columns.items():
        arrays |= pack(name, column)
    write(path, {"columns": Section({}, arrays)})
    reader = Reader(path)
    assert sorted(column_names(reader, "columns")) == sorted(columns)
    for name, column in columns.items():
        assert list(unpack(reader, "columns", name)) == column
    for name in ("a.bytes", "a.ends", "a.gaps"):
        with pytest.raises(ValueError, match="choose a name without this ending"):
            pack(name, [1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"c.ends": None}, "only half of a column"),
        ({"c.bytes": None}, "only half of a column"),
        ({"c.ends": [3, 1, 2]}, "texts without an end"),
        ({"c.ends": [1, 2, 9]}, "texts without an end"),
        ({"c.ends": [-1, 1, 2]}, "texts without an end"),
        ({"c.ends": [1, 1, 1]}, "texts without an end"),
        ({"c.ends": [1.0, 1.0, 2.0]}, "another shape or type of 'c.ends'"),
        ({"c.ends": [[1, 1, 2]]}, "another shape or type of 'c.ends'"),
        ({"c.bytes": np.array([255, 255], np.uint8)}, "texts that are not UTF-8"),
        ({"c.gaps": np.array([0, 1], np.uint8)}, "missing values that make no sense"),
        ({"c.gaps": np.array([0, 2, 0], np.uint8)}, "missing values that make no sense"),
        ({"c.gaps": [0, 1, 0]}, "another shape or type of 'c.gaps'"),
        ({"c": np.zeros((3, 1))}, "another shape or type of 'c'"),
        ({"c": np.zeros(3, np.float32)}, "another shape or type of 'c'"),
    ],
)
def test_columns_that_make_no_sense(tmp_path, change, message):
    path = tmp_path / "columns.perch"
    changed = pack("c", ["a", None, "b"]) | change
    arrays = {name: np.asarray(array) for name, array in changed.items() if array is not None}
    write(path, {"columns": Section({}, arrays)})
    with pytest.raises(CorruptFileError, match=message):
        unpack(Reader(path), "columns", "c")
