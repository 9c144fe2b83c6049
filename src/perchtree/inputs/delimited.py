"""Comma- and tab-separated values, and the data files of the authors' program."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence

from .batches import Columns, InputError, Record
from .lines import Lines

csv.field_size_limit(2**31 - 1)  # a text may be long

INDEX = "index"
"""What a first column without a name is called: pandas writes its index so."""

_MOST_LINES = 1000
"""Lines that one record may have; more are a quote that was never closed."""


class Delimited:
    """Lines of fields, of which the first names the columns unless `has_header` is False."""

    def __init__(
        self, lines: Lines, delimiter: str, columns: Columns, has_header: bool | None
    ) -> None:
        self._lines = lines
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
            names = self._as_names(line, first, delimiter, columns, has_header)
        named = columns.companions(names)
        self.feature_names: list[str] | None = columns.pick_features(names)
        self._names = names
        places = {name: place for place, name in enumerate(names)}
        self.companions: Sequence[str] = list(named)
        self._companion_places = [places[name] for name in named.values()]
        self._feature_places = [places[name] for name in self.feature_names]

    def _limited(self, lines: Lines) -> Iterator[str]:
        for text in lines:
            if lines.number - self._record_start > _MOST_LINES:
                raise InputError(self._unclosed())
            yield text

    def _unclosed(self) -> str:
        return f"line {self._record_start + 1} has a quote that is not closed: close or remove it"

    def _next_record(self) -> tuple[int, list[str]]:
        """The next line that is not blank, and its number; no fields at the end."""
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
        self, line: int, names: list[str], delimiter: str, columns: Columns, has_header: bool | None
    ) -> list[str]:
        if not names:
            raise InputError("there are no rows")
        if has_header is None and _looks_like_data(names):
            raise InputError(
                f"line {line} should name the columns, but has numbers: use --no-header (columns "
                "are then c1, c2, ...), or --header if these are names"
            )
        other = next((c for c in ";\t,|" if len(names) == 1 and c in names[0]), None)
        if other is not None and other != delimiter:
            hint = "use --format tsv" if other == "\t" else "write it with commas"
            raise InputError(f"the fields of line {line} are separated by {other!r}: {hint}")
        if names[0] == "" and INDEX not in names:
            names = [INDEX, *names[1:]]
            if not columns.features and not columns.known and INDEX not in columns:
                raise InputError(
                    f"the first column has no name, as pandas writes its index: use it by --id "
                    f"{INDEX}, or pick columns by --features"
                )
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            raise InputError(f"two columns are called {twice[0]!r}: rename one")
        return names

    def records(self, lines: Lines) -> Iterator[Record | tuple[int, str]]:
        n_fields = len(self._names)
        while True:
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
            f"column {self._names[place]!r} {found}; pick columns by --features, or say what it is "
            "by --id, --label or --text"
        )


class _BadLine(Exception):  # noqa: N818
    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


class Authors:
    """The authors' data files: id, class and values, with tabs between them and no header."""

    feature_names: list[str] | None = None
    companions: Sequence[str] = ("keys", "labels")

    def __init__(self, columns: Columns) -> None:
        if columns.are_named:
            raise InputError("the columns of such a file are known: id, label, features")

    def records(self, lines: Lines) -> Iterator[Record | tuple[int, str]]:
        n_fields = 0
        for text in lines:
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


def _as_numbers(fields: list[str]) -> list[float] | None:
    """Numbers, if all are; Python's own leniency (1_000, digits of other scripts) is not ours."""
    together = ",".join(fields)
    if "_" in together or not together.isascii():
        return None
    try:
        return [float(field) for field in fields]
    except ValueError:
        return None


def _looks_like_data(names: list[str]) -> bool:
    """Whether there are numbers among the names, other than 0, 1, 2, ... or 1, 2, 3, ..."""
    numbers = [name for name in names if _as_numbers([name]) is not None]
    counted = [[str(i) for i in range(first, first + len(numbers))] for first in (0, 1)]
    return bool(numbers) and numbers not in counted
