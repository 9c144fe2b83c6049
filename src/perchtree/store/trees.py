"""A tree as rows of the database: the beginning of replay."""

import json
import sqlite3
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import used_rows
from .._kernels.schema import N_POINTS, NEXT_ID, STATE, Tree
from ..errors import CorruptFileError
from ..files.contents import StoredTree
from ..files.format2 import N_STATE
from ..files.trees import INDEX, verified
from ..settings import Settings
from .facts import PUT, as_json, fact
from .schema import digest_of

BASE = "base"
"""The fact that describes it: the operation it stands at, and the shapes of its arrays."""

_PART = 2**22
"""Bytes in a row."""
_ADD = "INSERT INTO base (name, part, data, digest) VALUES (?, ?, ?, ?)"


def write_base(connection: sqlite3.Connection, operation: int, stored: StoredTree | None) -> None:
    """Let replay begin with a tree (with none, if there were no points yet)."""
    connection.execute("DELETE FROM base")
    described: dict[str, Any] = {"operation": operation}
    if stored is not None:
        arrays = dict(used_rows(stored.tree))
        index = {f"{INDEX}/{name}": array for name, array in stored.search_index.items()}
        described["tree"] = {
            "settings": stored.settings.as_dict(),
            "work": stored.lasting_work,
            "removed": removed_from(stored),
            "shapes": {name: list(array.shape) for name, array in arrays.items()},
            "index": {
                name: [list(array.shape), array.dtype.newbyteorder("<").str]
                for name, array in index.items()
            },
        }
        for name, array in (arrays | index).items():
            _write_array(connection, name, array)
    connection.execute(PUT, fact(BASE, as_json(described)))


def _write_array(connection: sqlite3.Connection, name: str, array: NDArray[Any]) -> None:
    values = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    whole = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    for part, start in enumerate(range(0, len(whole), _PART)):
        data = whole[start : start + _PART]
        digest = digest_of(name.encode(), str(part).encode(), data)
        connection.execute(_ADD, (name, part, data, digest))


def base_operation(facts: dict[str, bytes]) -> int:
    """The operation after which replay begins."""
    return int(json.loads(facts[BASE])["operation"])


def base_removed(facts: dict[str, bytes]) -> int:
    """How many points had been removed before replay begins."""
    return int(json.loads(facts[BASE]).get("tree", {}).get("removed", 0))


def removed_from(stored: StoredTree) -> int:
    """How many points were ever removed from a tree."""
    return int(stored.tree.state[NEXT_ID] - stored.tree.state[N_POINTS])


def read_base(connection: sqlite3.Connection, facts: dict[str, bytes]) -> StoredTree | None:
    """The tree with which replay begins, verified; None if it begins with nothing."""
    described = json.loads(facts[BASE]).get("tree")
    if described is None:
        return None
    dtypes = {
        "nodes": "<i4", "ids": "<i4", "lists": "<i4", "points": "<f4", "boxes": "<f4",
        "state": "<i8",
    }  # fmt: skip
    arrays = {
        name: _read_array(connection, name, tuple(shape), np.dtype(dtypes.get(name, "<f8")))
        for name, shape in described["shapes"].items()
    }
    if arrays["state"].shape not in ((len(STATE),), (N_STATE,)):
        raise CorruptFileError("the database holds a tree of another version of perchtree")
    index = {
        name.removeprefix(f"{INDEX}/"): _read_array(connection, name, tuple(shape), np.dtype(dtype))
        for name, (shape, dtype) in described.get("index", {}).items()
    }
    settings = Settings.of(described["settings"])
    stored = StoredTree(settings, Tree(**arrays), described["work"], index)
    return verified("the database", stored)


def _read_array(
    connection: sqlite3.Connection, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    array = np.empty(shape, dtype)
    whole = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    filled = 0
    rows = connection.execute(
        "SELECT part, data, digest FROM base WHERE name = ? ORDER BY part", (name,)
    )
    for part, data, digest in rows:
        if digest_of(name.encode(), str(part).encode(), data) != digest:
            raise CorruptFileError(f"the database is damaged: {name!r} of its tree")
        whole[filled : filled + len(data)] = data
        filled += len(data)
    if filled != len(whole):
        raise CorruptFileError(f"the database is damaged: {name!r} of its tree is not all there")
    return array.astype(array.dtype.newbyteorder("="), copy=False)
