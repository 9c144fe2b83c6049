"""Operations on their way to disk: one transaction for all that wait."""

import collections
import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .._locks import Lead
from ..errors import ReadOnlyError
from .operations import PUT, Operation, last_operation
from .schema import move_log, plain_database_errors

Effects = Sequence[tuple[str, Sequence[tuple[Any, ...]]]]
"""Statements, each with the rows it is run for."""

_MOST_WAITING = 2**23
"""Bytes of operations that may wait, where nobody waits for them."""
_CHECKPOINT = 2**22
"""Bytes written to the log of the database until its pages are moved to their places. From then on
the log is written over: a commit takes two thirds of the time that it takes where the log grows."""


class Recorded(NamedTuple):
    """An operation that was done, and what it does to tables."""

    operation: Operation
    effects: Effects
    settled: Callable[[], None] = lambda: None
    """Called when it is on disk."""


class Journal:
    """Numbers operations, and commits them in order.

    Of all threads that wait for their operations, the first commits those of all; while that is on
    its way to disk, the operations of others gather for the next commit. If a write fails,
    nothing more is written: what was acknowledged is on disk, and the rest is rejected until the
    collection is opened again.
    """

    def __init__(self, connection: sqlite3.Connection, number: int, name: str) -> None:
        self.recorded = self.durable = number
        """The last operation that was recorded, and the last that is on disk."""
        self.tree_changes = 0
        """The tree's counter of changes after the last operation: a tree with another was changed
        without being recorded."""
        self._connection, self._name = connection, name
        self._waiting: collections.deque[tuple[int, Recorded]] = collections.deque()
        self._n_bytes = self._n_logged = 0
        self._lead = Lead()
        self._failure: BaseException | None = None

    def record(self, done: Sequence[Recorded]) -> list[int]:
        """Take operations that were done, which are committed together; their numbers.

        Callers do so one at a time, in the order of doing.
        """
        self.check()
        numbers = [self.recorded + 1 + place for place in range(len(done))]
        # An interruption in between leaves numbers that are given twice; but then the counter of
        # the tree is not noted either, and nothing more is recorded. (One call adds them all: no
        # commit can come between them.)
        self._waiting.extend(list(zip(numbers, done, strict=True)))
        self.recorded = numbers[-1]
        self._n_bytes += sum(len(recorded.operation.data) for recorded in done)
        if self._n_bytes > _MOST_WAITING:
            self.wait(self.recorded)
        return numbers

    def wait(self, number: int) -> None:
        """Return when an operation is on disk; ReadOnlyError if that has failed."""
        while self.durable < number:
            with self._lead.take(lambda: self.durable >= number) as mine:
                if mine:
                    self.check()
                    self._commit_all()

    @property
    def is_writable(self) -> bool:
        """Whether nothing has failed."""
        return self._failure is None

    def check(self) -> None:
        """Raise ReadOnlyError if nothing can be written any longer."""
        if self._failure is not None:
            why = str(self._failure) or type(self._failure).__name__
            raise ReadOnlyError(
                f"{self._name} is read-only since something failed ({why}): what was "
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
        self._failure = self._failure or error

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[sqlite3.Connection]:
        """The connection, for work that no commit may come into; errors make it read-only."""
        with plain_database_errors(self._name), self._lead.take():
            self.check()
            try:
                yield self._connection
            except BaseException as error:
                self.fail(error)
                self._roll_back()
                raise

    def close(self) -> None:
        """Commit what waits, unless something has failed."""
        with contextlib.suppress(ReadOnlyError):
            self.wait(self.recorded)

    def _commit_all(self) -> None:
        """Commit all that waits."""
        waiting = self._waiting
        batch = [waiting[place] for place in range(len(waiting))]  # others may add to it meanwhile
        n_bytes = self._n_bytes
        try:
            self._commit(batch)
            self._arrived(batch[-1][0])
            self._n_bytes -= n_bytes
            self._checkpoint(n_bytes + 2**13 * len(batch) + 2**14)
        except KeyboardInterrupt:  # wherever it came: all of the batch is in, or nothing
            self._roll_back()
            self._arrived(last_operation(self._connection) or self.durable)
            raise
        except Exception as error:
            self.fail(error)
            self._roll_back()
            if self.durable < batch[-1][0]:
                self.check()

    def _commit(self, batch: list[tuple[int, Recorded]]) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        for number, (operation, effects, _) in batch:
            execute(PUT, operation.as_row(number))
            for statement, rows in effects:
                self._connection.executemany(statement, rows)
        execute("COMMIT")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):  # what it would undo was never committed
                self._connection.execute("ROLLBACK")

    def _arrived(self, number: int) -> None:
        """Operations up to a number are on disk."""
        self.durable = max(self.durable, number)
        while self._waiting and self._waiting[0][0] <= self.durable:
            self._waiting.popleft()[1].settled()

    def _checkpoint(self, n_bytes: int) -> None:
        self._n_logged += n_bytes
        if self._n_logged > _CHECKPOINT:
            move_log(self._connection)
            self._n_logged = 0
