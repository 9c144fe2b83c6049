"""What is in a file of ours: a tree, and sections of those who keep something beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import make_spare, used_rows
from .._kernels.heights import derive_heights
from .._kernels.numbering import node_rows
from .._kernels.schema import (
    BOX_ROWS,
    ENTRY,
    FEATURE_ROWS,
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
from . import container, format1, format2
from .columns import Column, column_names, pack, unpack
from .contents import Contents, StoredTree

TREE = "tree"
INDEX = "cells"

KNOWN = (
    TREE, INDEX, "records", "corrections", "answers", "estimator", "encoder", "clusterings",
    "snapshot", "standing",
)  # fmt: skip
"""Sections that this version understands."""

_WITHOUT_HEIGHTS = 2
"""Columns of `moments` in files that were written before nodes kept their heights."""

MAPPED = ("points", "boxes", "means")
"""Arrays that may be mapped unverified: no kernel uses their values as places."""


def save_tree(
    path: str | Path, stored: StoredTree, others: Mapping[str, Contents], *, compress: bool = False
) -> None:
    """Save a tree, and sections beside it."""
    settings, tree, _, index = stored
    state = dict(zip(STATE, tree.state.tolist(), strict=True))
    meta = {"settings": settings.as_dict(), "state": state, "work": stored.lasting_work}
    arrays = {name: array for name, array in used_rows(tree) if name != "state"}
    sections = {TREE: container.Section(meta, arrays)}
    if index:
        sections[INDEX] = container.Section({}, index)
    container.write(Path(path), sections | _packed(others), compress=compress)


def is_compressed(path: str | Path) -> bool:
    """Whether a file is."""
    return container.Reader(Path(path), KNOWN).is_compressed


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
    if mmap and reader.is_compressed:
        raise ValueError(f"{path} is compressed, so it cannot be mapped: load it without mmap")
    read = format1.read if reader.version == 1 else _read
    try:
        stored, others = read(reader, MAPPED if mmap else ())
    except CorruptFileError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CorruptFileError(f"{path} holds no tree: {error}") from None
    return verified(path, stored, deep=deep and not mmap), others


def verified(name: str | Path, stored: StoredTree, *, deep: bool = False) -> StoredTree:
    """A tree that was read, and cannot make a kernel crash; with `deep`, with every invariant.

    CorruptFileError if it is not as it should be. What older files lack is derived.
    """
    try:
        if format2.is_old(stored.tree):
            _check_old_shapes(stored)
            stored = stored._replace(tree=format2.with_features(stored.tree))
        _check_shapes(stored)
        if stored.tree.moments.shape[1] == _WITHOUT_HEIGHTS:
            check_structure(stored.tree)
            stored = _with_heights(stored)
        (check_tree if deep else check_structure)(stored.tree)
        return stored
    except InvariantError as error:
        raise CorruptFileError(f"{name} holds a broken tree: {error}") from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CorruptFileError(f"{name} holds no tree: {error}") from None


def _with_heights(stored: StoredTree) -> StoredTree:
    tree = stored.tree
    moments = np.zeros((len(tree.moments), MOMENTS))
    moments[:, :_WITHOUT_HEIGHTS] = tree.moments
    tree = tree._replace(moments=moments)
    if len(moments):
        tree = tree._replace(spare=make_spare(tree))
        derive_heights(tree, np.empty(len(tree.nodes), np.int32))
    return stored._replace(tree=tree)


def _read(
    reader: container.Reader, mapped: tuple[str, ...]
) -> tuple[StoredTree, dict[str, Contents]]:
    meta = reader.meta(TREE)
    settings = Settings.of(meta["settings"])
    left_out = {"state", "spare"} if settings.has_edges else {"state", "spare", "lists"}
    arrays = {
        name: reader.read(TREE, name, mmap=name in mapped)
        for name in Tree._fields
        if name not in left_out
    }
    known = STATE if reader.version > 2 else STATE[: format2.N_STATE]
    state = np.array([_whole(meta["state"][name]) for name in known], np.int64)
    work = {str(name): _whole(count) for name, count in dict(meta["work"]).items()}
    index = {}
    if INDEX in reader.sections():
        index = {name: reader.read(INDEX, name) for name in reader.names(INDEX)}
    stored = StoredTree(settings, Tree(**arrays, state=state), work, index)
    return stored, _read_sections(reader)


def _read_sections(reader: container.Reader) -> dict[str, Contents]:
    return {
        section: Contents(
            reader.meta(section), read_columns(reader, section), reader.is_optional(section)
        )
        for section in reader.sections()
        if section not in (TREE, INDEX)
    }


def read_columns(reader: container.Reader, section: str) -> dict[str, Column]:
    return {name: unpack(reader, section, name) for name in column_names(reader, section)}


def _whole(value: Any) -> int:
    if type(value) is not int or not NONE <= value < 2**62:
        raise ValueError(f"{value!r} is not a count")
    return value


def _check_shapes(stored: StoredTree) -> None:
    """What must hold before any entry of an array is used as a place in another."""
    tree = stored.tree
    if tree.state.shape != (len(STATE),):
        raise ValueError("counters are missing")
    features, boxes = tree.state[[FEATURE_ROWS, BOX_ROWS]].tolist()
    if not 0 <= features <= boxes:
        raise ValueError("counters are out of range")
    _compare_shapes(stored, NODE_COLUMNS, features)


def _check_old_shapes(stored: StoredTree) -> None:
    """What must hold of the arrays of formats 1 and 2 before they are brought up to date."""
    tree = stored.tree
    if tree.state.shape != (format2.N_STATE,):
        raise ValueError("counters are missing")
    _compare_shapes(stored, NODE_COLUMNS - 1, int(tree.state[BOX_ROWS]))


def _compare_shapes(stored: StoredTree, n_columns: int, features: int) -> None:
    settings, tree = stored.settings, stored.tree
    ids, points, boxes = tree.state[[NEXT_ID, POINT_ROWS, BOX_ROWS]].tolist()
    if not all(0 <= count <= MAX_POINTS for count in (ids, points, boxes)):
        raise ValueError("counters are out of range")
    d = tree.points.shape[-1] if tree.points.ndim == 2 else 0
    if d < 1 or tree.state[MAX_LEAVES] != (settings.max_leaves or NONE):
        raise ValueError("its settings do not fit its tree")
    without = tree.moments.ndim == 2 and tree.moments.shape[1] == _WITHOUT_HEIGHTS
    n_moments = _WITHOUT_HEIGHTS if without else MOMENTS + settings.has_edges
    expected = {
        "nodes": ((node_rows(points, boxes), n_columns), np.int32),
        "points": ((points, d), np.float32),
        "boxes": ((features, 2, d), np.float32),
        "means": ((features, d) if settings.has_linkage else (0, 0), np.float64),
        "moments": ((boxes if settings.has_linkage else 0, n_moments), np.float64),
        "ids": ((ids, ID_COLUMNS), np.int32),
        "lists": ((points if settings.has_edges else 0, settings.listed, ENTRY), np.int32),
    }
    for name, (shape, dtype) in expected.items():
        array = getattr(tree, name)
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"{name!r} has another shape or type than it should have")
