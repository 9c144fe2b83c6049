"""Damaged folders: what is wrong is reported, and never served."""

import sqlite3
import warnings

import numpy as np
import pytest

from kept import ASTAR, arrays, filled, rows
from perchtree import (
    Collection,
    CorruptFileError,
)
from perchtree.store import folder as folders
from perchtree.store.folder import DATABASE

pytestmark = [pytest.mark.outer, pytest.mark.jit]


def test_damaged_snapshots_are_passed_over(path):
    people = filled(path)
    people.snapshot()
    people.add(rows(3, 9), keys=["x", "y", "z"])
    people.snapshot()
    expected = arrays(people)
    people.close()
    newest, older = sorted(path.glob("snapshot-*.perch"), reverse=True)
    for snapshot in (newest, older):
        content = bytearray(snapshot.read_bytes())
        content[len(content) // 2] ^= 16
        snapshot.write_bytes(content)
        with pytest.warns(UserWarning, match="a snapshot is left out"):
            again = Collection.open(path)
        for name, array in arrays(again).items():
            np.testing.assert_array_equal(array, expected[name])
        with pytest.raises(CorruptFileError), warnings.catch_warnings():
            again.verify()
        again.close()


def flipped_and_cut(whole, n):
    """So many damaged versions of a file: one bit flipped, or the end gone."""
    random = np.random.default_rng(0)
    for place in random.integers(0, len(whole), n).tolist():
        content = bytearray(whole)
        content[place] ^= 1 << int(random.integers(8))
        yield content
    for length in random.integers(0, len(whole), n // 5).tolist():
        yield whole[:length]


@pytest.mark.parametrize("n", [100, pytest.param(5000, marks=pytest.mark.slow)])
def test_damage_to_the_database_is_reported_and_never_served(path, n):
    filled(path, 60).close()
    database = path / DATABASE
    whole = database.read_bytes()
    with Collection.open(path) as people:
        expected = people.texts, list(people.keys), people.classes, arrays(people)
    reported = []
    for content in flipped_and_cut(whole, n):
        database.write_bytes(content)
        try:
            with Collection.open(path) as people:
                found = people.texts, list(people.keys), people.classes, arrays(people)
                assert found[:3] == expected[:3]
                for name, array in found[3].items():
                    np.testing.assert_array_equal(array, expected[3][name])
                people.verify()
        except (CorruptFileError, OSError) as error:
            reported.append(str(error))
    assert len(reported) > 5
    assert not [message for message in reported if "\n" in message]
    database.write_bytes(whole)
    Collection.open(path).close()


def test_a_damaged_table_is_reported_in_one_line(path):
    filled(path).close()
    database = path / DATABASE
    content = database.read_bytes()
    assert b"data BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (name, part)" in content
    database.write_bytes(
        content.replace(b"NULL, PRIMARY KEY (name, part)", b'NULL, PRIMARY KEY "name, part)')
    )
    with pytest.raises((CorruptFileError, OSError), match="malformed database schema") as raised:
        Collection.open(path)
    assert "\n" not in str(raised.value)


def test_a_damaged_full_text_index_is_found(path):
    """`integrity_check` of SQLite 3.40 does not look into it, and searches would miss records."""
    filled(path).close()
    with Collection.open(path) as people:
        people.verify()
    connection = sqlite3.connect(path / DATABASE)
    with connection:
        blocks = connection.execute("SELECT id, block FROM words_data").fetchall()
        place, block = max(blocks, key=lambda row: len(row[1]))
        changed = block.replace(b"hared", b"haret")
        assert changed != block
        connection.execute("UPDATE words_data SET block = ? WHERE id = ?", (changed, place))
    connection.close()
    with Collection.open(path) as people, pytest.raises(CorruptFileError, match="full-text index"):
        people.verify()


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"keys": [7, 8, 9]},
        {"keys": [7, 8, 9], "texts": ["one", None, "two"]},
        {"texts": ["one", None, "\ud800 half of a pair"]},
        {"keys": ["a", "b", "c"], "texts": [None, "zero\0byte", "two"]},
    ],
    ids=str,
)
def test_every_full_text_index_that_is_whole_passes(path, columns):
    """Records without a text, whose key is none, are not in it."""
    with Collection.open(path, write=True, **ASTAR) as people:
        people.add(rows(3), **columns)
        people.verify()
        people.remove(people.keys[1:2])
        people.verify()
        assert people.compact()
        people.verify()


def test_a_database_that_ends_before_a_snapshot_is_refused(path):
    """Whoever puts back an old database, or loses its log, must not get the tree of later days."""
    filled(path).close()
    old = (path / DATABASE).read_bytes()
    with Collection.open(path, write=True) as people:
        people.remove(["k1"])
        people.snapshot()
    (path / DATABASE).write_bytes(old)
    for write in (False, True):
        with pytest.raises(
            CorruptFileError, match=r"operation 1, and a snapshot is of operation 2"
        ):
            Collection.open(path, write=write)
    (path / "snapshot-2.perch").unlink()
    with Collection.open(path, write=True) as people:
        people.remove(["k2"])
        people.verify()
        assert "k1" in people.keys


def test_a_snapshot_made_while_a_reader_opens_is_newer_than_what_it_reads(path, monkeypatch):
    people = filled(path)
    begin = folders.Store._begin_reading

    def begin_reading(store):
        begin(store)
        if not store.writes and people.operation == 1:
            people.remove(["k1"])
            people.snapshot()

    monkeypatch.setattr(folders.Store, "_begin_reading", begin_reading)
    with Collection.open(path) as reader:
        assert (reader.operation, len(reader)) == (1, 30)
        assert (reader.refresh(), len(reader)) == (2, 29)
    people.close()


def test_a_damaged_answer_is_reported(path):
    with filled(path) as people:
        people.answer([("k0", "k1")], [True])
    stored = sqlite3.connect(path / DATABASE)
    stored.execute("UPDATE answers SET same = 0")
    stored.commit()
    stored.close()
    with pytest.raises(CorruptFileError, match="an answer is not as saved"):
        Collection.open(path)


def test_a_damaged_last_operation_is_reported(path):
    """Nothing but the operations says which is the last."""
    filled(path).close()
    for damage in ("number = 9", "about = '{}'"):
        database = sqlite3.connect(path / DATABASE)
        (kept,) = database.execute("SELECT * FROM operations").fetchall()
        database.execute(f"UPDATE operations SET {damage}")
        database.commit()
        for write in (False, True):
            with pytest.raises(CorruptFileError, match="last operation is not as saved"):
                Collection.open(path, write=write)
        database.execute("DELETE FROM operations")
        database.execute("INSERT INTO operations VALUES (?, ?, ?, ?, ?)", kept)
        database.commit()
        database.close()
    with Collection.open(path) as again:
        assert again.operation == 1
