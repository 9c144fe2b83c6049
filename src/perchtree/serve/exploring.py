"""What the explorer asks for, as answers: each is made in one thread, of one version."""

import json
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from fastapi import Response
from numpy.typing import NDArray

from ..html.packing import Columns
from ..html.packing import packed as packed_columns
from . import schemas
from .describing import Topics
from .picture import Picture, thresholds
from .problems import Problem
from .search import find_records
from .service import Service
from .standing import as_events
from .versions import How

PACKED = "application/octet-stream"
KINDS = ("birth", "merge", "split", "end", "join", "move", "leave")
"""Of events."""
_EVENTS = 5_000
"""Events that are counted, the newest."""
_TOLD = 200
_KEYED = ("join", "move")
"""Kinds of events that are about some records of a cluster, not all."""
_ABOUT_ONE = 2_000
"""Events among which those of one cluster are looked for."""


class Page(NamedTuple):
    """A part of a list."""

    skip: int
    limit: int

    @property
    def part(self) -> slice:
        return slice(self.skip, self.skip + self.limit)


class View(NamedTuple):
    """A part of the picture: from one position to another, and the smallest box to be seen."""

    left: int
    right: int
    smallest: int
    anchor: int | None
    """A record that positions count from; None if they count from the left end."""


class Wanted(NamedTuple):
    """Clusters in some order, of so many records, with records that have some words."""

    sort: str
    least: int
    most: int
    words: str


class Explored:
    """Makes answers of a service's versions for the explorer."""

    def __init__(self, service: Service) -> None:
        self._service, self._topics = service, Topics(service)

    def about(self, may_change: bool) -> schemas.Explorer:
        service = self._service
        version = service.versions.current() if len(service.collection) else None
        return schemas.Explorer(
            title=service.title, age=service.versions.age,
            version=None if version is None else version.operation, may_change=may_change,
            corrections=len(service.collection.pairs),
            thresholds=[] if version is None else thresholds(version),
        )  # fmt: skip

    # Boxes

    def boxes(self, how: How | None, view: View, packed: bool) -> Response:
        picture = Picture(self._service, how)
        base = 0 if view.anchor is None else picture.position(view.anchor)
        left, right = view.left + base, view.right + base
        told = {
            "operation": picture.version.operation, "points": picture.version.table.n_points,
            "left": left, "n_clusters": len(picture.clustering),
        }  # fmt: skip
        columns = picture.columns(left, right, view.smallest)
        if packed:
            return Response(as_packed(told, columns), media_type=PACKED)
        lists = {name: _listed(column) for name, column in columns.items()}
        return Response(json.dumps(told | {"columns": lists}), media_type="application/json")

    def names(self, names: list[str]) -> schemas.Names:
        picture = Picture(self._service, None)
        found = picture.names_of([_parsed(picture, name) for name in names], self._topics)
        return schemas.Names(names=[schemas.Name(**name) for name in found])

    def box(self, first: int, order: int) -> schemas.Box:
        picture = Picture(self._service, None)
        box = picture.box(first, order)
        (name,) = picture.names_of([box], self._topics)
        classes = picture.classes(picture.ids_of_box(box))
        return schemas.Box(**picture.described_box(box), **name, classes=classes)

    def path(self, first: int, order: int) -> schemas.Path:
        picture = Picture(self._service, None)
        found = [picture.described_box(box) for box in picture.path(first, order)]
        return schemas.Path(boxes=[schemas.Drawn(**box) for box in found])

    # Records

    def between(self, how: How | None, left: int, right: int) -> schemas.RowsInOrder:
        rows = Picture(self._service, how).between(left, right)
        return schemas.RowsInOrder(total=len(rows), rows=[schemas.Row(**row) for row in rows])

    def members(
        self, how: How | None, of: int, order: int | None, page: Page
    ) -> schemas.RowsInOrder:
        picture = Picture(self._service, how)
        if order is None:
            ids = picture.members(picture.label(of))
        else:
            ids = picture.ids_of_box(picture.box(of, order))
        return _rows(picture, ids.tolist(), page)

    def found(self, how: How | None, words: str, page: Page) -> schemas.FoundInOrder:
        ids, more = find_records(self._service, words)
        rows = _rows(Picture(self._service, how), ids, page)
        n_points = len(self._service.collection)
        return schemas.FoundInOrder(
            **rows.model_dump(by_alias=False), more=more, searched=n_points, of=n_points
        )

    # Clusters

    def clusters(self, how: How | None, wanted: Wanted, page: Page) -> schemas.ClusterRows:
        picture, words = Picture(self._service, how), wanted.words
        holders, more = None, False
        if words.strip():
            ids, more = find_records(self._service, words)
            holders = np.array(ids, np.int64)
        found = picture.listed(wanted.sort, wanted.least, wanted.most, holders)
        described = picture.described(found[page.part], self._topics)
        return schemas.ClusterRows(
            operation=picture.version.operation, total=len(found),
            n_clusters=len(picture.clustering), more=more,
            rows=[schemas.ClusterRow(**row) for row in described],
        )  # fmt: skip

    def cluster(self, how: How | None, of: int) -> schemas.ClusterOf:
        picture = Picture(self._service, how)
        label = picture.label(of)
        (row,) = picture.described(np.array([label]), self._topics)
        changes = None
        if picture.clustering.how.by == "standing" and row["number"] is not None:
            changes = self._about_one(row["number"])
        return schemas.ClusterOf(
            **row, classes=picture.classes(picture.members(label)),
            said=self._said(picture, label), changes=changes,
        )  # fmt: skip

    def _said(self, picture: Picture, label: int) -> list[schemas.SaidOf]:
        """What was said about the records of a cluster."""
        said = []
        for kind, *pair in self._service.collection.pairs:
            if any(_label(picture, i) == label for i in pair):
                shown = {record["id"]: record for record in picture.records(pair)}
                if len(shown) == 2:
                    a, b = (schemas.Row(**shown[i]) for i in pair)
                    said.append(schemas.SaidOf(kind=kind, a=a, b=b))
        return said

    def _about_one(self, number: int) -> list[schemas.Event]:
        """The last events of a cluster, the newest first."""
        standing = self._service.standing
        last = standing.last_event or 0
        recent = standing.events(max(0, last - _ABOUT_ONE), _ABOUT_ONE)
        own = [event for event in recent if number in (*event.before, *event.after)]
        return as_events(own[::-1][:20], self._service.moments.time_of)

    def numbered(self, number: int) -> schemas.Numbered:
        ids = self._service.standing.members(number)
        return schemas.Numbered(number=number, of=int(ids[0]))

    def since(self, seconds: float | None, kind: str | None) -> schemas.Since:
        standing, moments = self._service.standing, self._service.moments
        last, known, start = standing.last_event or 0, True, 0
        if seconds is not None:
            start, known = moments.event_at(time.time() - seconds)
        events = standing.events(max(start, last - _EVENTS), _EVENTS)
        records: Counter[str] = Counter()
        for event in events:
            records[event.kind] += len(event.keys) if event.kind in _KEYED else event.points
        wanted = [event for event in events if kind in (None, event.kind)]
        return schemas.Since(
            total=max(last - start, 0), known=known, noted_from=moments.first, counted=len(events),
            counts=dict(Counter(event.kind for event in events)), records=dict(records),
            events=as_events(wanted[::-1][:_TOLD], moments.time_of),
        )  # fmt: skip


def _rows(picture: Picture, ids: list[int], page: Page) -> schemas.RowsInOrder:
    rows = picture.records(ids[page.part])
    return schemas.RowsInOrder(total=len(ids), rows=[schemas.Row(**row) for row in rows])


def _listed(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind == "f":
        return [float(f"{value:.4g}") for value in column.tolist()]
    return [None if value < 0 else value for value in column.tolist()]


def as_packed(told: dict[str, Any], columns: Columns) -> bytes:
    """Columns as a page takes them, "none" as the largest number."""
    return packed_columns(
        told,
        {
            name: column if column.dtype.kind == "f" else column.astype(np.uint32)
            for name, column in columns.items()
        },
    )


def _parsed(picture: Picture, name: str) -> int:
    first, _, order = name.partition(".")
    if not (first.isdecimal() and order.isdecimal() and first.isascii() and len(name) < 24):
        raise Problem(422, "box: give the id of a record, a point, and the order, such as 17.4")
    return picture.box(int(first), int(order))


def _label(picture: Picture, point_id: int) -> int | None:
    place = picture.version.place(point_id)
    return None if place is None else int(picture.clustering.labels[place])
