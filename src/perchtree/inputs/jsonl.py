"""JSON Lines: one object a line, or one list of numbers."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .batches import COMPANIONS, Columns, InputError, Record
from .lines import Lines


class JsonLines:
    """Objects with a member a feature, or with one member that is a list of them.

    Which members there are is learnt from the first good line.
    """

    feature_names: list[str] | None = None

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._companion_names = [n for kind in COMPANIONS if (n := getattr(columns, kind))]
        self.companions: Sequence[str] = [k for k in COMPANIONS if getattr(columns, k)]
        self._n_values: int | None = None
        self._names: list[str] | None = None
        self._of_lists = False

    def records(self, lines: Lines) -> Iterator[Record | tuple[int, str]]:
        for text in lines:
            if not text.strip():
                continue
            try:
                values, companions = self._split(_parse(text))
                yield Record(lines.number, values, companions)
            except InputError as error:
                yield lines.number, str(error)

    def _split(self, entry: Any) -> tuple[list[float], list[Any]]:
        if isinstance(entry, list) and self._names is None and not self._columns.are_named:
            return self._as_values(entry, "the line"), []
        if not isinstance(entry, dict):
            raise InputError("is not a JSON object, as --features, --id or other lines ask for")
        names = self._names or self._columns.pick_features(list(entry))
        self._columns.companions(list(entry))
        missing = [n for n in (*names, *self._companion_names) if n not in entry]
        if missing:
            raise InputError(f"has no {missing[0]!r}")
        of_lists = self._of_lists
        if self._names is None:
            of_lists = len(names) == 1 and isinstance(entry[names[0]], list)
        if of_lists:
            values = self._as_values(entry[names[0]], repr(names[0]))
        else:
            values = [_as_number(entry[name], repr(name)) for name in names]
        companions = [_as_plain(entry[name], name) for name in self._companion_names]
        if self._names is None:  # learnt from a row that is good in all
            self._names, self._of_lists = names, of_lists
            self.feature_names = None if of_lists else names
        return values, companions

    def _as_values(self, values: Any, what: str) -> list[float]:
        if not isinstance(values, list):
            raise InputError(f"{what} is not a list of numbers")
        if not values:
            raise InputError(f"{what} is an empty list")
        numbers = [_as_number(value, what) for value in values]
        self._n_values = self._n_values or len(values)
        if len(values) != self._n_values:
            raise InputError(f"{what} has {len(values)} numbers instead of {self._n_values}")
        return numbers


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("is not JSON, or cut short") from None


def _as_number(value: Any, what: str) -> float:
    if isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            raise InputError(f"{what} has a number that is too large") from None
    if value is None:
        raise InputError(f"{what} has no value: fill it in")
    if isinstance(value, list):
        raise InputError(f"{what} is a list: if it holds the features, name it by --features")
    raise InputError(f"{what} has {value!r:.50}, which is not a number")


def _as_plain(value: Any, name: str) -> Any:
    if isinstance(value, list | dict):
        raise InputError(f"{name!r} is a list or an object: expected a text or a number")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            raise InputError(f"{name!r} is a text cut amid a character") from None
    return value
