"""From an input into a tree: batch after batch, with checkpoints, through interruptions."""

import contextlib
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..inputs.batches import Batch, InputError, Problem, Source, skip_rows
from ..inputs.records import TextSource
from .session import Session

_POLL = 0.2
_MOST_LISTED = 20


class Stop:
    """What a signal has asked for."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @property
    def asked(self) -> bool:
        return self.signal is not None


@contextlib.contextmanager
def listening(*, live: bool) -> Iterator[Stop]:
    """Hear Ctrl-C and SIGTERM. They interrupt work on a file; a stream is first brought to an end,
    so that no row that was read is lost, unless the signal comes again."""
    stop = Stop()

    def hear(number: int, _frame: Any) -> None:
        again = stop.asked
        stop.signal = number
        if again or not live:
            raise KeyboardInterrupt

    with handling(hear):
        yield stop


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Signals wait until the end: for saving."""
    came: list[int] = []
    with handling(lambda number, _frame: came.append(number)):
        yield
    for number in came:
        signal.raise_signal(number)


@contextlib.contextmanager
def handling(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM for a while; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.signal(n, handler) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def arriving(
    batches: Iterator[Batch], stop: Stop, finish: Callable[[], None]
) -> Iterator[Batch | None]:
    """Batches of a stream as they come; None, some times a second, when none does.

    They are read in a thread of their own: a checkpoint need not wait for the next line. When a
    stop is asked for, what was read is still handed out, and then it ends.
    """
    ready: queue.Queue[Batch | BaseException | None] = queue.Queue(1)

    def read() -> None:
        try:
            for batch in batches:
                ready.put(batch)
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        if stop.asked:
            finish()
        try:
            item = ready.get(timeout=_POLL)
        except queue.Empty:
            if stop.asked:
                return
            yield None
            continue
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return
        yield item


class Fed(NamedTuple):
    """What came of an input."""

    n_rows: int
    """Rows that were read: the next one has this number."""
    bad: list[Problem]
    """The first of the rows that were left out."""
    n_bad: int
    stopped_by: int | None
    """A signal, if one ended it."""


class Feeder:
    """Brings an input into a tree."""

    def __init__(
        self,
        session: Session,
        source: Source,
        *,
        n_rows: int,
        first_row: int = 0,
        skip_bad: bool = False,
        checkpoint: float | None = None,
        show: Callable[[Batch | None], None] = lambda _batch: None,
    ) -> None:
        self._session, self._source, self._n_rows = session, source, n_rows
        self._first_row, self._skip_bad = first_row, skip_bad
        self._checkpoint, self._show = checkpoint, show
        self._saved_at = time.monotonic()
        self._bad: list[Problem] = []
        self._n_bad = 0
        self._next_row = first_row
        self.saved_row: int | None = None
        """Up to which row the last checkpoint goes."""

    def run(self) -> Fed:
        """Insert everything. After a signal, what was inserted is in the tree."""
        with listening(live=self._source.live) as stop:
            try:
                self._feed(stop)
            except KeyboardInterrupt:
                stop.signal = stop.signal or signal.SIGINT
        return Fed(self._next_row, self._bad, self._n_bad, stop.signal)

    def _feed(self, stop: Stop) -> None:
        source = self._source
        every = skip_rows(source.batches(self._n_rows), self._first_row)
        batches: Iterator[Batch | None] = every
        if isinstance(source, TextSource) and source.live:
            batches = arriving(every, stop, source.finish)
        try:
            for batch in batches:
                if batch is not None:
                    self._take(batch)
                self._save_if_due()
                self._show(batch)
        except InputError as error:
            raise InputError(f"{self._source.name}: {error}{self._what_was_saved()}") from None

    def _take(self, batch: Batch) -> None:
        batch = self._session.checked(batch)
        if batch.bad and not self._skip_bad:
            problem = batch.bad[0]
            raise InputError(f"{problem.place} {problem.why}; --skip-bad leaves such rows out")
        before = self._session.n_points
        try:
            if len(batch.X):
                self._session.add(batch, self._source.feature_names)
        finally:  # a signal may have come at any point
            waiting = batch.rows[self._session.n_points - before :]
            last = [*batch.rows[-1:].tolist(), *(problem.row for problem in batch.bad[-1:])]
            self._next_row = int(waiting[0]) if len(waiting) else max(last) + 1
            bad = [problem for problem in batch.bad if problem.row < self._next_row]
            self._n_bad += len(bad)
            self._bad += bad[: _MOST_LISTED - len(self._bad)]

    def _save_if_due(self) -> None:
        now = time.monotonic()
        if self._checkpoint is None or now - self._saved_at < self._checkpoint:
            return
        if self._next_row != self.saved_row and self._session.n_points:
            with undisturbed():
                self._session.save()
            self.saved_row = self._next_row
        self._saved_at = time.monotonic()

    def _what_was_saved(self) -> str:
        if self.saved_row is None:
            return ""
        return (
            f" (the last checkpoint, up to row {self.saved_row}, is whole: "
            f"`perch add {self._session.path} ... --skip-rows {self.saved_row}` goes on from there)"
        )
