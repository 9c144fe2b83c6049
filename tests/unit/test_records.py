"""Records: keys, texts and classes by id, whatever ids there are."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree.collection.records import Records

pytestmark = pytest.mark.outer


def kept(*batches):
    """Records of batches (first id, columns), each checked and staged."""
    records, n_points = Records(), 0
    for first_id, columns in batches:
        n_rows = len(next(iter(columns.values())))
        records.stage(first_id, n_rows, records.checked(n_points, n_rows, **columns))
        n_points += n_rows
    return records


def test_columns_by_id():
    records = kept((0, {"keys": ["a", "b"], "texts": ["x", None]}), (2, {"keys": ["c"]}))
    ids = np.array([2, 0, 1])
    assert records.keys(ids).tolist() == ["c", "a", "b"]
    assert records.column("texts", ids) == [None, "x", None]
    assert records.column("classes", ids) is None
    assert records.column("texts", np.array([1, 2])) is None  # none of these has one
    assert "texts" in records
    assert "classes" not in records
    assert records.keys(ids.reshape(3, 1)).tolist() == [["c"], ["a"], ["b"]]


@pytest.mark.parametrize("ids", [[1, 0, 2], [0, 0, 2], [2, 2, 2], [0, 1, 2], [[0], [0], [2]]])
def test_as_many_ids_as_records(ids):
    """As in a question about as many neighbours as there are records, in any order."""
    records = kept((0, {"keys": ["a", "b", "c"], "texts": ["A", "B", "C"]}))
    ids = np.array(ids)
    assert records.keys(ids).tolist() == np.array(["a", "b", "c"])[ids].tolist()
    assert records.column("texts", ids.ravel()) == np.array(["A", "B", "C"])[ids.ravel()].tolist()


def test_ids_of_keys():
    records = kept((0, {"keys": ["a", "b"]}), (5, {"keys": ["c"]}))
    assert records.find(["c", "a", "c"]).tolist() == [5, 0, 5]
    for unknown in ("z", 0, None, ["a"], {}):
        assert records.find(["a", unknown]).tolist() == [0, -1]


def test_without_keys_ids_are_the_keys():
    records = kept((0, {"texts": ["x", "y"]}))
    ids = np.array([[1, 0]])
    assert records.kind is None
    assert records.keys(ids) is ids
    assert records.find([1, 0]).tolist() == [1, 0]
    with pytest.raises(ValueError, match="use their ids, which are whole numbers"):
        records.find(["a"])


@pytest.mark.parametrize("keys", [["x", "y", "z"], [5, 6, 7]])
def test_gaps_from_the_first_id_on(keys):
    """No point has the ids 0 to 2; further keys are of the kind that was given."""
    records = kept((3, {"keys": keys[:2]}), (9, {"keys": keys[2:]}))
    ids = np.array([3, 4, 9])
    assert records.kind is type(keys[0])
    assert records.keys(ids).tolist() == keys
    assert records.keys(ids).dtype == (np.int64 if type(keys[0]) is int else object)
    assert records.find(keys[::-1]).tolist() == [9, 4, 3]
    other = 8 if type(keys[0]) is str else "w"
    assert list(records.key_problems([other]))
    assert list(records.key_problems(keys[2:]))
    with pytest.raises(ValueError, match="some points have no keys"):
        records.keys(np.array([3, 5]))
    with pytest.raises(ValueError, match="some points have no keys"):
        records.keys(np.array([20]))


def test_what_was_staged_for_nothing_is_dropped():
    """An insert of three was interrupted after the first one: the other keys are free again."""
    records = kept((0, {"keys": ["a"]}), (1, {"keys": ["b", "c", "d"], "texts": ["B", "C", "D"]}))
    assert records.find(["d"]).tolist() == [3]
    records.drop_from(2)
    assert list(records.key_problems(["c", "d"])) == []
    assert records.find(["c"]).tolist() == [-1]
    records.stage(2, 1, records.checked(2, 1, keys=["d"]))
    assert records.find(["b", "d"]).tolist() == [1, 2]
    assert records.column("texts", np.arange(3)) == [None, "B", None]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"keys": ["a", "a"]}, "row 1 has 'a' again: keys must be unique"),
        ({"keys": ["k", "b"]}, "row 0 has 'k' again: keys must be unique"),
        ({"keys": ["b", 1]}, "row 1 has 1: keys must be all strings or all whole numbers"),
        ({"keys": [1, 2]}, "row 0 has 1: keys must be all strings"),
        ({"keys": [None, "b"]}, "row 0 has None: keys must be all strings"),
        ({"keys": ["\ud800", "b"]}, "cannot be saved as text"),
        ({"keys": ["b"]}, "1 keys for 2 rows"),
        ({"keys": "ab"}, "keys must be a list or an array, got 'ab'"),
        ({"keys": [["b"], ["c"]]}, "all strings or all whole numbers"),
        ({"keys": np.array([["b", "c"]])}, "keys must be a list or an array"),
        ({"keys": ["b", "c"], "texts": ["x"]}, "1 texts for 2 rows"),
        ({"keys": ["b", "c"], "classes": 5}, "classes must be a list or an array, got 5"),
        ({"keys": ["b", "c"], "classes": np.array(["2020", "2021"], "M8[s]")}, "not dates"),
        ({"texts": ["x", "y"]}, "earlier points have keys: give keys for these rows as well"),
    ],
)
def test_what_is_refused(columns, message):
    records = kept((0, {"keys": ["k"]}))
    with pytest.raises(ValueError, match=message):
        records.checked(1, 2, **columns)
    assert records.keys(np.array([0])).tolist() == ["k"]
    assert records.find(["k"]).tolist() == [0]


def test_either_all_keys_or_none():
    records = kept((0, {"texts": ["x"]}))
    with pytest.raises(ValueError, match="earlier points have no keys: give none, or start anew"):
        records.checked(1, 1, keys=["a"])
    assert records.checked(0, 1, keys=["a"]) == {"keys": ["a"]}


@pytest.mark.parametrize("key", [2**63, -(2**63) - 1])
def test_numbers_must_fit(key):
    with pytest.raises(ValueError, match="keys must fit 64 bits"):
        Records().checked(0, 1, keys=[key])


@pytest.mark.parametrize(
    "keys",
    [
        [1, 2],
        (1, 2),
        range(1, 3),
        np.array([1, 2], np.int32),
        [np.int64(1), np.uint8(2)],
        pd.Series([1, 2]),
        pd.Index([1, 2]),
    ],
)
def test_any_sequence(keys):
    columns = Records().checked(0, 2, keys=keys, classes=keys)
    assert columns == {"keys": [1, 2], "classes": [1, 2]}
    assert {type(value) for column in columns.values() for value in column} == {int}


@given(st.data())
def test_any_history(data):
    """Batches with gaps between their ids, some cut short: what a dictionary would say."""
    records, known, next_id = Records(), {}, 0
    for _ in range(data.draw(st.integers(1, 6))):
        next_id += data.draw(st.integers(0, 3))
        wanted = data.draw(st.lists(st.integers(0, 30), max_size=6))
        keys = [key for key in dict.fromkeys(wanted) if key not in known.values()]
        problems = {row for row, _ in records.key_problems(wanted)}
        assert [key for row, key in enumerate(wanted) if row not in problems] == keys
        if not keys:
            continue
        records.stage(next_id, len(keys), records.checked(len(known), len(keys), keys=keys))
        inserted = data.draw(st.integers(1, len(keys)))
        known |= dict(zip(range(next_id, next_id + inserted), keys, strict=False))
        next_id += inserted
        records.drop_from(next_id)
        ids = np.array(list(known))
        assert records.keys(ids).tolist() == list(known.values())
        assert records.find(list(known.values())).tolist() == list(known)


def test_what_is_forgotten_is_erased():
    records = kept((0, {"keys": ["a", "b", "c"], "texts": ["A", "B", "C"]}))
    assert records.find(["b"]).tolist() == [1]
    records.forget([1])
    assert records.find(["a", "b", "c"]).tolist() == [0, -1, 2]
    assert "B" not in repr(vars(records))
    records.stage(3, 1, records.checked(2, 1, keys=["b"], texts=["again"]))
    assert records.find(["b"]).tolist() == [3]
    assert records.column("texts", np.array([0, 2, 3])) == ["A", "C", "again"]
    assert records.n_keys == 3


def test_rows_with_new_keys_go_in_together():
    records = kept((0, {"keys": ["a", "b"]}))
    runs = list(records.runs(["x", "y", "a", "b", "z", "x", "w"], 7))
    assert [(part.start, part.stop) for part in runs] == [
        (0, 2),
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 6),
        (6, 7),
    ]
    assert list(records.runs(None, 3)) == [slice(0, 3)]
    assert list(records.runs([], 0)) == []


@given(st.data())
def test_find_after_any_operations(data):
    """Against a dictionary, whatever is staged, forgotten and dropped."""
    records, expected, next_id = Records(), {}, 0
    for _ in range(data.draw(st.integers(1, 12))):
        kind = data.draw(st.sampled_from(["stage", "forget", "drop", "find"]))
        if kind == "stage":
            new = data.draw(st.lists(st.integers(0, 9), unique=True, max_size=4))
            new = [key for key in new if key not in expected]
            next_id += data.draw(st.integers(0, 2))
            if new:
                records.stage(next_id, len(new), {"keys": list(new)})
                expected |= {key: next_id + place for place, key in enumerate(new)}
                next_id += len(new)
        elif kind == "forget" and expected:
            key = data.draw(st.sampled_from(sorted(expected)))
            records.forget([expected.pop(key)])
        elif kind == "drop":
            next_id = data.draw(st.integers(0, next_id))
            records.drop_from(next_id)
            expected = {key: point_id for key, point_id in expected.items() if point_id < next_id}
        if "keys" in records:
            found = records.find(list(range(10))).tolist()
            assert found == [expected.get(key, -1) for key in range(10)]
            assert records.n_keys == len(expected)
