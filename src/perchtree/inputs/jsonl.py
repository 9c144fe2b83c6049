"""JSON Lines: one object per line, or one list of numbers."""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from ..inert import short_name
from .batches import Columns, InputError, Record
from .lines import Lines, check_fields
from .records import Parsed


class JsonLines:
    """Objects with one member per feature, or with one member that is a list of all features.

    The first good line decides which of these it is.
    """

    feature_names: list[str] | None = None

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._companion_names = list(columns.named.values())
        self.companions: Sequence[str] = list(columns.named)
        self._n_values: int | None = None
        self._names: list[str] | None = None
        self._of_lists = False

    def records(self, lines: Lines) -> Iterator[Parsed]:
        for text in lines:
            if not text.strip():
                continue
            check_fields(text, ",", lines.number)
            try:
                values, companions = self._split(_parse(text))
                yield Record(lines.number, values, companions)
            except InputError as error:
                yield lines.number, str(error)

    def _split(self, entry: Any) -> "tuple[array[float], list[Any]]":
        if isinstance(entry, list) and self._names is None and not self._columns.are_named:
            return self._as_values(entry, None), []
        if not isinstance(entry, dict):
            raise InputError("is not a JSON object, as --features, --id or other lines ask for")
        names = self._names
        if names is None:
            names = self._columns.pick_features(list(entry))
        self._columns.companions(list(entry))
        missing = [n for n in (*names, *self._companion_names) if n not in entry]
        if missing:
            raise InputError(f"has no {short_name(missing[0])}")
        of_lists = self._of_lists
        if self._names is None:
            of_lists = len(names) == 1 and isinstance(entry[names[0]], list)
        if of_lists:
            values = self._as_values(entry[names[0]], names[0])
        else:
            values = _as_numbers([entry[name] for name in names], names)
        companions = [_as_plain(entry[name], name) for name in self._companion_names]
        if self._names is None:  # this row is good in every respect
            self._names, self._of_lists = names, of_lists
            self.feature_names = None if of_lists else names
        return values, companions

    def _as_values(self, values: Any, name: str | None) -> "array[float]":
        what = _shown(name)
        if not isinstance(values, list):
            raise InputError(f"{what} is not a list of numbers")
        if not values:
            raise InputError(f"{what} is an empty list")
        numbers = _as_numbers(values, repeat(name))
        self._n_values = self._n_values or len(values)
        if len(values) != self._n_values:
            raise InputError(f"{what} has {len(values)} numbers instead of {self._n_values}")
        return numbers


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("is not JSON, or cut short") from None


def _shown(name: str | None) -> str:
    """What errors call a member of an object; None is the whole line."""
    return "the line" if name is None else short_name(name)


def _as_numbers(values: list[Any], names: Iterable[str | None]) -> "array[float]":
    try:
        return array("d", values)
    except (TypeError, OverflowError):
        wrong = ((n, why) for n, v in zip(names, values, strict=False) if (why := _why_not(v)))
        name, why = next(wrong)
        raise InputError(f"{_shown(name)} {why}") from None


def _why_not(value: Any) -> str | None:
    """Why a value is not a number that can be used, if it is not."""
    if value is None:
        return "has no value: fill it in"
    if isinstance(value, list):
        return "is a list: if it holds the features, name it by --features"
    if not isinstance(value, int | float):
        return f"has {value!r:.50}, which is not a number"
    try:
        float(value)
    except OverflowError:
        return "has a number that is too large"
    return None


def _as_plain(value: Any, name: str) -> Any:
    if isinstance(value, list | dict):
        raise InputError(f"{short_name(name)} is a list or an object: expected a text or a number")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            raise InputError(f"{short_name(name)} is a text cut amid a character") from None
    return value
