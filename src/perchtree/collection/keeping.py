"""Every change of a collection as an operation in the folder that keeps it."""

import contextlib
import copy
import functools
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from .._validate import as_points, chunks
from ..clusters.following import Change, Followed, Following
from ..encode.making import store_encoder
from ..errors import ReadOnlyError
from ..files.contents import Contents
from ..store import events, facts, operations, rows
from ..store import pairs as pair_rows
from ..store.folder import Store
from ..store.journal import Recorded
from ..store.operations import Operation
from ..tree import LARGEST_ROWS, LARGEST_VALUES
from .asking import Asking
from .corrections import TOGETHER
from .following import STANDING, described
from .kept import KeptRecords
from .log import Log
from .sharing import Addition, Queue

SETTINGS, FEATURES, NOTES, ENCODER = "settings", "features", "notes", "encoder"
PROGRESS = "progress"
PAIR_CHANGES, ANSWER_CHANGES = "pair changes", "answer changes"
SECTION = "section "
"""Names of facts; sections of others have their own name behind it."""

Effects = list[tuple[str, list[tuple[Any, ...]]]]
Done = tuple[Operation, Effects, dict[int, Any]]
"""An operation, what it does to tables, and records that it brings to disk."""


def facts_of(collection: Asking) -> dict[str, Any]:
    """What is kept of a collection beside its records and its tree, as it is now."""
    names = collection.feature_names
    known = {
        SETTINGS: collection.settings,
        FEATURES: None if names is None else list(names),
        NOTES: collection.notes,
        PROGRESS: collection.progress,
        PAIR_CHANGES: collection.pairs.changes,
        ANSWER_CHANGES: collection.answered.changes,
        ENCODER: collection.encoder,
        STANDING: described(collection.following),
    }
    return known | {SECTION + name: contents for name, contents in collection.sections.items()}


def as_bytes(name: str, value: Any) -> bytes:
    """A fact as the database keeps it."""
    if name == SETTINGS:
        return facts.as_json(value.as_dict())
    if name == ENCODER:
        return b"" if value is None else facts.pack_contents(Contents(*store_encoder(value)))
    return facts.pack_contents(value) if isinstance(value, Contents) else facts.as_json(value)


class KeptLog(Log):
    """Records everything in a folder, and waits for the disk."""

    def __init__(self, collection: Asking, store: Store, *, sync: bool) -> None:
        super().__init__()
        self.sync = sync
        self._told: Effects = []
        """What has become of standing clusters, to be noted with the next operation."""
        self._collection, self._store = collection, store
        self._facts = {name: _kept(value) for name, value in facts_of(collection).items()}
        """What the folder has."""
        self._queue = Queue()
        self._mine = threading.local()
        """The last operation that each thread has recorded: it need not wait for later ones."""

    @property
    def _records(self) -> KeptRecords:
        records = self._collection.records
        assert isinstance(records, KeptRecords)
        return records

    @property
    def _tree_changes(self) -> int:
        tree = self._collection._tree
        return 0 if tree is None else tree.changes

    def begin(self) -> None:
        self._store.journal.check_tree(self._tree_changes)

    def as_inserted(self, rows: NDArray[Any]) -> tuple[NDArray[Any], bool]:
        return as_points(rows, cosine=self._collection.settings.is_cosine), True

    def pieces(self, rows: NDArray[Any]) -> Iterator[slice]:
        return (slice(*ends) for ends in chunks(rows, LARGEST_ROWS, LARGEST_VALUES))

    def turn(self, addition: Addition, *, alone: bool) -> AbstractContextManager[bool]:
        return contextlib.nullcontext(True) if alone else self._queue.turn(addition)

    def to_add_with(self, addition: Addition, *, alone: bool) -> list[Addition]:
        return self._queue.take(addition, alone=alone)

    def shared(self, operation: int) -> None:
        self._mine.number = operation

    def added(self, *points: NDArray[Any], replaced: int = NONE) -> list[int]:
        done: list[Done] = []
        first = self._collection.next_id - sum(map(len, points))
        for part in points:
            ids = range(first, first + len(part))
            first += len(part)
            coming = self._records.coming(ids)
            effects: Effects = []
            if replaced != NONE:
                coming |= self._records.coming([replaced])
                effects = [(rows.REMOVE, [(replaced,)]), *self._said_about([replaced, *ids])]
            effects.append((rows.ADD, [rows.as_row(i, coming[i]) for i in ids]))
            if len(part):
                done.append((operations.rows_added(part, replaced), effects, coming))
        return self._record(*done) if done else []

    def removed(self, ids: NDArray[np.int64]) -> None:
        if len(ids) == 0:
            return
        gone = ids.tolist()
        effects = [(rows.REMOVE, [(i,) for i in gone]), *self._said_about(gone)]
        self._record((operations.removed(ids), effects, self._records.coming(gone)))

    def revised(self, ids: list[int]) -> None:
        coming = self._records.coming(ids)
        if not coming:
            return
        changed = [rows.as_row(i, record) for i, record in coming.items()]
        # One goes and comes again, so that the words of its text do as well.
        effects = [(rows.REMOVE, [(i,) for i in coming]), (rows.ADD, changed)]
        about = np.array(list(coming), "<i8")
        operation = Operation(operations.REVISED, {"n": len(about)}, about.tobytes())
        self._record((operation, effects, coming))

    def corrected(self, ids: Iterable[int]) -> None:
        touched = list(ids)
        effects = self._said_about(touched)
        if effects:
            self._record((Operation(operations.CORRECTED, {"ids": touched}), effects, {}))

    def answered(self, pairs: list[tuple[int, int]], same: list[bool | None] | None = None) -> None:
        effects = self._said_about(list({point_id for pair in pairs for point_id in pair}))
        if effects:
            about = {"pairs": pairs} if same is None else {"pairs": pairs, "same": same}
            self._record((Operation(operations.ANSWERED, about), effects, {}))

    def refined(self, neighbors: int, n_parts: int) -> None:
        if n_parts:
            self._record((operations.refined(neighbors, n_parts), [], {}))

    def noted(self) -> None:
        changed = self._changed_facts()
        if changed or self._told:
            self._record((Operation(operations.NOTED, {}), changed, {}))

    def followed(self, followed: Followed) -> None:
        self._told += events.effects_of(followed)
        if followed.changes:
            self._facts.pop(STANDING, None)  # it names the last event

    def unfollowed(self) -> None:
        self._told += events.effects_of_end()

    def events(self, since: int, most: int | None) -> list[Change]:
        return self._store.events.since(since, most)

    def last_event(self, following: Following) -> int:
        return self._store.events.last()

    def settle(self) -> None:
        journal = self._store.journal
        if self.sync:
            journal.wait(getattr(self._mine, "number", 0))
        tree = self._collection._tree
        if tree is not None:
            self._store.keep_up(tree)

    def _record(self, *done: Done) -> list[int]:
        """Record what was done, by operations that are committed together; their numbers."""
        last = done[-1][1]
        last += self._changed_facts()
        last += self._told
        self._told = []
        journal = self._store.journal
        numbers = journal.record([
            Recorded(operation, effects, functools.partial(self._records.arrived, coming))
            for operation, effects, coming in done
        ])  # fmt: skip
        self._mine.number = numbers[0]
        journal.tree_changes = self._tree_changes
        return numbers

    def _said_about(self, ids: list[int]) -> Effects:
        """All corrections of some ids again, if any was made or withdrawn since."""
        pairs, answered = self._collection.pairs, self._collection.answered
        touched: list[tuple[Any, ...]] = [(i,) for i in ids]
        effects: Effects = []
        if pairs.changes != self._facts[PAIR_CHANGES]:
            said = [pair_rows.as_pair(a, b, kind == TOGETHER) for kind, a, b in pairs.about(ids)]
            effects += [(pair_rows.DROP_PAIRS, touched), (pair_rows.CORRECT, said)]
        if answered.changes != self._facts[ANSWER_CHANGES]:
            told = [pair_rows.as_answer(*kept) for kept in answered.about(ids)]
            effects += [(pair_rows.DROP_ANSWERS, touched), (pair_rows.ANSWER, told)]
        return effects

    def _changed_facts(self) -> Effects:
        now = facts_of(self._collection)
        changed = [
            name for name, value in now.items()
            if name not in self._facts or not _same(name, value, self._facts[name])
        ]  # fmt: skip
        gone = [(name,) for name in self._facts if name not in now]
        self._facts = self._facts | {name: _kept(now[name]) for name in changed}
        for (name,) in gone:
            del self._facts[name]
        effects: Effects = []
        if changed:
            effects.append(
                (facts.PUT, [facts.fact(name, as_bytes(name, now[name])) for name in changed])
            )
        if gone:
            effects.append((facts.DROP, gone))
        return effects


class Closed(Log):
    """Refuses changes: the folder is closed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def begin(self) -> None:
        raise ReadOnlyError(f"{self._name} is closed: open it again to change it")


def _kept(value: Any) -> Any:
    """A fact as it is now, independent of later changes."""
    return copy.deepcopy(value) if isinstance(value, dict) else value


def _same(name: str, value: Any, other: Any) -> bool:
    if name == ENCODER or isinstance(value, Contents):  # which never change
        return value is other
    return bool(value == other)
