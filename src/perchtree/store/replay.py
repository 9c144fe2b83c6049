"""The tree that follows from what a folder keeps: a stored one, and the operations since."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import CorruptFileError
from ..files.contents import StoredTree
from ..settings import Settings
from ..tree import ClusterTree
from .operations import ROWS, Operation, apply, points_of, read_operations, rows_added
from .snapshots import load_snapshot, snapshots_in
from .trees import base_operation, read_base

_ROWS_AT_ONCE = 4096


class Start(NamedTuple):
    """A stored tree, the operation it stands at, and snapshots that could not be used."""

    operation: int
    tree: ClusterTree | None
    damaged: list[str]


def find_start(
    folder: Path, connection: sqlite3.Connection, facts: dict[str, bytes], last: int
) -> Start:
    """The newest stored tree that is whole and stands at `last` or before.

    Nothing but the tree holds its arrays: each is freed as soon as it has been moved to grow.
    """
    base = base_operation(facts)
    damaged: list[str] = []
    for number, path in snapshots_in(folder):
        if base <= number <= last:
            try:
                number, stored = load_snapshot(path)
                return Start(number, ClusterTree.from_stored(stored), damaged)
            except (CorruptFileError, FileNotFoundError) as error:
                damaged.append(str(error))
    first = read_base(connection, facts)
    return Start(base, None if first is None else ClusterTree.from_stored(first), damaged)


def replay(
    tree: ClusterTree | None, operations: Iterable[tuple[int, Operation]], settings: Settings
) -> ClusterTree | None:
    """The tree after some operations."""
    for operation in _joined(operation for _, operation in operations):
        tree = apply(operation, tree, settings)
    return tree


def replayed(
    connection: sqlite3.Connection,
    start: StoredTree | None,
    after: int,
    last: int,
    settings: Settings,
) -> ClusterTree | None:
    """The tree that operations have made of a stored one."""
    tree = None if start is None else ClusterTree.from_stored(start)
    return replay(tree, read_operations(connection, after, last), settings)


def _joined(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Additions that follow each other as one: how rows are split makes no difference."""
    waiting: list[Operation] = []
    n_waiting = 0
    for operation in operations:
        plain = operation.kind == ROWS and "replaced" not in operation.about
        if waiting and (not plain or n_waiting >= _ROWS_AT_ONCE):
            yield _joint(waiting)
            waiting, n_waiting = [], 0
        if plain:
            waiting.append(operation)
            n_waiting += operation.about["n"]
        else:
            yield operation
    if waiting:
        yield _joint(waiting)


def _joint(operations: list[Operation]) -> Operation:
    return rows_added(np.concatenate([points_of(operation) for operation in operations]))
