"""A tree as a file: its arrays, its settings, and columns of the user's that travel with it."""

from collections.abc import Mapping
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
from .columns import Column, column_names, pack, unpack
from .container import FORMAT_1, Reader, Section, write

_SECTION = "tree"
_TREE = "tree."


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
        arrays.update(pack(name, column))
    write(Path(path), {_SECTION: Section(meta, arrays)})


def read_tree(path: str | Path, *, mmap: bool = False) -> TreeFile:
    """Read it again. With `mmap` only header and sizes are verified, and nothing is read yet."""
    reader = Reader(Path(path), known=[_SECTION])
    section = FORMAT_1 if reader.version == 1 else _SECTION
    fields = {}
    for name in Tree._fields:
        # Counters are few, and trusted by everything else.
        fields[name] = reader.read(section, _TREE + name, mmap=mmap and name != "counts")
    tree = Tree(**fields)
    try:
        _check_shapes(tree)
    except ValueError as error:
        raise CorruptFileError(f"{path} holds no tree: {error}") from None
    columns: dict[str, Column] = {
        name: unpack(reader, section, name)
        for name in column_names(reader, section)
        if not name.startswith(_TREE)
    }
    return TreeFile(reader.meta(section), tree, columns)


def user_columns(n_points: int, **columns: Any) -> dict[str, Column]:
    """Columns that a user wants to keep with a tree, one entry per point; None is left out."""
    kept: dict[str, Column] = {}
    for name, column in columns.items():
        if column is None:
            continue
        if len(column) != n_points:
            raise ValueError(f"{len(column)} {name} for a tree of {n_points} points")
        kept[name] = column
    return kept


def read_columns(path: str | Path) -> dict[str, Column]:
    """What was saved with a tree: of "keys", "labels" and "texts" those that were given.

    Numbers come back as arrays, texts as lists; where values are missing, as lists with None.
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
