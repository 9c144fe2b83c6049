"""Text inputs: how records are gathered into batches, whatever their format."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .batches import MAX_BATCH, Batch, Problem, Record, join_texts
from .lines import NOT_TEXT, Lines


class Block(NamedTuple):
    """Records that were parsed together, all of them good."""

    X: NDArray[np.float64]
    companions: list[list[Any]]
    lines: NDArray[np.int64]
    """The line at which each record begins."""

    def split(self, n_records: int) -> "tuple[Block, Block]":
        """The first records, and the others."""
        first, other = slice(n_records), slice(n_records, None)
        return (
            Block(self.X[first], [c[first] for c in self.companions], self.lines[first]),
            Block(self.X[other], [c[other] for c in self.companions], self.lines[other]),
        )


Parsed = Record | Block | tuple[int, str]
"""A record, a block of them, or the line of a bad record and what is wrong with it."""


class Format(Protocol):
    """A way to write records as lines of text."""

    feature_names: list[str] | None
    companions: Sequence[str]
    """What the records have besides features, in the order of `COMPANIONS`."""

    def records(self, lines: Lines) -> Iterator[Parsed]:
        """All records, in order."""
        ...


class TextSource:
    """A file or stream of records."""

    def __init__(self, name: str, lines: Lines, form: Format) -> None:
        self.name, self._lines, self._format = name, lines, form
        self.live, self.size = lines.live, lines.size
        self._gathered = _Gathered(0)
        self._lock = threading.Lock()

    @property
    def feature_names(self) -> list[str] | None:
        return self._format.feature_names

    def finish(self) -> None:
        """Stop reading a stream: end after what has arrived."""
        self._lines.finish()

    def batches(self, n_rows: int) -> Iterator[Batch]:
        for parsed in self._format.records(self._lines):
            waiting: Parsed | None = parsed
            if self._lines.take_undecodable() and not isinstance(parsed, Block):
                waiting = (parsed.line if isinstance(parsed, Record) else parsed[0]), NOT_TEXT
            while waiting is not None:
                with self._lock:
                    waiting = self._gathered.add(waiting, n_rows)
                    full = self._gathered.is_full(n_rows)
                if full or self._lines.must_wait:
                    yield from self.collected()
        yield from self.collected()

    def collected(self) -> Iterator[Batch]:
        """What has arrived and was not yielded yet; another thread may ask while one reads."""
        with self._lock:
            gathered = self._gathered
            self._gathered = _Gathered(gathered.next_row)
        if gathered.n_rows:
            yield gathered.as_batch(self._format.companions, self._lines.done)


class _Gathered:
    """Records on their way into one batch."""

    def __init__(self, first_row: int) -> None:
        self.n_rows, self.next_row = 0, first_row
        self._n_bytes = 0
        self._records: list[Record] = []
        """Good records since the last block."""
        self._blocks: list[Block] = []
        self._rows: list[int] = []
        self._bad: list[Problem] = []

    def is_full(self, n_rows: int) -> bool:
        return self.n_rows >= n_rows or self._n_bytes >= MAX_BATCH

    def add(self, parsed: Parsed, n_rows: int) -> Block | None:
        """Add what fits into a batch of `n_rows` rows; return the part of a block that does not."""
        left = None
        n_new = 1
        if isinstance(parsed, Block):
            parsed, other = parsed.split(n_rows - self.n_rows)
            left = other if len(other.X) else None
            n_new = len(parsed.X)
            self._close_records()
            self._blocks.append(parsed)
            self._n_bytes += parsed.X.nbytes + sum(map(_n_characters, parsed.companions))
            self._rows += range(self.next_row, self.next_row + n_new)
        elif isinstance(parsed, Record):
            self._records.append(parsed)
            self._rows.append(self.next_row)
            self._n_bytes += 8 * len(parsed.values) + _n_characters(parsed.companions)
        else:
            line, why = parsed
            self._bad.append(Problem(self.next_row, f"line {line}", why))
        self.n_rows += n_new
        self.next_row += n_new
        return left

    def as_batch(self, kinds: Sequence[str], done: int) -> Batch:
        self._close_records()
        blocks = self._blocks
        rows = np.array(self._rows, np.int64)
        lines = np.concatenate([block.lines for block in blocks] or [rows])
        X = blocks[0].X if len(blocks) == 1 else np.empty((0, 1))
        if len(blocks) > 1:
            X = np.concatenate([block.X for block in blocks])
        companions = {
            kind: [value for block in blocks for value in block.companions[place]]
            for place, kind in enumerate(kinds)
        }
        return Batch(
            X,
            join_texts(companions),
            rows,
            lambda row: f"line {lines[np.searchsorted(rows, row)]}",
            self._bad,
            done,
        )

    def _close_records(self) -> None:
        """Make a block of the records gathered one by one."""
        records, self._records = self._records, []
        if not records:
            return
        values = bytearray().join(record.values for record in records)
        self._blocks.append(
            Block(
                np.frombuffer(values).reshape(len(records), len(records[0].values)),
                [list(column) for column in zip(*(r.companions for r in records), strict=True)],
                np.array([record.line for record in records], np.int64),
            )
        )


def _n_characters(values: list[Any]) -> int:
    return sum(len(value) for value in values if isinstance(value, str))
