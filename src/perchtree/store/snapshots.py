"""Trees in files beside the database, each of which names the operation it stands at."""

import contextlib
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import used_rows
from .._kernels.schema import Tree
from ..errors import CorruptFileError
from ..files.contents import Contents, StoredTree
from ..files.trees import load_tree, save_tree
from ..search.threads import has_room_for

_NAME = re.compile(r"snapshot-([0-9]+)\.perch")
_LEFTOVER = re.compile(r"\.snapshot-[0-9]+\.perch\..*\.part")
_SECTION = "snapshot"
_PIECE = 2**23
"""Bytes that a thread copies at a time."""
KEPT = 2
"""Snapshots that are kept: should the last be damaged, there is one before it."""


def snapshots_in(folder: Path) -> list[tuple[int, Path]]:
    """The snapshots of a folder, the newest first, each with its operation."""
    found = [(match, folder / name) for name in os.listdir(folder) if (match := _NAME.match(name))]
    return sorted(((int(match[1]), path) for match, path in found), reverse=True)


def write_snapshot(folder: Path, operation: int, stored: StoredTree, made_by: str) -> None:
    """Write a snapshot; older ones go when it is safely in place."""
    about = Contents({"operation": operation, "made_by": made_by}, {}, optional=True)
    save_tree(folder / f"snapshot-{operation}.perch", stored, {_SECTION: about})
    sync_folder(folder)
    for _, path in snapshots_in(folder)[KEPT:]:
        path.unlink()


def sync_folder(folder: Path) -> None:
    """Make the names of its files last through a loss of power."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def load_snapshot(path: Path) -> tuple[int, StoredTree]:
    """A snapshot and its operation; CorruptFileError if any bit of it is not as written."""
    stored, others = load_tree(path, deep=False)
    match = _NAME.fullmatch(path.name)
    operation = others[_SECTION].meta.get("operation") if _SECTION in others else None
    if match is None or type(operation) is not int or operation != int(match[1]):
        raise CorruptFileError(f"{path} is not the snapshot that its name says")
    return operation, stored


def remove_before(folder: Path, operation: int) -> None:
    """Remove snapshots that stand at an earlier operation, and what killed processes have left."""
    for number, path in snapshots_in(folder):
        if number < operation:
            path.unlink()
    for name in os.listdir(folder):
        if _LEFTOVER.fullmatch(name):
            with contextlib.suppress(FileNotFoundError):
                (folder / name).unlink()


class Copy:
    """Memory for a copy of a tree, touched before it is needed, so that copying takes no longer
    than moving the bytes."""

    def __init__(self, shapes: Mapping[str, tuple[tuple[int, ...], Any]]) -> None:
        self._arrays = {name: _touched(*shape) for name, shape in shapes.items()}

    def of(self, stored: StoredTree) -> StoredTree:
        """A copy of a tree that nothing changes meanwhile; it may have grown since."""
        copied, pieces = {}, []
        for name, array in used_rows(stored.tree):
            memory = self._arrays[name]
            copied[name] = target = (memory if len(memory) >= len(array) else array.copy())[
                : len(array)
            ]
            step = max(1, _PIECE * len(array) // max(1, array.nbytes))
            ends = range(0, len(array), step)
            pieces += [(target[i : i + step], array[i : i + step]) for i in ends]
        if len(pieces) <= len(copied) or not has_room_for(2):
            for piece in pieces:
                np.copyto(*piece)
        else:
            with ThreadPoolExecutor(2) as pool:  # two move more bytes than one, half as long
                list(pool.map(lambda piece: np.copyto(*piece), pieces))
        return stored._replace(tree=Tree(**copied))


def _touched(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    memory = np.empty((shape[0] + shape[0] // 16, *shape[1:]), dtype)
    memory.fill(0)
    return memory
