"""What is in a file of ours: a tree, and sections of those who keep something beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import used_rows
from .._kernels.numbering import node_rows
from .._kernels.schema import (
    BOX_ROWS,
    ID_COLUMNS,
    MAX_LEAVES,
    MAX_POINTS,
    MOMENTS,
    NEXT_ID,
    NODE_COLUMNS,
    NONE,
    POINT_ROWS,
    STATE,
    Tree,
)
from ..checks import check_structure, check_tree
from ..errors import CorruptFileError, InvariantError
from ..settings import Settings
from . import container, format1
from .columns import Column, column_names, pack, unpack
from .contents import Contents, StoredTree

TREE = "tree"

KNOWN = (TREE, "records", "corrections", "estimator", "encoder", "clusterings", "snapshot")
"""Sections that this version understands."""

MAPPED = ("points", "boxes", "means")
"""Arrays that may be mapped unverified: no kernel uses their values as places."""


def save_tree(path: str | Path, stored: StoredTree, others: Mapping[str, Contents]) -> None:
    """Save a tree, and sections beside it."""
    settings, tree, work = stored
    state = dict(zip(STATE, tree.state.tolist(), strict=True))
    meta = {"settings": settings.as_dict(), "state": state, "work": work}
    arrays = {name: array for name, array in used_rows(tree) if name != "state"}
    sections = {TREE: container.Section(meta, arrays)}
    container.write(Path(path), sections | _packed(others))


def save_sections(path: str | Path, others: Mapping[str, Contents]) -> None:
    """Save sections without a tree, which belong to one that cannot be changed."""
    container.write(Path(path), _packed(others))


def load_sections(path: str | Path) -> dict[str, Contents]:
    """Load sections that were saved without a tree."""
    return _read_sections(container.Reader(Path(path), KNOWN))


def _packed(others: Mapping[str, Contents]) -> dict[str, container.Section]:
    sections = {}
    for name, contents in others.items():
        packed: dict[str, Any] = {}
        for column, values in contents.columns.items():
            packed.update(pack(column, values))
        sections[name] = container.Section(contents.meta, packed, contents.optional)
    return sections


def load_tree(
    path: str | Path, *, mmap: bool = False, deep: bool = True
) -> tuple[StoredTree, dict[str, Contents]]:
    """Load a tree and the sections beside it; CorruptFileError if anything is damaged.

    With `mmap`, features are mapped, not read; all else is verified even then. Without `deep`,
    they are compared with their checksums, but not with each other.
    """
    reader = container.Reader(Path(path), KNOWN)
    read = format1.read if reader.version == 1 else _read
    try:
        stored, others = read(reader, MAPPED if mmap else ())
    except CorruptFileError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CorruptFileError(f"{path} holds no tree: {error}") from None
    verify_tree(path, stored, deep=deep and not mmap)
    return stored, others


def verify_tree(name: str | Path, stored: StoredTree, *, deep: bool = False) -> None:
    """Check that a tree that was read cannot make a kernel crash; with `deep`, every invariant."""
    try:
        _check_shapes(stored)
        (check_tree if deep else check_structure)(stored.tree)
    except InvariantError as error:
        raise CorruptFileError(f"{name} holds a broken tree: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CorruptFileError(f"{name} holds no tree: {error}") from None


def _read(
    reader: container.Reader, mapped: tuple[str, ...]
) -> tuple[StoredTree, dict[str, Contents]]:
    meta = reader.meta(TREE)
    arrays = {
        name: reader.read(TREE, name, mmap=name in mapped)
        for name in Tree._fields
        if name != "state"
    }
    state = np.array([_whole(meta["state"][name]) for name in STATE], np.int64)
    work = {str(name): _whole(count) for name, count in dict(meta["work"]).items()}
    stored = StoredTree(Settings.of(meta["settings"]), Tree(**arrays, state=state), work)
    return stored, _read_sections(reader)


def _read_sections(reader: container.Reader) -> dict[str, Contents]:
    return {
        section: Contents(
            reader.meta(section), read_columns(reader, section), reader.is_optional(section)
        )
        for section in reader.sections()
        if section != TREE
    }


def read_columns(reader: container.Reader, section: str) -> dict[str, Column]:
    return {name: unpack(reader, section, name) for name in column_names(reader, section)}


def _whole(value: Any) -> int:
    if type(value) is not int or not NONE <= value < 2**62:
        raise ValueError(f"{value!r} is not a count")
    return value


def _check_shapes(stored: StoredTree) -> None:
    """What must hold before any entry of an array is used as a place in another."""
    settings, tree, _ = stored
    ids, points, boxes = tree.state[[NEXT_ID, POINT_ROWS, BOX_ROWS]].tolist()
    if not all(0 <= count <= MAX_POINTS for count in (ids, points, boxes)):
        raise ValueError("counters are out of range")
    d = tree.points.shape[-1] if tree.points.ndim == 2 else 0
    if d < 1 or tree.state[MAX_LEAVES] != (settings.max_leaves or NONE):
        raise ValueError("its settings do not fit its tree")
    expected = {
        "nodes": ((node_rows(points, boxes), NODE_COLUMNS), np.int32),
        "points": ((points, d), np.float32),
        "boxes": ((boxes, 2, d), np.float32),
        "means": ((boxes, d) if settings.has_linkage else (0, 0), np.float64),
        "moments": ((boxes if settings.has_linkage else 0, MOMENTS), np.float64),
        "ids": ((ids, ID_COLUMNS), np.int32),
    }
    for name, (shape, dtype) in expected.items():
        array = getattr(tree, name)
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"{name!r} has another shape or type than it should have")
