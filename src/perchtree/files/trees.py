"""A tree as a file: its arrays, its settings, and columns of the user's that travel with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import trimmed
from .._kernels.schema import (
    BOX_ROWS,
    COUNTS,
    ID_COLUMNS,
    MAX_POINTS,
    MOMENTS,
    N_POINTS,
    NODE_COLUMNS,
    POINT_ROWS,
    Tree,
)
from ..errors import CorruptFileError
from . import container

_TREE = "tree."
_BYTES, _ENDS = ".bytes", ".ends"

_COLUMNS = {"i": "<i8", "u": "<i8", "b": "<i8", "f": "<f8"}

Column = Sequence[str] | NDArray[Any]


class TreeFile(NamedTuple):
    """What is in a file."""

    meta: dict[str, Any]
    tree: Tree
    columns: dict[str, Column]


def write_tree(
    path: str | Path, meta: dict[str, Any], tree: Tree, columns: Mapping[str, Column]
) -> None:
    """Save a tree, settings that JSON can hold, and columns of numbers or texts."""
    arrays: dict[str, NDArray[Any]] = {
        _TREE + name: array for name, array in trimmed(tree)._asdict().items()
    }
    for name, column in columns.items():
        arrays.update(_packed(name, column))
    container.write(Path(path), meta, arrays)


def read_tree(path: str | Path, *, mmap: bool = False) -> TreeFile:
    """Read it again. With `mmap` only header and sizes are verified, and nothing is read yet."""
    reader = container.Reader(Path(path))
    fields = {}
    for name in Tree._fields:
        if _TREE + name not in reader.names:
            raise CorruptFileError(f"{path} has no array {name!r}: it is not a tree")
        # Counters are few, and trusted by everything else.
        array = reader.read(_TREE + name, mmap=mmap and name != "counts")
        fields[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    tree = Tree(**fields)
    try:
        _check_shapes(tree)
    except ValueError as error:
        raise CorruptFileError(f"{path} holds no tree: {error}") from None
    columns = {
        name: _unpacked(reader, name)
        for name in dict.fromkeys(
            part.removesuffix(_BYTES).removesuffix(_ENDS)
            for part in reader.names
            if not part.startswith(_TREE)
        )
    }
    return TreeFile(reader.meta, tree, columns)


def user_columns(n_points: int, **columns: Any) -> dict[str, Column]:
    """Columns that a user wants to keep with a tree, one entry a point; None is left out."""
    kept: dict[str, Column] = {}
    for name, column in columns.items():
        if column is None:
            continue
        if len(column) != n_points:
            raise ValueError(f"{len(column)} {name} for a tree of {n_points} points")
        kept[name] = _as_column(column)
    return kept


def _as_column(values: Any) -> Column:
    """Numbers that fit as numbers, everything else as texts."""
    if (
        isinstance(values, np.ndarray)
        and values.dtype.kind in _COLUMNS
        and values.dtype != np.uint64
    ):
        return values
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    kinds = {type(value) for value in plain}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in plain):
        return np.array(plain, np.int64)
    if kinds <= {int, float, bool} and int not in kinds:
        return np.array(plain, np.float64 if float in kinds else np.int64)
    if kinds == {int, float} and all(abs(value) < 2**53 for value in plain if value == value):
        return np.array(plain, np.float64)
    return [str(value) for value in plain]


def read_columns(path: str | Path) -> dict[str, Column]:
    """What was saved with a tree: of "keys", "labels" and "texts" those that were given.

    Numbers come back as arrays, texts as lists.
    """
    columns = read_tree(path, mmap=True).columns
    return {name: columns[name] for name in ("keys", "labels", "texts") if name in columns}


def _check_shapes(tree: Tree) -> None:
    """What must hold before any entry of an array is used as a place in another."""
    counts = tree.counts
    if counts.shape != (COUNTS,) or counts.dtype != np.int64:
        raise ValueError("counters are missing")
    n_points, points, boxes = counts[[N_POINTS, POINT_ROWS, BOX_ROWS]].tolist()
    if not (0 <= n_points <= MAX_POINTS and 0 <= points <= MAX_POINTS and 0 <= boxes <= MAX_POINTS):
        raise ValueError("counters are out of range")
    d = tree.points.shape[-1] if tree.points.ndim else 0
    with_moments = tree.means.ndim == 2 and tree.means.shape[1] > 0
    expected = {
        "nodes": ((2 * max(points, boxes), NODE_COLUMNS), np.int32),
        "points": ((points, d), np.float32),
        "boxes": ((boxes, 2, d), np.float32),
        "means": ((boxes, d) if with_moments else (0, 0), np.float64),
        "moments": ((boxes if with_moments else 0, MOMENTS), np.float64),
        "ids": ((n_points, ID_COLUMNS), np.int32),
    }
    for name, (shape, dtype) in expected.items():
        array = getattr(tree, name)
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"{name!r} has another shape or type than it should have")


def _packed(name: str, column: Column) -> dict[str, NDArray[Any]]:
    """Numbers as they are; texts as one string of bytes and where each ends."""
    if isinstance(column, np.ndarray) and column.dtype.kind in _COLUMNS:
        return {name: column.astype(_COLUMNS[column.dtype.kind])}
    texts = [str(text).encode() for text in column]
    return {
        name + _BYTES: np.frombuffer(b"".join(texts), np.uint8),
        name + _ENDS: np.cumsum([len(text) for text in texts], dtype=np.int64),
    }


def _unpacked(reader: container.Reader, name: str) -> Column:
    if name in reader.names:
        return reader.read(name)
    try:
        whole = reader.read(name + _BYTES).tobytes()
        ends = reader.read(name + _ENDS)
    except KeyError:
        raise CorruptFileError(f"{reader.path} has half of a column of texts: {name!r}") from None
    if ends.ndim != 1 or ends.dtype != np.int64:
        raise CorruptFileError(f"{reader.path} has texts without an end: {name!r}")
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    last = int(ends[-1]) if len(ends) else 0
    if (starts > ends).any() or last != len(whole) or (ends < 0).any():
        raise CorruptFileError(f"{reader.path} has texts without an end: {name!r}")
    try:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return [whole[start:end].decode() for start, end in pairs]
    except UnicodeDecodeError:
        raise CorruptFileError(f"{reader.path} has texts that are no texts: {name!r}") from None
