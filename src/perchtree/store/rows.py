"""Keys, texts and classes by id, as rows of the database."""

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import CorruptFileError
from .schema import plain_database_errors, plain_errors

Record = tuple[Any, Any, Any]
"""Key, text and class."""

ADD = "INSERT INTO records (id, key, text, class, digest) VALUES (?, ?, ?, ?, ?)"
REMOVE = "DELETE FROM records WHERE id = ?"

_SELECT = "SELECT id, key, text, class, digest FROM records"
_AT_ONCE, _KEYS_AT_ONCE = 1000, 50
_SURROGATES = "surrogatepass"


def as_row(point_id: int, record: Record) -> tuple[Any, ...]:
    """A row for `ADD`."""
    values = point_id, *map(_stored, record)
    return *values, crc_of(values)


def _stored(value: Any) -> Any:
    """A value as SQLite can hold it; what is neither a number nor a text becomes a text."""
    if value is None or isinstance(value, float):
        return None if value != value else value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else str(value)
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which is no UTF-8
        return text.encode(errors=_SURROGATES)
    return text


def _restored(value: Any) -> Any:
    return value.decode(errors=_SURROGATES) if isinstance(value, bytes) else value


def crc_of(values: tuple[Any, ...]) -> int:
    """A checksum of the values of a row."""
    return zlib.crc32(repr(values).encode())


class Rows:
    """Reads records, from any thread, one question at a time."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection, self._name, self.lock = connection, name, threading.Lock()

    def __len__(self) -> int:
        with plain_errors(self._name), self.lock:
            return int(self._connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def first_key(self) -> Any:
        """Any key; None if no record has one."""
        with plain_errors(self._name), self.lock:
            found = self._connection.execute(
                "SELECT key FROM records WHERE key IS NOT NULL LIMIT 1"
            ).fetchone()
        return None if found is None else found[0]

    def has(self, column: str) -> bool:
        """Whether any record has a "key", a "text" or a "class": a look at all if none has."""
        with plain_errors(self._name), self.lock:
            query = f"SELECT 1 FROM records WHERE {column} IS NOT NULL LIMIT 1"
            return self._connection.execute(query).fetchone() is not None

    def get(self, ids: Sequence[int]) -> dict[int, Record]:
        """The records with these ids, those that are there."""
        found: dict[int, Record] = {}
        if len(ids) > _AT_ONCE:
            wanted = set(ids)
            between = f"{_SELECT} WHERE id BETWEEN ? AND ?"
            rows = self._read(between, (min(ids), max(ids)))
            return {point_id: record for point_id, record in rows if point_id in wanted}
        if ids:
            listed = f"{_SELECT} WHERE id IN (SELECT value FROM json_each(?))"
            found.update(self._read(listed, (json.dumps(ids),)))
        return found

    def find(self, keys: Sequence[Any]) -> dict[Any, int]:
        """The ids of the keys that are there, all of one kind."""
        found: dict[Any, int] = {}
        query = f"{_SELECT} WHERE key = ?"
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            with plain_errors(self._name), self.lock:  # others have their turn in between
                for key in keys[start : start + _KEYS_AT_ONCE]:
                    row = self._connection.execute(query, (key,)).fetchone()
                    if row is not None:
                        found[key] = _checked(row)[0]
        return found

    def search(self, query: str, most: int) -> list[int]:
        """The ids of records whose text or key matches a full-text query, best first."""
        matching = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        with plain_database_errors(self._name), self.lock:
            try:
                rows = self._connection.execute(matching, (query, most)).fetchall()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # it is not for the query
                    raise
                raise ValueError(
                    f"{query!r:.100} is not a query: {error}; put words in double quotes"
                ) from None
            return [row[0] for row in rows]

    def containing(self, text: str, most: int) -> list[int]:
        """The ids of records whose text or key contains a text: a look at all of them."""
        query = "SELECT id FROM records WHERE instr(text, ?1) OR instr(key, ?1) ORDER BY id LIMIT ?"
        with plain_errors(self._name), self.lock:
            return [row[0] for row in self._connection.execute(query, (text, most)).fetchall()]

    def _read(self, query: str, given: Iterable[Any]) -> list[tuple[int, Record]]:
        with plain_errors(self._name):
            with self.lock:
                rows = self._connection.execute(query, tuple(given)).fetchall()
            return [_checked(row) for row in rows]


def _checked(row: tuple[Any, ...]) -> tuple[int, Record]:
    *values, digest = row
    if crc_of(tuple(values)) != digest:
        raise CorruptFileError(f"the database is damaged: record {row[0]} is not as saved")
    point_id, *record = values
    key, text, class_ = map(_restored, record)
    return point_id, (key, text, class_)
