"""What changes the collection: adding, replacing, removing, saying what belongs together.

A request may come twice, because its answer was lost. Records under keys that have them already,
exactly so, are not added again; with records that have no keys, a request id tells.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from .._validate import as_points, as_rows
from ..collection import Collection
from ..files.contents import Contents
from ..inert import short_name
from .formats import Batch
from .problems import Problem
from .schemas import Record

_REQUESTS = "requests"
"""The name of a section of the collection."""
_REMEMBERED = 256
"""Request ids that are kept."""
_ONE_OPERATION = 4096
"""Rows without keys that may come under one request id: they are one operation."""


class Changes:
    """Changes a collection. Each method returns when what it did is on disk."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def add(self, batch: Batch, request_id: str | None) -> tuple[NDArray[np.int64], int]:
        """Add records: the ids of all of them, and how many were there already.

        A 409, and no change, if a key has another record.
        """
        collection = self._collection
        with collection.lock():
            if batch.keys is None:
                return self._add_without_keys(batch, request_id)
            known = self._known(batch)
            new = np.flatnonzero(known == NONE)
            if len(new):
                known[new] = collection.add(
                    None if batch.vectors is None else batch.vectors[new],
                    keys=_some(batch.keys, new), texts=_some(batch.texts, new),
                    classes=_some(batch.classes, new),
                )  # fmt: skip
        collection.barrier()  # others may have added what was there, and wait for the disk as well
        return known, len(known) - len(new)

    def _known(self, batch: Batch) -> NDArray[np.int64]:
        """The ids of records that are there exactly so; NONE where the key is new."""
        collection, keys = self._collection, batch.keys
        assert keys is not None
        none = np.full(len(keys), NONE)
        if len(collection) == 0 or not collection.has_keys:
            return none
        ids = collection.records.find(keys)
        there = np.flatnonzero(ids != NONE)
        if len(there) == 0:
            return none
        same = self._are_same(ids[there], _pick(batch, there))
        if not same.all():
            key = keys[there[int((~same).argmax())]]
            raise Problem(
                409, f"the key {short_name(key)} has another record: PUT replaces it, one at a time"
            )
        return ids

    def _are_same(self, ids: NDArray[np.int64], batch: Batch) -> NDArray[np.bool_]:
        """Whether records are exactly what a request says. Collapsed vectors cannot be compared."""
        collection = self._collection
        stored = collection.records.row(ids)
        nothing = [None] * len(ids)
        same = np.ones(len(ids), bool)
        for name, given in (("texts", batch.texts), ("classes", batch.classes)):
            pairs = zip(stored.get(name, nothing), given or nothing, strict=True)
            same &= np.array([a == b or str(a) == str(b) for a, b in pairs], bool)
        if batch.vectors is not None and collection.encoder is None:
            points = self._as_stored(batch.vectors)
            if not collection.settings.collapses:
                same &= (collection.tree.vectors(ids) == points).all(axis=1)
        return same

    def _add_without_keys(
        self, batch: Batch, request_id: str | None
    ) -> tuple[NDArray[np.int64], int]:
        collection = self._collection
        if request_id is not None:
            if len(batch) > _ONE_OPERATION:
                raise Problem(
                    413, f"at most {_ONE_OPERATION:,} records without keys under one request id"
                )
            known = self._requests()
            if request_id in known:
                first, length = known[request_id]
                if length != len(batch):
                    raise Problem(409, "that request id was used for other records")
                return first + np.arange(length), length
            before = collection.sections.get(_REQUESTS)
            known[request_id] = collection.next_id, len(batch)
            kept = [[name, *span] for name, span in known.items()][-_REMEMBERED:]
            collection.sections[_REQUESTS] = Contents({"requests": kept}, {}, optional=True)
        try:
            ids = collection.add(batch.vectors, texts=batch.texts, classes=batch.classes)
        except BaseException:
            if request_id is not None:
                _restore(collection.sections, _REQUESTS, before)
            raise
        return ids, 0

    def _requests(self) -> dict[str, tuple[int, int]]:
        contents = self._collection.sections.get(_REQUESTS)
        kept = [] if contents is None else contents.meta["requests"]
        return {name: (first, length) for name, first, length in kept}

    def put(self, key: Any, record: Record) -> bool:
        """Store a record under a key, whatever was there; whether the key is new.

        The record is then what the request says. Without a vector it keeps the one it has.
        """
        collection = self._collection
        vectors = None if record.vector is None else np.array([record.vector], np.float64)
        named: dict[str, Any] = {"texts": [record.text], "classes": [record.class_]}
        with collection.lock():
            old = NONE if len(collection) == 0 else int(collection.records.find([key])[0])
            if old == NONE:
                collection.add(vectors, keys=[key], **_given(named))
                return True
            if collection.encoder is not None:
                if vectors is not None or record.text is None:
                    raise Problem(422, "vectors of this collection are made of texts: give text")
                if collection.records.values("texts", np.array([old])) == [record.text]:
                    del named["texts"]
            elif vectors is not None and self._has_vector(old, vectors):
                vectors = None
            collection.update([key], vectors, **named)
        return False

    def _has_vector(self, point_id: int, vectors: NDArray[Any]) -> bool:
        collection = self._collection
        if collection.settings.collapses or not collection.tree.holds(np.array([point_id]))[0]:
            return False
        return bool(self._as_stored(vectors)[0].tolist()
                    == collection.tree.vectors(np.array([point_id]))[0].tolist())  # fmt: skip

    def _as_stored(self, vectors: NDArray[Any]) -> NDArray[np.float32]:
        """Vectors as the tree would keep them."""
        tree, cosine = self._collection.tree, self._collection.settings.is_cosine
        return as_points(as_rows(vectors, tree.n_features, cosine=cosine), cosine=cosine)

    def remove(self, keys: list[Any], *, missing_ok: bool) -> int:
        """Remove records: how many there were."""
        collection = self._collection
        with collection.lock():
            if len(collection) == 0:
                if missing_ok:
                    return 0
                raise Problem(404, "there is no record with that key")
            try:
                return len(collection.remove(keys, missing="ok" if missing_ok else "error"))
            except ValueError as error:
                raise Problem(404, str(error)) from None

    # What people say

    def say(self, kind: str, a: Any, b: Any) -> None:
        """Mark two records as belonging together or apart, or take back what was said."""
        collection = self._collection
        with collection.lock():
            self._check_there([a, b])
            try:
                if kind == "neither":
                    collection.take_back(a, b)
                else:
                    (collection.together if kind == "together" else collection.apart)(a, b)
            except ValueError as error:
                raise Problem(409, str(error)) from None

    def _check_there(self, keys: list[Any]) -> None:
        collection = self._collection
        if len(collection) == 0:
            raise Problem(404, "the collection is empty")
        try:
            collection.ids_of(keys)
        except ValueError as error:
            raise Problem(404, str(error)) from None

    def answer(self, said: list[tuple[Any, Any, bool | None]]) -> int:
        """Keep answers to questions, of which the last about a pair counts; how many there are."""
        collection = self._collection
        with collection.lock():
            self._check_there([key for a, b, _ in said for key in (a, b)])
            try:
                collection.answer([(a, b) for a, b, _ in said], [same for *_, same in said])
            except ValueError as error:
                raise Problem(422, str(error)) from None
            return len(collection.answered)


def _some(values: list[Any] | None, places: NDArray[np.int64]) -> list[Any] | None:
    return None if values is None else [values[place] for place in places.tolist()]


def _pick(batch: Batch, places: NDArray[np.int64]) -> Batch:
    vectors = None if batch.vectors is None else batch.vectors[places]
    return Batch(
        _some(batch.keys, places), vectors, _some(batch.texts, places), _some(batch.classes, places)
    )


def _given(columns: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: values for name, values in columns.items() if values != [None]}


def _restore(sections: dict[str, Contents], name: str, before: Contents | None) -> None:
    if before is None:
        sections.pop(name, None)
    else:
        sections[name] = before
