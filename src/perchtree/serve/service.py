"""What all parts of the service share: the collection, who may change it, and how records look."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..collection import Collection
from ..collection.kept import KeptRecords
from ..inert import one_line
from .limits import Limits
from .metrics import Metrics
from .moments import Moments
from .problems import Problem
from .schemas import Shown
from .standing import StandingClusters
from .turns import Turns
from .versions import SUGGESTED, Clustering, How, Version, Versions

_READ_AT_ONCE = 500
"""Records that are read from the database at once: others wait meanwhile."""


class Service:
    """A collection that a folder keeps, and all that is needed to serve it."""

    def __init__(
        self, collection: Collection, path: str | Path, limits: Limits | None = None
    ) -> None:
        self.collection, self.limits = collection, limits or Limits()
        self.hidden = str(path)
        """What no answer may contain."""
        self.title = one_line(Path(path).resolve().stem)
        """What a page is called."""
        self.turns = Turns(self.limits)
        self.standing = StandingClusters(collection)
        self.versions = Versions(collection, lambda version: self._prepare(version))
        self.metrics = Metrics()
        self.moments = Moments(collection)
        if self.standing.last_event == 0:
            self.moments.note(0)
        self._watch()
        if len(collection):
            collection.tree.reserve(1)  # here, where nobody waits for it
        self.n_streams = 0
        self._changed: asyncio.Event | None = None
        """Set, and replaced, when something has changed."""
        self.is_open = True

    def _watch(self) -> None:
        watch, collection, turns = self.metrics.watch, self.collection, self.turns
        watch("points", "Records in the collection.", lambda: len(collection))
        watch("operation", "The last operation on the disk.", lambda: collection.operation)
        watch("writes", "Changes that wait or are being made.", lambda: turns.writes)
        watch("body_bytes", "Bytes of bodies in memory.", lambda: turns.held_bytes)
        watch("streams", "Event streams.", lambda: self.n_streams)
        watch("writable", "Whether changes are possible.", lambda: self.is_writable)

    @property
    def records(self) -> KeptRecords:
        records = self.collection.records
        assert isinstance(records, KeptRecords)
        return records

    @property
    def is_writable(self) -> bool:
        return self.is_open and not self.turns.is_closing and self.collection.is_writable

    # Changes, for those that wait for one

    def tell_change(self) -> None:
        """Wake up whoever waits for changes; call it in the event loop."""
        self.versions.note_change()
        self.moments.note(self.standing.last_event)
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def next_change(self) -> asyncio.Event:
        """What the next change from now on sets. Take it first, then read, then wait for it: a
        change that comes while one reads is not missed."""
        self._changed = self._changed or asyncio.Event()
        return self._changed

    # Records

    def as_key(self, text: str) -> str | int:
        """The key that a path or a query names, in the kind that keys have here."""
        if self.collection.has_keys and self.records.kind is str:
            return text
        try:
            number = int(text) if text.isascii() and len(text) < 21 else None
        except ValueError:
            number = None
        if number is not None and text == str(number):
            return number
        if len(self.collection) == 0:
            return text
        raise Problem(404, "keys are whole numbers here")

    def find(self, keys: Sequence[Any]) -> NDArray[np.int64]:
        """The ids of records, -1 where there is none."""
        if len(self.collection) == 0:
            return np.full(len(keys), -1)
        if not self.collection.has_keys:  # then ids are the keys, and texts are none
            keys = [key if type(key) is int else -1 for key in keys]
        ids = self.records.find(list(keys))
        return np.where(self.collection.tree.holds(ids), ids, -1)

    def find_one(self, key: Any) -> int:
        """The id of a record; a 404 if there is none."""
        found = int(self.find([key])[0])
        if found < 0:
            raise Problem(404, "there is no record with that key")
        return found

    def read(self, ids: Iterable[int]) -> dict[int, tuple[Any, Any, Any]]:
        """Key, text and class of points, of those that are still there."""
        wanted, found = list(ids), {}
        for start in range(0, len(wanted), _READ_AT_ONCE):
            found.update(self.records.get(wanted[start : start + _READ_AT_ONCE]))
        has_keys = self.collection.has_keys
        return {i: (record[0] if has_keys else i, *record[1:]) for i, record in found.items()}

    def show(self, ids: Iterable[int]) -> dict[int, Shown]:
        """Points as lists show them, with their standing clusters; those that are still there."""
        found = self.read(ids)
        clusters = self.standing.clusters_of(list(found))
        return {
            point_id: Shown(
                **{"key": key, "text": _text(text), "class": class_, "cluster": cluster}
            )
            for (point_id, (key, text, class_)), cluster in zip(
                found.items(), clusters, strict=True
            )
        }

    def nearest(self, rows: NDArray[Any], k: int) -> list[tuple[list[int], list[Any], list[float]]]:
        """Ids, keys and distances of the k nearest records of each row.

        A neighbour that is removed before its key is read is left out.
        """
        ids, distances = self.collection.tree.nearest(rows, k)
        found = self.read(set(ids.ravel().tolist()))
        answers = []
        for near, far in zip(ids.tolist(), distances.tolist(), strict=True):
            there = [(i, found[i][0], d) for i, d in zip(near, far, strict=True) if i in found]
            answers.append(tuple(map(list, zip(*there, strict=True))) if there else ([], [], []))
        return answers  # type: ignore[return-value]

    # Clusterings of a recent version

    def clustering(self, how: How | None) -> Clustering:
        """A clustering of the present version; without a wish, the one that stands, or persists."""
        version = self.versions.current()
        return version.clustering(how or self.usual)

    @property
    def usual(self) -> How:
        """The clustering that is meant if none is asked for."""
        distance = self.standing.distance
        return SUGGESTED if distance is None else How("standing", distance)

    def _prepare(self, version: Version) -> None:
        """Make ready what reads of single records, and pictures, want of a version."""
        version.boxes  # noqa: B018
        if self.standing.is_kept:
            version.clustering(self.usual).confidence  # noqa: B018

    def confidence(self, version: Version, place: int) -> float | None:
        """How firmly a point sits in its cluster; None if that would take long to find."""
        clustering = version.known(self.usual)
        return None if clustering is None else round(float(clustering.confidence[place]), 3)

    def vectors_of(self, vectors: Any, texts: Any) -> NDArray[Any]:
        """Rows to ask about, from vectors or texts, whichever the collection takes."""
        if (vectors is None) == (texts is None):
            raise Problem(422, "give either vectors or texts")
        if len(self.collection) == 0:
            raise Problem(409, "the collection is empty: add records first")
        if texts is not None:
            return self.collection.encode(texts)
        if self.collection.encoder is not None:
            raise Problem(422, "vectors of this collection are made of texts: give texts")
        wanted = self.collection.tree.n_features
        for row, vector in enumerate(vectors):
            if len(vector) != wanted:
                raise Problem(422, f"row {row} has {len(vector)} numbers, expected {wanted}")
        return np.array(vectors, np.float64).reshape(len(vectors), wanted)


def _text(text: Any) -> str | None:
    return None if text is None else str(text)
