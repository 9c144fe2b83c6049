"""Keys, texts and classes that stay on disk."""

import itertools
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..clusters.names import Terms
from ..errors import CorruptFileError
from ..store.rows import Record, Rows
from .records import COLUMNS, Key, Records

_GONE = object()
_COLUMNS = dict(zip(COLUMNS, ("key", "text", "class"), strict=True))
"""What columns are called in the database."""


class KeptRecords(Records):
    """Records in a database. Memory has those that are on their way there, and no others.

    What is on its way hides what is in the database, and is dropped when it has arrived: so
    whoever looks first here and then there misses nothing.
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = self.rows = rows
        self._lock = threading.Lock()
        self._coming: dict[int, Any] = {}
        """Records by id; `_GONE` where one is being removed."""
        self._coming_keys: dict[Key, int] = {}
        self._n_arrivals = 0
        self.refresh()

    def refresh(self) -> None:
        """Look at the database anew: it may show a later state."""
        first = self._rows.first_key()
        self._kind = None if first is None else type(first)
        self._has: dict[str, bool] = {"keys": first is not None}

    def __contains__(self, column: str) -> bool:
        if column not in self._has:
            self._has[column] = self._rows.has(_COLUMNS[column])
        return self._has[column]

    @property
    def kind(self) -> type | None:
        return self._kind

    @property
    def n_keys(self) -> int:
        return 0  # nothing is ever left of points that are not in the tree

    # Changing

    def stage(self, first_id: int, n_rows: int, columns: dict[str, list[Any]]) -> None:
        self.drop_from(first_id)
        blank = [None] * n_rows
        records = zip(*(columns.get(name, blank) for name in COLUMNS), strict=True)
        with self._lock:
            for point_id, record in enumerate(records, first_id):
                self._put(point_id, record)
        if n_rows:
            self._has |= dict.fromkeys(columns, True)
            if "keys" in columns:
                self._kind = type(columns["keys"][0])

    def _put(self, point_id: int, record: Record) -> None:
        self._coming[point_id] = record
        if record[0] is not None:
            self._coming_keys[record[0]] = point_id

    def drop_from(self, first_id: int) -> None:
        if not self._coming and first_id > 0:
            return
        with self._lock:
            staged = itertools.takewhile(lambda i: i >= first_id, reversed(self._coming))
            for point_id in list(staged):  # they came last
                if self._coming[point_id] is not _GONE:
                    self._drop(point_id)
            if first_id == 0:
                self._has, self._kind = dict.fromkeys(COLUMNS, False), None

    def _drop(self, point_id: int) -> None:
        record = self._coming.pop(point_id)
        if record is not _GONE and self._coming_keys.get(record[0]) == point_id:
            del self._coming_keys[record[0]]

    def forget(self, ids: Iterable[int]) -> None:
        with self._lock:
            for point_id in ids:
                if point_id in self._coming:
                    self._drop(point_id)
                self._coming[point_id] = _GONE

    def revise(self, ids: Iterable[int], columns: dict[str, list[Any]]) -> None:
        ids = list(ids)
        self._has |= dict.fromkeys(columns, True)
        known = self.get(ids)
        for place, point_id in enumerate(ids):  # one may be given several times: the last counts
            old = dict(zip(COLUMNS, known.get(point_id, (None, None, None)), strict=True))
            new = old | {name: values[place] for name, values in columns.items()}
            known[point_id] = new["keys"], new["texts"], new["classes"]
            with self._lock:
                self._put(point_id, known[point_id])

    def coming(self, ids: Iterable[int]) -> dict[int, Any]:
        """What is on its way for some ids, to be handed back to `arrived`."""
        with self._lock:
            return {i: self._coming[i] for i in ids if i in self._coming}

    def arrived(self, settled: dict[int, Any]) -> None:
        """Drop what is in the database now, unless it has changed again since."""
        with self._lock:
            self._n_arrivals += 1
            for point_id, record in settled.items():
                if self._coming.get(point_id) is record:
                    self._drop(point_id)

    # Asking

    def get(self, ids: Sequence[int]) -> dict[int, Record]:
        """The records with these ids, those that are there."""
        with self._lock:
            here = {i: self._coming[i] for i in ids if i in self._coming}
        there = self._rows.get([i for i in ids if i not in here])
        return there | {i: record for i, record in here.items() if record is not _GONE}

    def values(self, name: str, ids: NDArray[np.int64]) -> list[Any]:
        wanted, place = ids.tolist(), COLUMNS.index(name)
        found = self.get(wanted)
        return [found[i][place] if i in found else None for i in wanted]

    def _without_keys(self) -> CorruptFileError:
        return CorruptFileError(
            "some records are not in the database: it is damaged, or they were removed just now"
        )

    def terms(self, next_id: int) -> Terms:
        """Made anew each time: memory has neither texts nor their words."""
        return Terms(self.values("texts", np.arange(next_id)))

    def row(self, ids: NDArray[np.int64]) -> dict[str, list[Any]]:
        wanted = ids.tolist()
        found = self.get(wanted)
        records = [found.get(i, (None, None, None)) for i in wanted]
        return {
            name: [record[place] for record in records]
            for place, name in enumerate(COLUMNS)
            if name in self
        }

    def _known(self, keys: Sequence[Any]) -> dict[Key, int]:
        usual = [key for key in keys if type(key) is self._kind and _is_storable(key)]
        with self._lock:
            coming = {key: self._coming_keys[key] for key in usual if key in self._coming_keys}
            n_arrivals = self._n_arrivals
        found = self._rows.find([key for key in usual if key not in coming])
        while True:
            with self._lock:
                there = {key: i for key, i in found.items() if self._coming.get(i) is not _GONE}
                if n_arrivals == self._n_arrivals or not there:
                    return there | coming
                n_arrivals = self._n_arrivals
            # What was on its way when we asked the database, and has arrived since, may be that
            # some of these are gone.
            found = self._rows.find(list(there))


def _is_storable(key: Any) -> bool:
    if isinstance(key, int):
        return -(2**63) <= key < 2**63
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
