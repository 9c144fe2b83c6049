"""What was done to a collection, in a form that can be done again."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from ..errors import CorruptFileError
from ..settings import Settings
from ..tree import ClusterTree
from .schema import digest_of

ROWS = "rows"
"""Points were inserted, each perhaps in place of another."""
REMOVED = "removed"
REFINED = "refined"
REVISED = "revised"
"""Texts or classes were replaced; the tree stays."""
CORRECTED = "corrected"
ANSWERED = "answered"
"""Something was said or answered about pairs of records; the tree stays."""
NOTED = "noted"
"""Facts about the collection changed."""

PUT = "INSERT INTO operations (number, kind, about, data, digest) VALUES (?, ?, ?, ?, ?)"


_as_json = json.JSONEncoder(sort_keys=True).encode  # `json.dumps` would make one each time


class Operation(NamedTuple):
    """One step: small values by name, and an array as bytes."""

    kind: str
    about: dict[str, Any]
    data: bytes = b""

    def as_row(self, number: int) -> tuple[Any, ...]:
        """A row for `PUT`."""
        about = _as_json(self.about)
        return number, self.kind, about, self.data, _digest(number, self.kind, about, self.data)


def rows_added(points: NDArray[np.float32], replaced: int = NONE) -> Operation:
    """Points went in; a single one in place of the point with the id `replaced`."""
    about = {"n": len(points), "d": points.shape[1]}
    if replaced != NONE:
        about["replaced"] = replaced
    return Operation(ROWS, about, points.astype("<f4", copy=False).tobytes())


def removed(ids: NDArray[np.int64]) -> Operation:
    return Operation(REMOVED, {"n": len(ids)}, ids.astype("<i8", copy=False).tobytes())


def refined(neighbors: int, parts: int) -> Operation:
    """So many parts of passes were gone through: not how long it took."""
    return Operation(REFINED, {"neighbors": neighbors, "parts": parts})


def points_of(operation: Operation) -> NDArray[np.float32]:
    """The points that an operation added."""
    about = operation.about
    return np.frombuffer(operation.data, "<f4").reshape(about["n"], about["d"])


def apply(operation: Operation, tree: ClusterTree | None, settings: Settings) -> ClusterTree | None:
    """Do an operation again: the tree after it, made by the first points."""
    if operation.kind == ROWS:
        points = points_of(operation)
        if tree is None:
            tree = ClusterTree(points.shape[1], **settings.as_dict())
        tree.insert_checked(points, normalised=True)
        if "replaced" in operation.about:
            tree.remove([operation.about["replaced"]])
    elif operation.kind == REMOVED and tree is not None:
        tree.remove(np.frombuffer(operation.data, "<i8"))
    elif operation.kind == REFINED and tree is not None:
        tree.refine_parts(operation.about["parts"], neighbors=operation.about["neighbors"])
    return tree


def read_operations(
    connection: sqlite3.Connection, after: int, last: int
) -> Iterator[tuple[int, Operation]]:
    """Operations in order, each compared with its checksum; an error if one is missing."""
    expected = after + 1
    rows = connection.execute(
        "SELECT number, kind, about, data, digest FROM operations "
        "WHERE number > ? AND number <= ? ORDER BY number",
        (after, last),
    )
    for number, kind, about, data, digest in rows:
        if number != expected or _digest(number, kind, about, data) != digest:
            raise CorruptFileError(
                f"the database is damaged: operation {expected} is missing or not as saved"
            )
        yield number, Operation(kind, json.loads(about), data)
        expected += 1
    if expected != last + 1:
        raise CorruptFileError(f"the database is damaged: operation {expected} is missing")


def last_operation(connection: sqlite3.Connection) -> int | None:
    """The number of the last operation, compared with its checksum; None if there is none."""
    row = connection.execute(
        "SELECT number, kind, about, data, digest FROM operations ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    *operation, digest = row
    if _digest(*operation) != digest:
        raise CorruptFileError("the database is damaged: its last operation is not as saved")
    return int(row[0])


def _digest(number: int, kind: str, about: str, data: bytes) -> bytes:
    return digest_of(str(number).encode(), kind.encode(), about.encode(), data)
