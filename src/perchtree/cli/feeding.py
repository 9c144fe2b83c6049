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
_SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


class Stop:
    """Which signal has asked for an end, and what a signal does at the moment."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.drains = False
        """A stream is first brought to an end, so that no row that was read is lost, unless the
        signal comes again; work on anything else is interrupted."""
        self._deaf = False

    @property
    def asked(self) -> bool:
        return self.signal is not None

    def hear(self, number: int, _frame: Any) -> None:
        again, self.signal = self.asked, number
        if not self._deaf and (again or not self.drains):
            raise KeyboardInterrupt

    def end(self, number: int) -> None:
        """From now on signals change nothing: what is left to do is to save, and to say so."""
        self._deaf = True
        self.signal = self.signal or number

    def ignore(self) -> None:
        self._deaf = True

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Signals wait until this is done."""
        known, self._deaf = self.signal, True
        try:
            yield
        finally:
            self._deaf = False
        if self.signal is not known and not self.drains:
            raise KeyboardInterrupt


@contextlib.contextmanager
def listening() -> Iterator[Stop]:
    """Hear Ctrl-C, SIGTERM and SIGHUP, those of them that are not ignored already."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():  # only that one can
        yield stop
        return
    heard = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop.hear) for number in heard}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def arriving(source: TextSource, n_rows: int, stop: Stop) -> Iterator[Batch | None]:
    """Batches of a stream as they come; None, some times a second, when none does.

    They are read in a thread of their own: a checkpoint need not wait for the next line. When a
    stop is asked for, what was read is still handed out, and then it ends.
    """
    ready: queue.Queue[Batch | BaseException | None] = queue.Queue(1)

    def read() -> None:
        try:
            for batch in source.batches(n_rows):
                ready.put(batch)
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        if stop.asked:
            source.finish()
        try:
            item = ready.get(timeout=_POLL)
        except queue.Empty:
            # The reader waits; it may have rows that it could not hand out before.
            yield from source.collected()
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
        self._taken: tuple[Batch, int] | None = None
        """The last batch, and how many points there were before it."""
        self._saved_row: int | None = None

    @property
    def next_row(self) -> int:
        """The number of the first row that is not in the tree, and was not left out.

        It follows from the number of points, so it is right wherever a signal came.
        """
        if self._taken is None:
            return self._first_row
        batch, before = self._taken
        waiting = batch.rows[self._session.n_points - before :]
        if len(waiting):
            return int(waiting[0])
        last: list[int] = [*batch.rows[-1:].tolist(), *(p.row for p in batch.bad[-1:])]
        return max(last) + 1

    def run(self, stop: Stop) -> Fed:
        """Insert everything. After a signal, what was inserted is in the tree."""
        stop.drains = self._source.live
        try:
            self._feed(stop)
            stop.ignore()
        except KeyboardInterrupt:
            stop.end(signal.SIGINT)
        return Fed(self.next_row, self._bad, self._n_bad)

    def _feed(self, stop: Stop) -> None:
        source = self._source
        batches: Iterator[Batch | None] = iter(())
        if isinstance(source, TextSource) and source.live:
            batches = arriving(source, self._n_rows, stop)
        else:
            batches = skip_rows(source.batches(self._n_rows), self._first_row)
        try:
            for batch in batches:
                if batch is not None:
                    self._take(batch, stop)
                self._save_if_due(stop)
                self._show(batch)
        except InputError as error:
            raise InputError(f"{source.name}: {error}{self._what_was_saved()}") from None

    def _take(self, batch: Batch, stop: Stop) -> None:
        batch = self._session.checked(batch)
        # Once a stop was asked for, the last line may be cut; to save is what counts then.
        if batch.bad and not self._skip_bad and not stop.asked:
            problem = batch.bad[0]
            raise InputError(f"{problem.place} {problem.why}; --skip-bad leaves such rows out")
        self._taken = batch, self._session.n_points
        if len(batch.X):
            self._session.add(batch, self._source.feature_names)
        self._n_bad += len(batch.bad)
        self._bad += batch.bad[: _MOST_LISTED - len(self._bad)]

    def _save_if_due(self, stop: Stop) -> None:
        now = time.monotonic()
        if self._checkpoint is None or now - self._saved_at < self._checkpoint:
            return
        if self.next_row != self._saved_row and self._session.n_points:
            with stop.waiting():
                self._session.save()
                self._saved_row = self.next_row
        self._saved_at = time.monotonic()

    def _what_was_saved(self) -> str:
        if self._saved_row is None:
            return ""
        return (
            f" (the last checkpoint, up to row {self._saved_row}, is whole: `perch add "
            f"{self._session.path} ... --skip-rows {self._saved_row}` goes on from there)"
        )
