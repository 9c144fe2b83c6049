"""Inputs of one record a line: how batches are made of records, whatever their format."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from .batches import Batch, Problem, Record
from .lines import Lines


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

    @property
    def feature_names(self) -> list[str] | None:
        return self._format.feature_names

    def finish(self) -> None:
        """Read no more of a stream: end after what has arrived."""
        self._lines.finish()

    def batches(self, n_rows: int) -> Iterator[Batch]:
        good: list[tuple[int, Record]] = []
        bad: list[Problem] = []
        for row, record in enumerate(self._format.records(self._lines)):
            if isinstance(record, Record):
                good.append((row, record))
            else:
                line, why = record
                bad.append(Problem(row, f"line {line}", why))
            if len(good) + len(bad) == n_rows or self._lines.must_wait:
                yield self._as_batch(good, bad)
                good, bad = [], []
        if good or bad:
            yield self._as_batch(good, bad)

    def _as_batch(self, good: list[tuple[int, Record]], bad: list[Problem]) -> Batch:
        records = [record for _, record in good]
        lines = {row: record.line for row, record in good}
        return Batch(
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
