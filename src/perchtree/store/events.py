"""A standing clustering as rows of the database: clusters by an anchor, and what became of them."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import Tree
from ..clusters.following import Change, Followed
from ..errors import CorruptFileError
from ..table import are_living
from .schema import digest_of, plain_errors

Rows = list[tuple[Any, ...]]

PUT_EVENT = (
    "INSERT OR REPLACE INTO events (number, kind, about, ids, digest) VALUES (?, ?, ?, ?, ?)"
)
PUT_CLUSTER = "INSERT OR REPLACE INTO clusters (number, anchor, digest) VALUES (?, ?, ?)"
_DROP_CLUSTER = "DELETE FROM clusters WHERE number = ?"

_COLUMNS = "SELECT number, kind, about, ids, digest FROM events"
_SINCE = f"{_COLUMNS} WHERE number > ? ORDER BY number LIMIT ?"


def effects_of(followed: Followed) -> list[tuple[str, Rows]]:
    """Statements that note what has changed."""
    effects: list[tuple[str, Rows]] = [
        (_DROP_CLUSTER, [(number,) for number in followed.ended]),
        (PUT_CLUSTER, [as_cluster(*pair) for pair in followed.anchors.items()]),
        (PUT_EVENT, [as_event(change) for change in followed.changes]),
    ]
    return [(statement, rows) for statement, rows in effects if rows]


def effects_of_end() -> list[tuple[str, Rows]]:
    """Statements that forget a clustering, and all that became of its clusters."""
    return [("DELETE FROM clusters", [()]), ("DELETE FROM events", [()])]


def as_cluster(number: int, anchor: int) -> tuple[Any, ...]:
    """A row for `PUT_CLUSTER`."""
    return number, anchor, _digest_of_cluster(number, anchor)


def _digest_of_cluster(number: int, anchor: int) -> int:
    return int.from_bytes(digest_of(f"{number} {anchor}".encode())[:7], "little")


def as_event(change: Change) -> tuple[Any, ...]:
    """A row for `PUT_EVENT`."""
    about = json.dumps([change.before, change.after, change.points])
    ids = np.asarray(change.ids, "<i8").tobytes()
    return change.number, change.kind, about, ids, _digest(change.number, change.kind, about, ids)


def _digest(number: int, kind: str, about: str, ids: bytes) -> bytes:
    return digest_of(str(number).encode(), kind.encode(), about.encode(), ids)


class Events:
    """Reads a standing clustering, from any thread, one question at a time."""

    def __init__(self, connection: sqlite3.Connection, lock: threading.Lock, name: str) -> None:
        self._connection, self._lock, self._name = connection, lock, name

    def anchors(self) -> dict[int, int]:
        """A point of each cluster, by the cluster's number."""
        with plain_errors(self._name), self._lock:
            rows = self._connection.execute(
                "SELECT number, anchor, digest FROM clusters"
            ).fetchall()
            for number, anchor, digest in rows:
                if _digest_of_cluster(number, anchor) != digest:
                    raise CorruptFileError(
                        f"the database is damaged: cluster {number} is not as saved"
                    )
        return {number: anchor for number, anchor, _ in rows}

    def last(self) -> int:
        """The number of the last change; 0 if there was none."""
        with plain_errors(self._name), self._lock:
            (number,) = self._connection.execute("SELECT max(number) FROM events").fetchone()
        return number or 0

    def since(self, number: int, most: int | None = None) -> list[Change]:
        """The changes after one with this number, in order."""
        with plain_errors(self._name), self._lock:
            return list(read_events(self._connection, number, most))


def read_events(
    connection: sqlite3.Connection, since: int = 0, most: int | None = None
) -> Iterator[Change]:
    """Changes in order, each compared with its checksum; an error if one is missing."""
    rows = connection.execute(_SINCE, (since, -1 if most is None else most))
    expected = None
    for row in rows:
        change = _checked(row)
        if change.number != (expected or change.number):
            raise CorruptFileError(f"the database is damaged: event {expected} is missing")
        yield change
        expected = change.number + 1


def _checked(row: tuple[Any, ...]) -> Change:
    number, kind, about, ids, digest = row
    if _digest(number, kind, about, ids) != digest:
        raise CorruptFileError(f"the database is damaged: event {number} is not as saved")
    before, after, points = json.loads(about)
    return Change(number, kind, tuple(before), tuple(after), points, _as_ids(ids))


def _as_ids(stored: bytes) -> NDArray[np.int64]:
    return np.frombuffer(stored, "<i8").astype(np.int64)


def forget_removed(connection: sqlite3.Connection, tree: Tree | None) -> None:
    """Take points that were removed out of all events, which then say nothing about them.

    Most events of a long time name no points any longer, and are not looked at again.
    """
    changed = []
    for row in connection.execute(f"{_COLUMNS} WHERE length(ids) > 0"):
        change = _checked(row)
        living = np.zeros(len(change.ids), bool) if tree is None else are_living(tree, change.ids)
        if not living.all():
            changed.append(as_event(change._replace(ids=change.ids[living])))
    connection.executemany(PUT_EVENT, changed)
