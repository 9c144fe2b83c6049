"""What goes wrong amid compactions, commits and searches, step by step: nothing depends on time."""

import sqlite3
import threading

import pytest

from in_threads import PATIENCE, join, start
from kept import assert_same, filled, rows
from perchtree import Collection, CorruptFileError, ReadOnlyError
from perchtree.store import folder as folders

pytestmark = [pytest.mark.outer, pytest.mark.jit]


class Failing:
    """A connection that fails, with one of SQLite's errors, from a statement on."""

    def __init__(self, connection, at, error):
        self.connection, self.left, self.error = connection, at, error

    @property
    def in_transaction(self):
        return self.connection.in_transaction

    def execute(self, *given):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return self.connection.execute(*given)

    def executemany(self, *given):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return self.connection.executemany(*given)


def sqlite_error(kind, message, code):
    error = kind(message)
    error.sqlite_errorcode = code
    return error


LOCKED = sqlite_error(sqlite3.OperationalError, "database is locked", sqlite3.SQLITE_BUSY)
FULL = sqlite_error(sqlite3.OperationalError, "database or disk is full", sqlite3.SQLITE_FULL)
TORN = sqlite_error(
    sqlite3.DatabaseError, "database disk image is malformed", sqlite3.SQLITE_CORRUPT
)


@pytest.mark.parametrize("error", [LOCKED, FULL, TORN], ids=str)
def test_whatever_sqlite_says_amid_a_compaction_is_an_error_of_ours(path, tmp_path, error):
    people, same = filled(path), filled(tmp_path / "same.perchdb")
    for each in (people, same):
        each.remove(["k1"])
    at = 0
    while failed_to_compact(people, at, error):
        people._store.close()
        people = Collection.open(path, write=True)
        assert_same(people, same)
        at += 1
    assert at > 20  # each of its statements has failed once
    for each in (people, same):
        each.close()


def failed_to_compact(people, at, error):
    """Whether a compaction fails if SQLite does so at one of its statements, as it should."""
    journal = people._store.journal
    connection = journal._connection
    journal._connection = failing = Failing(connection, at, error)
    try:
        people.compact()
    except (OSError, CorruptFileError) as failure:
        told = str(failure)
    journal._connection = connection
    if failing.left >= 0:
        return False
    assert str(error) in told
    with pytest.raises(ReadOnlyError, match=str(error)):
        people.add([[1, 2, 3]], keys=["new"])
    return True


def test_a_change_is_acknowledged_though_the_compaction_after_it_fails(path, monkeypatch):
    monkeypatch.setattr(folders, "_COMPACT_ROWS", 10)
    people = filled(path)
    vacuum = people._store._sweep

    def failing(connection, number):
        return vacuum(Failing(connection, 0, FULL), number)

    monkeypatch.setattr(people._store, "_sweep", failing)
    people.remove([f"k{i}" for i in range(15)])
    with pytest.raises(ReadOnlyError, match="full"):
        people.remove(["k20"])
    people._store.close()
    with Collection.open(path, write=True) as again:  # which sweeps
        assert len(again) == 15
        again.remove(["k20"])
        again.verify()


def test_a_compaction_that_is_due_is_made_once(path, monkeypatch):
    """A thread that has seen that it is due, while another was making it, makes no second one."""
    monkeypatch.setattr(folders, "_COMPACT_ROWS", 10)
    people = filled(path)
    people.sync = False
    store = people._store
    compact, is_due = store.compact, store._is_compaction_due
    made, seen, others = [], threading.Barrier(3), []

    def seeing(tree):
        due = is_due(tree)
        if not people._locks.writing.is_mine:
            seen.wait(30)  # all three have seen that it is due before any of them begins
        return due

    def compacting(tree):
        made.append(threading.get_ident())
        return compact(tree)

    with people.lock():
        people.remove([f"k{i}" for i in range(15)])
        monkeypatch.setattr(store, "_is_compaction_due", seeing)
        monkeypatch.setattr(store, "compact", compacting)
        others = [threading.Thread(target=store.keep_up, args=(people.tree,)) for _ in range(2)]
        for other in others:
            other.start()
    for other in others:
        other.join(60)
        assert not other.is_alive()
    assert len(made) == 1
    people.close()


def test_a_warning_that_is_an_error_does_not_end_writing(path):
    people, reader = filled(path), Collection.open(path)
    people.remove(["k1"])
    with pytest.raises(UserWarning, match="a reader holds on"):  # as pytest has it
        people.compact()
    people.remove(["k2"])
    reader.close()
    assert people.compact()
    people.close()


def test_a_key_is_free_when_its_removal_has_arrived_during_a_look(path, monkeypatch):
    """The database is asked while a removal is on its way to it, and arrives before one looks at
    what is on its way."""
    people = filled(path)
    people.sync = False
    people.remove(["k1"])
    find = people.records._rows.find

    def slow(keys):
        found = find(keys)
        people.barrier()
        return found

    monkeypatch.setattr(people.records._rows, "find", slow)
    assert people.records.find(["k1", "k2"]).tolist() == [-1, 2]
    people.add(rows(1), keys=["k1"])
    people.close()


def test_a_search_that_fails_does_not_blame_the_query(path):
    people = filled(path)
    connection = people._store.rows._connection
    people._store.rows._connection = Failing(connection, 0, LOCKED)
    with pytest.raises(OSError, match="database is locked"):
        people.search("shared")
    people._store.rows._connection = connection
    with pytest.raises(ValueError, match="is not a query"):
        people.search('"')
    people.close()


def test_a_read_of_its_own_does_not_keep_the_disk_from_being_swept(path, monkeypatch):
    people = filled(path)
    people.remove(["k1"])
    store, move_log = people._store, folders.move_log
    has_begun, may_end = threading.Event(), threading.Event()

    def read():
        with store.rows.lock:
            asked = store.connection.execute("SELECT * FROM records")
            asked.fetchone()
            has_begun.set()
            may_end.wait(PATIENCE)
            asked.fetchall()

    def moved(connection):
        move_log(connection)
        may_end.set()  # just before the log is emptied

    monkeypatch.setattr(folders, "move_log", moved)
    threads = start(read)
    assert has_begun.wait(PATIENCE)
    assert people.compact()
    join(threads)
    people.close()
