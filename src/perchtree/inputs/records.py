"""Inputs of one record a line: how batches are made of records, whatever their format."""

import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from .batches import Batch, Problem, Record
from .lines import NOT_TEXT, Lines


class Format(Protocol):
    """How lines are read."""

    feature_names: list[str] | None
    companions: Sequence[str]
    """What the records have beside values, of `COMPANIONS`."""

    def records(self, lines: Lines) -> Iterator[Record | tuple[int, str]]:
        """Records; for a bad one its line and what is wrong."""
        ...


class TextSource:
    """A file or stream of records."""

    def __init__(self, name: str, lines: Lines, form: Format) -> None:
        self.name, self._lines, self._format = name, lines, form
        self.live, self.size = lines.live, lines.size
        self._good: list[tuple[int, Record]] = []
        self._bad: list[Problem] = []
        self._lock = threading.Lock()

    @property
    def feature_names(self) -> list[str] | None:
        return self._format.feature_names

    def finish(self) -> None:
        """Read no more of a stream: end after what has arrived."""
        self._lines.finish()

    def batches(self, n_rows: int) -> Iterator[Batch]:
        for row, record in enumerate(self._format.records(self._lines)):
            undecodable = self._lines.take_undecodable()
            with self._lock:
                if isinstance(record, Record) and not undecodable:
                    self._good.append((row, record))
                else:
                    line, why = (record.line, "") if isinstance(record, Record) else record
                    self._bad.append(Problem(row, f"line {line}", NOT_TEXT if undecodable else why))
                full = len(self._good) + len(self._bad) >= n_rows
            if full or self._lines.must_wait:
                yield from self.collected()
        yield from self.collected()

    def collected(self) -> Iterator[Batch]:
        """What has arrived and was not handed out yet; while a reader waits, for another thread."""
        with self._lock:
            good, bad = self._good, self._bad
            self._good, self._bad = [], []
        if not good and not bad:
            return
        records = [record for _, record in good]
        lines = {row: record.line for row, record in good}
        yield Batch(
            np.array([record.values for record in records]) if records else np.empty((0, 1)),
            {
                kind: [record.companions[place] for record in records]
                for place, kind in enumerate(self._format.companions)
            },
            np.array([row for row, _ in good], np.int64),
            lambda row: f"line {lines[row]}",
            bad,
            self._lines.done,
        )
