"""Blocks of delimited lines parsed by pyarrow, several times as fast as record by record.

A block is taken only if it is certain that both parsers read the same: everything unusual, and
every error, is left to the parser in `delimited`, which names the line.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .lines import MAX_LINE, Lines
from .records import Block

WORTHWHILE = 2**21
"""Bytes of a file below which the import of pyarrow takes longer than it saves."""

_MOST_COLUMNS = 10_000
"""With more columns a block has so few rows that the cost per column outweighs the gain."""

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_BOM = b"\xef\xbb\xbf"


class Shape(NamedTuple):
    """What every record of a file looks like."""

    delimiter: str
    n_fields: int
    features: Sequence[int]
    """The places of the fields with features."""
    companions: Sequence[int]
    """The places of the fields with ids, classes and texts."""
    most_lines: int
    """Lines that one record may have."""


class ColumnarParser:
    """Parses blocks of lines, all records of which have the same shape."""

    @classmethod
    def for_lines(cls, lines: Lines, shape: "Shape") -> "ColumnarParser | None":
        """A parser for a file, if pyarrow is installed and likely to be faster."""
        if lines.size is None or lines.size < WORTHWHILE or shape.n_fields > _MOST_COLUMNS:
            return None
        if not set(shape.features).isdisjoint(shape.companions):  # as number and as text
            return None
        try:
            import pyarrow.csv
        except ImportError:
            return None
        return cls(pyarrow, shape)

    def __init__(self, pyarrow: Any, shape: "Shape") -> None:
        self._pa, self._shape = pyarrow, shape
        csv = pyarrow.csv
        self._names = [str(place) for place in range(shape.n_fields)]
        types = {str(place): pyarrow.string() for place in shape.companions}
        types |= {str(place): pyarrow.float64() for place in shape.features}
        self._conversion = csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=[]
        )
        self._parsing = csv.ParseOptions(delimiter=shape.delimiter, newlines_in_values=True)

    def parse(self, lines: Lines) -> tuple[Block | None, int]:
        """The records that come next; if there is None, they are to be read one by one.

        In that case the number is that of the line up to which this is so.
        """
        block = lines.next_block()
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == _NEWLINE)
        slow_until = lines.number + max(1, len(ends))
        found = _find_records(data, ends, ord(self._shape.delimiter))
        if found is None or not self._is_usual(block[: found.n_bytes], found):
            return None, slow_until
        parsed = self._parse(block[: found.n_bytes], found, lines.number)
        if parsed is None:
            return None, slow_until
        lines.skip(found.n_bytes, found.n_lines)
        return parsed, 0

    def _is_usual(self, block: memoryview, found: "_Found") -> bool:
        if len(block) > MAX_LINE or found.longest > self._shape.most_lines:
            return False
        data = bytes(block)
        if b"\0" in data or data.startswith(_BOM):
            return False
        if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
            return False
        try:
            return data.isascii() or bool(data.decode())
        except UnicodeDecodeError:
            return False

    def _parse(self, block: memoryview, found: "_Found", n_lines_before: int) -> Block | None:
        csv = self._pa.csv
        # One thread: how many there may be is the caller's choice, and a second gains little.
        reading = csv.ReadOptions(
            column_names=self._names, use_threads=False, block_size=max(64, len(block) + 1)
        )
        try:
            table = csv.read_csv(
                self._pa.BufferReader(self._pa.py_buffer(block)),
                reading, self._parsing, self._conversion,
            )  # fmt: skip
        except self._pa.ArrowException:
            return None
        if len(table) == 0 or len(table) != len(found.lines):
            return None
        X = np.empty((len(table), len(self._shape.features)))
        for column, place in enumerate(self._shape.features):
            # Not to_numpy, which imports pandas: that takes longer than many files.
            start = 0
            for chunk in table[str(place)].chunks:
                X[start : start + len(chunk), column] = np.from_dlpack(chunk)
                start += len(chunk)
        if not np.isfinite(X).all():  # rows with NaN are bad, and "nan(1)" is not even a number
            return None
        companions = [table[str(place)].to_pylist() for place in self._shape.companions]
        return Block(X, companions, n_lines_before + 1 + found.lines)


class _Found(NamedTuple):
    """Where the records of a block are."""

    n_bytes: int
    """Length of all whole records together."""
    n_lines: int
    lines: NDArray[np.int64]
    """The line at which each record begins, from 0; empty lines are not records."""
    longest: int
    """Lines of the longest record."""


def _find_records(
    data: NDArray[np.uint8], ends: NDArray[np.int64], delimiter: int
) -> _Found | None:
    """Find the whole records in some lines; None if there are none, or quotes are irregular."""
    quotes = np.flatnonzero(data == _QUOTE)
    last = np.arange(len(ends))  # of the ends of lines, those that end a record
    if len(quotes):
        before = np.searchsorted(quotes, ends)
        last = np.flatnonzero(before % 2 == 0)
        if len(last) == 0 or not _are_regular(data, quotes[: before[last[-1]]], delimiter):
            return None
    if len(last) == 0:
        return None
    stops = ends[last]
    starts = np.append(0, stops[:-1] + 1)
    lengths = stops - starts
    lengths -= (lengths > 0) & (data[stops - 1] == _RETURN)
    first_lines = np.append(0, last[:-1] + 1)
    return _Found(
        int(stops[-1]) + 1,
        int(last[-1]) + 1,
        first_lines[lengths > 0],
        int(np.max(last - first_lines)) + 1,
    )


def _are_regular(data: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: int) -> bool:
    """Whether quotes only open a field, close it, or are doubled within one."""
    opening, closing = quotes[::2], quotes[1::2]
    before = np.where(opening == 0, _NEWLINE, data[opening - 1])
    after = data[np.minimum(closing + 1, len(data) - 1)]
    return bool(
        np.isin(before, (_NEWLINE, _QUOTE, delimiter)).all()
        and np.isin(after, (_NEWLINE, _RETURN, _QUOTE, delimiter)).all()
    )
