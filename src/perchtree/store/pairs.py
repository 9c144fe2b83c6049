"""What was said and answered about pairs of records, as rows of the database."""

import sqlite3

from ..errors import CorruptFileError
from .rows import crc_of

CORRECT = "INSERT INTO corrections (a, b, same, digest) VALUES (?, ?, ?, ?)"
DROP_PAIRS = "DELETE FROM corrections WHERE a = ?1 OR b = ?1"
ANSWER = "INSERT INTO answers (a, b, same, place, digest) VALUES (?, ?, ?, ?, ?)"
DROP_ANSWERS = "DELETE FROM answers WHERE a = ?1 OR b = ?1"


def as_pair(a: int, b: int, same: bool) -> tuple[int, int, int, int]:
    """A row for `CORRECT`."""
    return a, b, int(same), crc_of((a, b, int(same)))


def as_answer(a: int, b: int, same: bool | None, place: int) -> tuple[int, int, int, int, int]:
    """A row for `ANSWER`."""
    values = a, b, -1 if same is None else int(same), place
    return *values, crc_of(values)


def read_pairs(connection: sqlite3.Connection) -> list[tuple[int, ...]]:
    """All corrections: two ids, and whether they are together."""
    return _read(connection, "SELECT a, b, same, digest FROM corrections", "a correction")


def read_answers(connection: sqlite3.Connection) -> list[tuple[int, ...]]:
    """All answers: two ids, whether they are the same (-1: not known), and their places."""
    return _read(connection, "SELECT a, b, same, place, digest FROM answers", "an answer")


def _read(connection: sqlite3.Connection, query: str, what: str) -> list[tuple[int, ...]]:
    found = []
    for *values, digest in connection.execute(query):
        if crc_of(tuple(values)) != digest:
            raise CorruptFileError(f"the database is damaged: {what} is not as saved")
        found.append(tuple(values))
    return found
