"""Operations on their way to the disk: one transaction for all that wait."""

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import ReadOnlyError
from . import facts
from .operations import PUT, Operation

Effects = Sequence[tuple[str, Sequence[tuple[Any, ...]]]]
"""Statements, each with the rows it is run for."""

HEAD = "head"
"""The fact that names the last operation."""

_MOST_WAITING = 2**25
"""Bytes of operations that may wait; who brings more waits with them."""
_CHECKPOINT = 2**24
"""Bytes written to the log of the database until its pages are moved to their places."""


class _Waiting(NamedTuple):
    number: int
    operation: Operation
    effects: Effects
    settled: Callable[[], None]


class Journal:
    """Numbers operations, and commits them in order, in a thread of its own.

    No signal is handled in that thread, so nothing can interrupt a commit halfway in Python. While
    one commit is on its way to the disk, operations of any number of threads gather for the next.
    If a write fails, nothing more is written: what was acknowledged is on the disk, and the rest is
    refused until the collection is opened again.
    """

    def __init__(self, connection: sqlite3.Connection, number: int, name: str) -> None:
        self.recorded = self.durable = number
        """The last operation that was recorded, and the last that is on the disk."""
        self.tree_changes = 0
        """The tree's counter of changes after the last operation: a tree with another was changed
        without being recorded."""
        self._connection, self._name = connection, name
        self._waiting: list[_Waiting] = []
        self._n_bytes = self._n_logged = 0
        self._changed = threading.Condition()
        self._using = threading.Lock()
        self._closing = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="perchtree journal", daemon=True)
        self._thread.start()

    def record(
        self, operation: Operation, effects: Effects, settled: Callable[[], None] = lambda: None
    ) -> None:
        """Take an operation that was done; callers do so one at a time, in the order of doing.

        `settled` is called when it is on the disk.
        """
        self.check()
        with self._changed:
            self.recorded += 1
            self._waiting.append(_Waiting(self.recorded, operation, effects, settled))
            self._n_bytes += len(operation.data)
            full = self._n_bytes > _MOST_WAITING
            self._changed.notify_all()
        if full:
            self.wait(self.recorded)

    def wait(self, number: int) -> None:
        """Return when an operation is on the disk; ReadOnlyError if that has failed."""
        with self._changed:
            while self.durable < number:
                self.check()
                self._changed.wait()

    @property
    def is_writable(self) -> bool:
        """Whether nothing has failed."""
        return self._failure is None

    def check(self) -> None:
        """Raise ReadOnlyError if nothing can be written any more."""
        if self._failure is not None:
            raise ReadOnlyError(
                f"{self._name} is read-only since something failed ({self._failure}): what was "
                f"acknowledged, up to operation {self.durable}, is safe; mend the cause and open "
                "it again"
            )

    def check_tree(self, changes: int) -> None:
        """Raise ReadOnlyError, now and from now on, if a tree is not what was recorded."""
        if changes != self.tree_changes:
            self.fail(
                ValueError(
                    "the tree was changed without its collection, or an interruption has kept the "
                    "last change from being recorded"
                )
            )
        self.check()

    def fail(self, error: BaseException) -> None:
        """Write nothing more, because of an error."""
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[sqlite3.Connection]:
        """The connection, for work that no commit may come into; errors make it read-only."""
        with self._using:
            self.check()
            try:
                yield self._connection
            except BaseException as error:
                self.fail(error)
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Commit what waits, and stop."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if self._failure is not None or not self._waiting:
                    return
                batch, self._waiting, self._n_bytes = self._waiting, [], 0
            try:
                with self._using:
                    self._commit(batch)
            except BaseException as error:
                self.fail(error)
                return
            with self._changed:
                self.durable = batch[-1].number
                self._changed.notify_all()
            for waiting in batch:
                waiting.settled()
            try:
                with self._using:
                    self._checkpoint(batch)
            except BaseException as error:
                self.fail(error)
                return

    def _commit(self, batch: list[_Waiting]) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            for number, operation, effects, _ in batch:
                execute(PUT, operation.as_row(number))
                for statement, rows in effects:
                    self._connection.executemany(statement, rows)
            execute(facts.PUT, facts.fact(HEAD, facts.as_json(batch[-1].number)))
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise

    def _checkpoint(self, batch: list[_Waiting]) -> None:
        self._n_logged += sum(len(waiting.operation.data) + 2**13 for waiting in batch) + 2**14
        if self._n_logged > _CHECKPOINT:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._n_logged = 0
