"""Trees in files beside the database, each of which names the operation it stands at."""

import contextlib
import os
import re
from pathlib import Path

from ..errors import CorruptFileError
from ..files.contents import Contents, StoredTree
from ..files.trees import load_tree, save_tree

_NAME = re.compile(r"snapshot-([0-9]+)\.perch")
_LEFTOVER = re.compile(r"\.snapshot-[0-9]+\.perch\..*\.part")
_SECTION = "snapshot"
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
