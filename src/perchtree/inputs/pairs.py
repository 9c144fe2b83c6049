"""Pairs of ids, and whether they are the same, from CSV and TSV files."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .batches import InputError
from .lines import NOT_TEXT, Lines

_ANSWERS: dict[str, bool | None] = {
    **dict.fromkeys(("1", "y", "yes", "true", "same", "together"), True),
    **dict.fromkeys(("0", "n", "no", "false", "different", "apart"), False),
    "skip": None,
}


class Pair(NamedTuple):
    """Two ids as they are in a file, and whether they are the same."""

    line: int
    a: str
    b: str
    same: bool | None
    """None if unknown."""


def read_pairs(path: Path) -> Iterator[Pair]:
    """The rows of a file by its columns `a`, `b` and `same` (yes, no or skip)."""
    lines = Lines(path)
    is_tsv = ".tsv" in [suffix.lower() for suffix in path.suffixes]
    records = csv.reader(lines, delimiter="\t" if is_tsv else ",", strict=True)
    names = _next_record(records, lines) or []
    if any(names.count(name) != 1 for name in Pair._fields[1:]):
        raise InputError(
            "the first line must name the columns: a and b, which have ids, and same, yes or no"
        )
    places = [names.index(name) for name in Pair._fields[1:]]
    while (fields := _next_record(records, lines)) is not None:
        if len(fields) != len(names):
            raise InputError(
                f"line {lines.number} has {len(fields)} fields instead of {len(names)}"
            )
        a, b, answer = (fields[place] for place in places)
        word = answer.strip().lower()
        if word not in _ANSWERS:
            raise InputError(f"line {lines.number} has {answer!r:.50} for same: write yes or no")
        yield Pair(lines.number, a, b, _ANSWERS[word])


def _next_record(records: Iterator[list[str]], lines: Lines) -> list[str] | None:
    """The fields of the next record that is not blank; None at the end."""
    try:
        fields = next((fields for fields in records if "".join(fields).strip()), None)
    except csv.Error as error:
        raise InputError(f"line {lines.number} cannot be split into fields: {error}") from None
    if lines.take_undecodable():
        raise InputError(f"line {lines.number} {NOT_TEXT}")
    return fields
