"""Named values of a collection: settings, encoder, notes, what others keep beside the tree."""

import io
import json
import sqlite3
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import CorruptFileError
from ..files.columns import column_names, pack, unpack
from ..files.container import Part, Reader
from ..files.contents import Contents
from .schema import digest_of

PUT = "INSERT OR REPLACE INTO facts (name, value, digest) VALUES (?, ?, ?)"
DROP = "DELETE FROM facts WHERE name = ?"
_META = "meta"

_encoded = json.JSONEncoder(sort_keys=True).encode  # `json.dumps` would make one each time


def fact(name: str, value: bytes) -> tuple[str, bytes, bytes]:
    """A row for `PUT`."""
    return name, value, digest_of(name.encode(), value)


def read_facts(connection: sqlite3.Connection) -> dict[str, bytes]:
    """All facts, compared with their checksums."""
    facts = {}
    for name, value, digest in connection.execute("SELECT name, value, digest FROM facts"):
        if digest_of(name.encode(), value) != digest:
            raise CorruptFileError(f"the database is damaged: {name!r:.50} is not as saved")
        facts[name] = value
    return facts


def as_json(value: Any) -> bytes:
    return _encoded(value).encode()


def pack_contents(contents: Contents) -> bytes:
    """A section of a `.perch` file as bytes."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, column in contents.columns.items():
        arrays.update(pack(name, column))
    meta = as_json({"meta": contents.meta, "optional": contents.optional})
    packed = {f"array {name}": array for name, array in arrays.items()}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **{_META: np.frombuffer(meta, np.uint8)}, **packed)
    return file.getvalue()


def unpack_contents(value: bytes) -> Contents:
    """The section that `pack_contents` has packed."""
    with np.load(io.BytesIO(value), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    meta = json.loads(arrays.pop(_META).tobytes())
    reader = cast(Reader, _Unpacked({name[6:]: array for name, array in arrays.items()}))
    columns = {name: unpack(reader, "", name) for name in column_names(reader, "")}
    return Contents(meta["meta"], columns, meta["optional"])


class _Unpacked:
    """Arrays in memory, asked as those of a file are."""

    path = "the database"

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = arrays

    def names(self, _section: str) -> Iterable[str]:
        return list(self._arrays)

    def part(self, _section: str, name: str) -> Part:
        array = self._arrays[name]
        return Part(name, array.dtype.str, array.shape, "")

    def read(self, _section: str, name: str) -> NDArray[Any]:
        return self._arrays[name]
