"""Comma- and tab-separated values, and the data files of the authors' program."""

import csv
from array import array
from collections.abc import Iterator, Sequence

from ..inert import short_name
from .batches import Columns, InputError, Record, check_unique
from .columnar import ColumnarParser, Shape
from .lines import MAX_LINE, Lines, check_fields
from .records import Parsed

csv.field_size_limit(2**31 - 1)  # a text may be long

INDEX = "index"
"""The name given to a first column without one, which is how pandas writes its index."""

_MOST_LINES = 1000
"""Lines that one record may have; with more, a quote was not closed."""


class Delimited:
    """Records of fields; the first names the columns, unless `has_header` is False.

    Large files are parsed in blocks, if pyarrow is installed. Whatever is unusual there is read
    record by record, so that results and errors are the same with and without it.
    """

    def __init__(
        self, lines: Lines, delimiter: str, columns: Columns, has_header: bool | None
    ) -> None:
        self._lines, self._delimiter = lines, delimiter
        self._reader = csv.reader(self._limited(lines), delimiter=delimiter, strict=True)
        self._record_start = 0
        try:
            line, first = self._next_record()
        except _BadLine as bad:
            raise InputError(f"line {bad.line} cannot be split into fields: {bad.why}") from None
        self._waiting = [] if has_header is not False else [(line, first)]
        if has_header is False:
            names = [f"c{number}" for number in range(1, len(first) + 1)]
            columns = columns._replace(known=())
        else:
            names = self._as_names(line, first, columns, has_header)
        named = columns.companions(names)
        self.feature_names: list[str] | None = columns.pick_features(names)
        self._names = names
        places = {name: place for place, name in enumerate(names)}
        self.companions: Sequence[str] = list(named)
        self._companion_places = [places[name] for name in named.values()]
        self._feature_places = [places[name] for name in self.feature_names]
        shape = Shape(
            delimiter, len(names), self._feature_places, self._companion_places, _MOST_LINES
        )
        self._columnar = ColumnarParser.for_lines(lines, shape)

    def _limited(self, lines: Lines) -> Iterator[str]:
        length = 0
        for text in lines:
            n_lines = lines.number - self._record_start
            length = len(text) + (length if n_lines > 1 else 0)
            if n_lines > _MOST_LINES:
                raise InputError(self._unclosed())
            if length > MAX_LINE:
                raise InputError(
                    f"the record at line {self._record_start + 1} is longer than "
                    f"{MAX_LINE >> 20} MB: close its quotes, or shorten it"
                )
            check_fields(text, self._delimiter, lines.number)
            yield text

    def _unclosed(self) -> str:
        return f"line {self._record_start + 1} has a quote that is not closed: close or remove it"

    def _next_record(self) -> tuple[int, list[str]]:
        """The next record that is not blank, and its first line; no fields at the end."""
        while True:
            self._record_start = self._lines.number
            try:
                fields = next(self._reader, None)
            except csv.Error as error:
                swallowed = self._lines.number - self._record_start
                if self._lines.finished:
                    return 0, []
                if "unexpected end" in str(error) and swallowed > 1:
                    raise InputError(self._unclosed()) from None
                raise _BadLine(self._record_start + 1, str(error)) from None
            if fields is None:
                return 0, []
            if fields and (len(fields) > 1 or fields[0].strip()):
                return self._record_start + 1, fields

    def _as_names(
        self, line: int, names: list[str], columns: Columns, has_header: bool | None
    ) -> list[str]:
        if not names:
            raise InputError("there are no rows")
        if has_header is None and _looks_like_data(names):
            raise InputError(
                f"line {line} should name the columns, but has numbers: use --no-header (columns "
                "are then c1, c2, ...), or --header if these are names"
            )
        other = next((c for c in ";\t,|" if len(names) == 1 and c in names[0]), None)
        if other is not None and other != self._delimiter:
            hint = "use --format tsv" if other == "\t" else "write it with commas"
            raise InputError(f"the fields of line {line} are separated by {other!r}: {hint}")
        if names[0] == "" and INDEX not in names:
            names = [INDEX, *names[1:]]
            if not columns.features and not columns.known and INDEX not in columns:
                raise InputError(
                    f"the first column has no name, like an index written by pandas: use --id "
                    f"{INDEX}, or choose the columns with --features"
                )
        check_unique(names)
        return names

    def records(self, lines: Lines) -> Iterator[Parsed]:
        n_fields = len(self._names)
        slow_until = 0
        while True:
            if self._columnar and not self._waiting and lines.number >= slow_until:
                block, slow_until = self._columnar.parse(lines)
                if block is not None:
                    yield block
                    continue
            try:
                line, fields = self._waiting.pop() if self._waiting else self._next_record()
            except _BadLine as bad:
                yield bad.line, f"cannot be split into fields: {bad.why}"
                continue
            if not fields:
                return
            if len(fields) != n_fields:
                yield line, f"has {len(fields)} fields instead of {n_fields}"
                continue
            values = _as_numbers([fields[place] for place in self._feature_places])
            if values is None:
                yield line, self._find_text(fields)
            else:
                yield Record(line, values, [fields[place] for place in self._companion_places])

    def _find_text(self, fields: list[str]) -> str:
        place = next(p for p in self._feature_places if _as_numbers([fields[p]]) is None)
        found = (
            f"{fields[place]!r:.50} is not a number" if fields[place].strip() else "has no value"
        )
        return (
            f"column {short_name(self._names[place])} {found}; choose the columns with "
            "--features, name this one with --id, --class or --text, or use only texts with "
            "--encode"
        )


class _BadLine(Exception):  # noqa: N818
    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


class Authors:
    """Data files of the authors' program: id, class and values between tabs, no header."""

    feature_names: list[str] | None = None
    companions: Sequence[str] = ("keys", "classes")

    def __init__(self, columns: Columns) -> None:
        if columns.are_named:
            raise InputError("the columns of such a file are known: id, class, features")

    def records(self, lines: Lines) -> Iterator[Parsed]:
        n_fields = 0
        for text in lines:
            check_fields(text, "\t", lines.number)
            fields = text.rstrip("\r\n").split("\t")
            if fields == [""]:
                continue
            values = _as_numbers(fields[2:])
            if len(fields) < 3 or (n_fields and len(fields) != n_fields):
                yield (
                    lines.number,
                    f"has {len(fields)} fields instead of {n_fields or 'three or more'}",
                )
            elif values is None:
                wrong = next(field for field in fields[2:] if _as_numbers([field]) is None)
                yield lines.number, f"{wrong!r:.50} is not a number"
            else:
                n_fields = len(fields)
                yield Record(lines.number, values, fields[:2])


def _as_numbers(fields: list[str]) -> "array[float] | None":
    """Fields as numbers, or None if one is not: 1_000 and digits of other scripts are rejected."""
    together = ",".join(fields)
    if "_" in together or not together.isascii():
        return None
    try:
        return array("d", map(float, fields))
    except ValueError:
        return None


def _looks_like_data(names: list[str]) -> bool:
    """Whether there are numbers among the names, other than 0, 1, 2, ... or 1, 2, 3, ..."""
    numbers = [name for name in names if _as_numbers([name]) is not None]
    counted = [[str(i) for i in range(first, first + len(numbers))] for first in (0, 1)]
    return bool(numbers) and numbers not in counted
