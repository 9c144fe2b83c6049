"""Comma- and tab-separated values, and the data files of the authors' program."""

import csv
from collections.abc import Iterator, Sequence

from .batches import Columns, InputError, Record
from .lines import Lines

csv.field_size_limit(2**31 - 1)  # a text may be long


class Delimited:
    """Lines of fields, of which the first names the columns unless `has_header` is False."""

    def __init__(
        self, lines: Lines, delimiter: str, columns: Columns, has_header: bool | None
    ) -> None:
        self._reader = csv.reader(lines, delimiter=delimiter, strict=True)
        self._columns = columns
        try:
            first = next(csv.reader([lines.peek()], delimiter=delimiter), [])
            names = [f"c{number}" for number in range(1, len(first) + 1)]
            if has_header is not False:
                names = next((row for row in self._reader if row), [])
        except csv.Error as error:
            raise InputError(f"the first line cannot be split into fields: {error}") from None
        if not names:
            raise InputError("there are no rows")
        if has_header is not False:
            if has_header is None and _looks_like_data(names):
                raise InputError(
                    f"line {lines.number} should name the columns, but has numbers: use "
                    "--no-header (columns are then c1, c2, ...), or --header if these are names"
                )
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InputError(f"two columns are called {twice[0]!r}: rename one")
        self.feature_names: list[str] | None = columns.pick_features(names)
        self._names = names
        named = columns.companions(names)
        self.companions: Sequence[str] = list(named)
        self._companion_places = [names.index(name) for name in named.values()]
        self._feature_places = [names.index(name) for name in self.feature_names]

    def records(self, lines: Lines) -> Iterator[Record | tuple[int, str]]:
        n_fields = len(self._names)
        while True:
            line = lines.number + 1
            try:
                fields = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield line, f"cannot be split into fields: {error}"
                continue
            if not fields:
                continue
            if len(fields) != n_fields:
                yield line, f"has {len(fields)} fields instead of {n_fields}"
                continue
            try:
                values = [float(fields[place]) for place in self._feature_places]
            except ValueError:
                yield line, self._find_text(fields)
                continue
            yield Record(line, values, [fields[place] for place in self._companion_places])

    def _find_text(self, fields: list[str]) -> str:
        for place in self._feature_places:
            if not _is_number(fields[place]):
                break
        what = f"{fields[place]!r:.50} is not a number" if fields[place].strip() else "is empty"
        return (
            f"column {self._names[place]!r} {'has no value' if what == 'is empty' else what}; "
            "pick columns by --features, or say what it is by --id, --label or --text"
        )


class Authors:
    """The authors' data files: id, class and values, with tabs between them and no header."""

    feature_names: list[str] | None = None
    companions: Sequence[str] = ("keys", "labels")

    def __init__(self, columns: Columns) -> None:
        if columns != Columns():
            raise InputError("the columns of such a file are known: id, label, features")

    def records(self, lines: Lines) -> Iterator[Record | tuple[int, str]]:
        n_fields = 0
        for text in lines:
            fields = text.rstrip("\r\n").split("\t")
            if fields == [""]:
                continue
            n_fields = n_fields or len(fields)
            if len(fields) != n_fields or n_fields < 3:
                yield lines.number, f"has {len(fields)} fields instead of {max(n_fields, 3)}"
                continue
            try:
                yield Record(lines.number, [float(field) for field in fields[2:]], fields[:2])
            except ValueError:
                wrong = next(field for field in fields[2:] if not _is_number(field))
                yield lines.number, f"{wrong!r:.50} is not a number"


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _looks_like_data(names: list[str]) -> bool:
    """Whether there are numbers among the names, other than 0, 1, 2, ... or 1, 2, 3, ..."""
    numbers = [name for name in names if _is_number(name)]
    counted = [[str(i) for i in range(first, first + len(numbers))] for first in (0, 1)]
    return bool(numbers) and numbers not in counted
