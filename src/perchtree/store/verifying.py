"""Every byte of a folder compared: database, snapshots, and that a replay gives the same tree."""

import sqlite3
from typing import NamedTuple

import numpy as np

from .._arrays import used_rows
from .._kernels.schema import Tree
from ..errors import CorruptFileError
from ..settings import Settings
from ..tree import ClusterTree
from .folder import DATABASE, MADE_BY, Store
from .maker import made_by
from .replay import replayed
from .schema import check_words, plain_errors
from .snapshots import load_snapshot, snapshots_in
from .trees import base_operation, read_base


class Verified(NamedTuple):
    """What was found to be whole."""

    operations: int
    """Operations that were done again."""
    snapshots: int
    comparable: bool
    """Whether a replay must give the identical tree: on the same version and processor."""


def verify_folder(store: Store, tree: ClusterTree | None, settings: Settings) -> Verified:
    """Verify an open folder and the tree that it was opened with; CorruptFileError says what is
    damaged."""
    connection, last = store.connection, store.operation
    with plain_errors(store.name):
        found = connection.execute("PRAGMA integrity_check").fetchall()
        if found != [("ok",)]:
            raise CorruptFileError(f"the database is damaged: {found[0][0].splitlines()[-1]}")
        _verify_words(store)
        ids = [] if tree is None else tree.ids.tolist()
        if len(store.rows) != len(ids) or len(store.rows.get(ids)) != len(ids):
            raise CorruptFileError("the database has other records than the tree has points")
        comparable = store.facts[MADE_BY].decode() == made_by()
        base = base_operation(store.facts)
        stored, at = read_base(connection, store.facts), base
        snapshots = [(n, path) for n, path in snapshots_in(store.folder) if base <= n <= last]
        for number, path in reversed(snapshots):
            grown = replayed(connection, stored, at, number, settings)
            _, kept = load_snapshot(path)
            if comparable and not _same(kept.tree, grown):
                raise CorruptFileError(f"{path} is not the tree that operation {number} has made")
            stored, at = kept, number
        grown = replayed(connection, stored, at, last, settings)
        if comparable and tree is not None:
            with tree.reading() as arrays:
                if not _same(arrays, grown):
                    raise CorruptFileError("a replay gives another tree than the one in use")
    if tree is not None:
        tree.check()
    return Verified(last - base, len(snapshots), comparable)


def _verify_words(store: Store) -> None:
    try:
        check_words(store.folder / DATABASE)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise CorruptFileError(
            f"the database is damaged: its full-text index is not that of the texts: {error}"
        ) from None


def _same(one: Tree, other: ClusterTree | None) -> bool:
    if other is None:
        return False
    with other.reading() as arrays:
        pairs = zip(used_rows(one), used_rows(arrays), strict=True)
        return all(np.array_equal(a, b) for (_, a), (_, b) in pairs)
