"""The folder of a collection: who may write, what is opened, what is swept out."""

import contextlib
import errno
import os
import sqlite3
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from filelock import lock_descriptor

from ..clusters.following import Followed
from ..errors import CorruptFileError, ReadOnlyError
from ..files.contents import StoredTree
from ..files.locking import FileInUseError, lock_for_writing
from ..search.threads import has_room_for
from ..settings import Settings
from ..tree import ClusterTree
from . import facts as fact_table
from .copies import Copy
from .events import PUT_CLUSTER, PUT_EVENT, Events, as_cluster, as_event, forget_removed
from .facts import fact, read_facts
from .journal import Journal
from .maker import made_by
from .operations import last_operation, read_operations
from .pairs import ANSWER, CORRECT, as_answer, as_pair
from .replay import find_start, replay
from .rows import ADD, Record, Rows, as_row
from .schema import (
    connect,
    create_tables,
    exists_in,
    move_log,
    plain_errors,
    truncate_log,
    update_tables,
)
from .snapshots import remove_before, snapshots_in, sync_folder, write_snapshot
from .trees import base_operation, base_removed, removed_from, write_base

SUFFIX = ".perchdb"
DATABASE = "collection.sqlite"
_LOCK = "writer"

MADE_BY, SWEEP = "made_by", "sweep"
"""Facts: who has made the operations; whether a compaction has still to sweep."""

_SNAPSHOT_ROWS, _SNAPSHOT_SHARE = 5_000, 4
_CLOSING_ROWS, _CLOSING_SHARE = 1_000, 50
"""A snapshot is due after so many changes, and one in so many points; less when closing."""
_COMPACT_ROWS, _COMPACT_SHARE, _COMPACT_EVENTS = 10_000, 4, 10
"""Compaction is due after so many removals, one in so many points, and one in so many events of
standing clusters: it takes a look at all points, and writes all events anew."""


class Beginning(NamedTuple):
    """What a new folder holds."""

    facts: dict[str, bytes]
    stored: StoredTree | None = None
    records: Iterable[tuple[int, Record]] = ()
    pairs: Iterable[tuple[int, int, bool]] = ()
    answers: Iterable[tuple[int, int, bool | None, int]] = ()
    followed: Followed = Followed([], {}, [])
    """A standing clustering, and what has become of its clusters."""


class Store:
    """An open folder: the database for reading, and the journal for whoever writes.

    A reader stands at one operation, in a transaction that it holds open, until it refreshes.
    """

    def __init__(self, folder: Path, beginning: Beginning | None = None, *, write: bool) -> None:
        self.folder, self.name, self.writes = folder, str(folder), write
        self._held = contextlib.ExitStack()
        self._copying, self._filing = threading.Lock(), threading.Lock()
        """Of snapshots, and of whoever writes or removes their files. Who holds the second one asks
        for no lock of the tree: a compaction, which has those, waits for it."""
        self._compacted = 0
        """The operation of the last compaction by this process."""
        self._thread: threading.Thread | None = None
        self._journal: Journal | None = None
        self._at_snapshot = 0
        """How much had been done at the last snapshot; see `_amount`."""
        self._removed_at_base = 0
        try:
            with plain_errors(self.name):
                self._open(beginning)
        except BaseException:
            self.close()
            raise

    # Opening

    def _open(self, beginning: Beginning | None) -> None:
        if self.writes:
            self._take_lock()
            self._writer = connect(self.folder / DATABASE, write=True)
            self._held.callback(self._writer.close)
            if not exists_in(self._writer):
                if beginning is None:
                    raise FileNotFoundError(f"there is no collection in {self.name}")
                _begin(self._writer, beginning)
                sync_folder(self.folder)
            update_tables(self._writer)
            # What an earlier process could not sync is written again, as a whole.
            truncate_log(self._writer)
        elif not (self.folder / DATABASE).is_file():
            raise FileNotFoundError(f"there is no collection in {self.name}")
        never_begun = FileNotFoundError(
            f"there is no collection in {self.name}: it was never begun"
        )
        if (self.folder / f"{DATABASE}-journal").exists():  # only while the database is made
            raise never_begun
        self._reader = connect(self.folder / DATABASE, write=False)
        self._held.callback(self._reader.close)
        if not exists_in(self._reader):
            raise never_begun
        self.rows = Rows(self._reader, self.name)
        self.events = Events(self._reader, self.rows.lock, self.name)
        self._begin_reading()

    def _take_lock(self) -> None:
        if not self.folder.is_dir():
            os.mkdir(self.folder)
            sync_folder(self.folder.resolve().parent)
        lock = self.folder / _LOCK
        try:
            self._held.enter_context(lock_for_writing(lock))
        except FileInUseError:
            raise FileInUseError(
                f"{self.name} is being changed by another process: try again later"
            ) from None
        _refuse_empty_locks(lock.with_name(f".{_LOCK}.lock"), self.name)

    def _begin_reading(self) -> None:
        """See the present state; who only reads goes on seeing it."""
        if not self.writes:
            self._reader.execute("BEGIN")
        self.facts = read_facts(self._reader)
        self.operation = last_operation(self._reader) or base_operation(self.facts)
        """The last operation that is seen."""

    def load(self, settings: Settings) -> ClusterTree | None:
        """The tree after the last operation; None if there never was a point."""
        with plain_errors(self.name):
            self._refuse_lost()
            start = find_start(self.folder, self._reader, self.facts, self.operation)
            for problem in start.damaged:
                warnings.warn(f"a snapshot is left out: {problem}", stacklevel=3)
            self._at_snapshot = 0 if start.tree is None else _amount(start.tree)
            since = read_operations(self._reader, start.operation, self.operation)
            tree = replay(start.tree, since, settings)
        by = self.facts[MADE_BY].decode()
        if self.writes:
            self._journal = Journal(self._writer, self.operation, self.name)
            self._journal.tree_changes = 0 if tree is None else tree.changes
            self._removed_at_base = base_removed(self.facts)
        if by != made_by():
            warnings.warn(
                f"{self.name} was made by {by}: its tree of operation {start.operation} counts, "
                f"and {self.operation - start.operation:,} operations since were done again",
                stacklevel=3,
            )
            if self.writes:
                self.compact(tree)
        elif self.writes:
            self._sweep_leftovers()
        return tree

    def _refuse_lost(self) -> None:
        """Reject a database that ends before a snapshot which was made of it.

        Otherwise other operations would get the numbers of those that were lost, and the snapshot
        would be taken for theirs. (A reader may see a snapshot that is newer than what it reads.)
        """
        newest = max((number for number, _ in snapshots_in(self.folder)), default=0)
        if newest > self.operation:
            with contextlib.closing(connect(self.folder / DATABASE, write=False)) as present:
                last = last_operation(present) or base_operation(read_facts(present))
            if newest > last:
                raise CorruptFileError(
                    f"the database ends with operation {last:,}, and a snapshot is of operation "
                    f"{newest:,}: put back what was lost of the database (with its -wal file); or "
                    "remove the newer snapshots, to go on without it"
                )

    def refresh(self, tree: ClusterTree | None, settings: Settings) -> ClusterTree | None:
        """See what was done since, in a reader: the tree after it."""
        with plain_errors(self.name):
            before = self.operation
            self._reader.execute("COMMIT")
            self._begin_reading()
            if before < base_operation(self.facts):
                start = find_start(self.folder, self._reader, self.facts, self.operation)
                tree, before = start.tree, start.operation
            return replay(tree, read_operations(self._reader, before, self.operation), settings)

    def see(self, operation: int) -> None:
        """Look at the state after an operation that is on disk."""
        if self.writes:
            self._begin_reading()
        assert self.operation == operation

    # Writing

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            raise ReadOnlyError(
                f"{self.name} is open for reading only: open it with write=True to change it"
            )
        return self._journal

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection for reading."""
        return self._reader

    def snapshot(self, tree: ClusterTree) -> None:
        """Write a snapshot while others go on: they wait only for the last part of a copy."""
        journal = self.journal
        with self._copying:
            copy = Copy(tree)
            with tree.stored() as stored:
                journal.check_tree(tree.changes)
                number, amount = journal.recorded, _amount(tree)
                copied = copy.of(stored)
            journal.wait(number)
            with self._filing:
                if number < self._compacted:  # it may hold what was erased since
                    return
                try:
                    write_snapshot(self.folder, number, copied, made_by())
                except OSError as error:
                    journal.fail(error)
                    raise
            self._at_snapshot = amount

    def compact(self, tree: ClusterTree | None) -> bool:
        """Let replay begin with the present tree, and erase all that was removed before.

        False if a reader keeps the database from being swept: it is done when it is next opened.
        """
        journal = self.journal
        with contextlib.nullcontext() if tree is None else tree.stored() as stored:
            journal.check_tree(0 if tree is None else tree.changes)
            journal.wait(journal.recorded)
            with self._filing, journal.exclusive() as connection:
                number, by = journal.recorded, made_by()
                self._compacted = number
                connection.execute("BEGIN IMMEDIATE")
                write_base(connection, number, stored)
                connection.execute("DELETE FROM operations")
                forget_removed(connection, None if stored is None else stored.tree)
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
                for row in (fact(MADE_BY, by.encode()), fact(SWEEP, b"1")):
                    connection.execute(fact_table.PUT, row)
                connection.execute("COMMIT")
                self._removed_at_base = 0 if stored is None else removed_from(stored)
                is_swept = self._sweep(connection, number)
        self._report(is_swept)
        return is_swept

    def _sweep(self, connection: sqlite3.Connection, number: int) -> bool:
        """Erase from the disk what is in no table any longer; nothing else writes meanwhile."""
        remove_before(self.folder, number)
        connection.execute("VACUUM")
        move_log(connection)  # so that little is left to do while reads of this process wait
        with self.rows.lock:
            is_empty = truncate_log(connection)
        if not is_empty:
            return False
        connection.execute("DELETE FROM facts WHERE name = ?", (SWEEP,))
        return True

    def _report(self, is_swept: bool) -> None:
        """Warn of a reader that keeps the disk from being swept. Where warnings are errors, that
        must come when all else is done: an error amid it makes the collection read-only."""
        if not is_swept:
            warnings.warn(
                f"{self.name}: a reader holds on to an earlier state, so removed records are still "
                "in the log of the database; compact again when it has refreshed or closed",
                stacklevel=4,
            )

    def _sweep_leftovers(self) -> None:
        base = base_operation(self.facts)
        if SWEEP in self.facts:
            with self.journal.exclusive() as connection:
                is_swept = self._sweep(connection, base)
            self._report(is_swept)
        else:
            remove_before(self.folder, base)

    def keep_up(self, tree: ClusterTree) -> None:
        """Compact, or begin a snapshot, if it is time to.

        The change that was made before is on disk, whether or not this succeeds. A failure makes
        the collection read-only, and whoever changes it next is told why.
        """
        n_points, done = tree.n_points, _amount(tree) - self._at_snapshot
        with contextlib.suppress(OSError):
            if self._is_compaction_due(tree):
                with tree.stored():
                    if self._is_compaction_due(tree):  # another thread may have been first
                        self.compact(tree)
                return
        if done > max(_SNAPSHOT_ROWS, n_points // _SNAPSHOT_SHARE) and (
            (self._thread is None or not self._thread.is_alive()) and has_room_for(1)
        ):
            thread = threading.Thread(
                target=self._snapshot_aside, args=(tree,), name="perchtree snapshot", daemon=True
            )
            with contextlib.suppress(RuntimeError):  # no memory for a thread: next time, perhaps
                thread.start()
                self._thread = thread

    def _is_compaction_due(self, tree: ClusterTree) -> bool:
        n_points = tree.n_points
        removed = tree.next_id - n_points - self._removed_at_base
        if removed <= max(_COMPACT_ROWS, n_points // _COMPACT_SHARE):
            return False
        return removed > self.events.last() // _COMPACT_EVENTS

    def _snapshot_aside(self, tree: ClusterTree) -> None:
        # A failure makes the collection read-only: whoever changes it next is told why.
        # Without memory for it, there is none; the next one may have more luck.
        with contextlib.suppress(OSError, MemoryError, RuntimeError):
            self.snapshot(tree)

    # Closing

    def finish(self, tree: ClusterTree | None) -> None:
        """Wait for all that was recorded, and leave a snapshot if replay would take long."""
        if self._journal is None:
            return
        if self._thread is not None:
            self._thread.join()
        self._journal.wait(self._journal.recorded)
        if tree is not None and self._journal.is_writable:
            done = _amount(tree) - self._at_snapshot
            if done > max(_CLOSING_ROWS, tree.n_points // _CLOSING_SHARE):
                self.snapshot(tree)

    def close(self) -> None:
        """Let go of the folder."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        self._held.close()


def _begin(connection: sqlite3.Connection, beginning: Beginning) -> None:
    """Make the tables and fill them, all in one step."""
    connection.execute("BEGIN IMMEDIATE")
    create_tables(connection)
    for name, value in (beginning.facts | {MADE_BY: made_by().encode()}).items():
        connection.execute(fact_table.PUT, fact(name, value))
    write_base(connection, 0, beginning.stored)
    connection.executemany(ADD, (as_row(*record) for record in beginning.records))
    connection.executemany(CORRECT, (as_pair(*pair) for pair in beginning.pairs))
    connection.executemany(ANSWER, (as_answer(*answer) for answer in beginning.answers))
    changes, anchors, _ = beginning.followed
    connection.executemany(PUT_CLUSTER, (as_cluster(*pair) for pair in anchors.items()))
    connection.executemany(PUT_EVENT, (as_event(change) for change in changes))
    connection.execute("COMMIT")


def _amount(tree: ClusterTree) -> int:
    """How many points were ever added and removed."""
    return 2 * tree.next_id - tree.n_points


def _refuse_empty_locks(lock: Path, name: str) -> None:
    """Reject a file system that grants everybody the lock that we hold."""
    descriptor = os.open(lock, os.O_RDWR)
    try:
        if lock_descriptor(descriptor, blocking=False):
            raise OSError(
                errno.ENOLCK, "locks do not work on this file system: keep it on a local disk", name
            )
    finally:
        os.close(descriptor)
