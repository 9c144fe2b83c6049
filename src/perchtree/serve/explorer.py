"""The explorer: its page and modules, and what they ask for."""

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from numpy.typing import NDArray

from ..html.assets import ICON, STYLE, module_names, read_asset
from ..html.packing import Columns
from ..html.packing import packed as packed_columns
from ..html.page import filled_page
from . import schemas
from .answers import answers
from .clusters import K, MinSize, Threshold, asked
from .describing import Topics
from .gate import MAY_CHANGE
from .picture import Picture, thresholds
from .problems import Problem
from .search import find_records
from .service import Service
from .standing import as_events
from .versions import How

_FOLDER = "/assets/explorer"
_PACKED = "application/octet-stream"
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {_PACKED: {"schema": {"type": "string", "format": "binary"}}}}
}
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_EVENTS = 5_000
"""Events that are counted, the newest."""
_TOLD = 200
_ABOUT_ONE = 2_000
"""Events among which those of one cluster are looked for."""

Skip = Annotated[int, Query(ge=0, le=2**31, description="Rows before the first one.")]
Id = Annotated[int, Query(ge=0, le=2**62, description="The id of a record in it.")]
Order = Annotated[int, Query(ge=0, le=62, description="The binary order of its size.")]
Q = Annotated[str, Query(max_length=2000, description="Words of texts, or a key.")]


def make_router(service: Service) -> APIRouter:
    router, turns, limits = APIRouter(tags=["explorer"]), service.turns, service.limits
    topics = Topics(service)
    wrong = answers(404, 409)
    Limit = Annotated[int, Query(ge=1, le=limits.page)]

    @router.get("/explorer")
    async def explorer(request: Request) -> schemas.Explorer:
        """What the explorer has to know first."""
        may_change = bool(request.scope.get(MAY_CHANGE))
        return await turns.slow(_about, may_change)

    def _about(may_change: bool) -> schemas.Explorer:
        version = service.versions.current() if len(service.collection) else None
        return schemas.Explorer(
            version=None if version is None else version.operation, may_change=may_change,
            corrections=len(service.collection.pairs),
            thresholds=[] if version is None else thresholds(version),
        )  # fmt: skip

    @router.get("/explorer/boxes", responses=wrong | _BYTES, response_model=schemas.BoxesInView)
    async def boxes(
        left: Annotated[int, Query(ge=-(2**62), le=2**62)] = 0,
        right: Annotated[int, Query(ge=-(2**62), le=2**62)] = 2**62,
        smallest: Annotated[int, Query(ge=1, le=2**62, description="Points of a box.")] = 1,
        anchor: Annotated[
            int | None,
            Query(ge=0, le=2**62, description="A record: then positions count from there."),
        ] = None,
        k: K = None,
        min_size: MinSize = None,
        threshold: Threshold = None,
        packed: Annotated[bool, Query(description="As bytes, for the page.")] = False,
    ) -> Response:
        """Boxes that can be seen between two positions, and the clusters they are in.

        Points have positions from left to right, in the order of the tree. A box is a part of the
        tree, and takes one row. At most 20,000 are told, the largest.
        """
        how = asked(k, min_size, threshold)
        return await turns.slow(_boxes, how, left, right, smallest, anchor, packed)

    def _boxes(
        how: How | None, left: int, right: int, smallest: int, anchor: int | None, packed: bool
    ) -> Response:
        picture = Picture(service, how)
        if anchor is not None:
            base = picture.position(anchor)
            left, right = left + base, right + base
        told = {
            "operation": picture.version.operation, "points": picture.version.table.n_points,
            "left": left, "n_clusters": len(picture.clustering),
        }  # fmt: skip
        columns = picture.columns(left, right, smallest)
        if packed:
            return Response(as_packed(told, columns), media_type=_PACKED)
        lists = {name: _listed(column) for name, column in columns.items()}
        return Response(json.dumps(told | {"columns": lists}), media_type="application/json")

    @router.get("/explorer/names", responses=wrong)
    async def box_names(
        box: Annotated[
            list[str],
            Query(max_length=100, description="Boxes: the id of a record, a point, the order."),
        ],
    ) -> schemas.Names:
        """What boxes are about: keywords, and a record close to the mean."""
        return await turns.slow(_names, box)

    def _names(names: list[str]) -> schemas.Names:
        picture = Picture(service, None)
        found = picture.names_of([_parsed(picture, name) for name in names], topics)
        return schemas.Names(names=[schemas.Name(**name) for name in found])

    @router.get("/explorer/box", responses=wrong)
    async def one_box(first: Id, order: Order) -> schemas.Box:
        """The box of an order of size around a record."""

        def read() -> schemas.Box:
            picture = Picture(service, None)
            box = picture.box(first, order)
            (name,) = picture.names_of([box], topics)
            classes = picture.classes(picture.ids_of_box(box))
            return schemas.Box(**picture.described_box(box), **name, classes=classes)

        return await turns.slow(read)

    @router.get("/explorer/path", responses=wrong)
    async def path(first: Id, order: Order) -> schemas.Path:
        """The boxes around a record, from the whole tree down to an order of size."""

        def read() -> schemas.Path:
            picture = Picture(service, None)
            found = [picture.described_box(box) for box in picture.path(first, order)]
            return schemas.Path(boxes=[schemas.Drawn(**box) for box in found])

        return await turns.slow(read)

    @router.get("/explorer/records", responses=wrong)
    async def records_between(
        left: Skip, right: Skip, k: K = None, min_size: MinSize = None, threshold: Threshold = None
    ) -> schemas.RowsInOrder:
        """The records from one position up to another, 1,000 at most."""
        how = asked(k, min_size, threshold)

        def read() -> schemas.RowsInOrder:
            rows = Picture(service, how).between(left, min(right, left + limits.page))
            return schemas.RowsInOrder(total=len(rows), rows=[schemas.Row(**row) for row in rows])

        return await turns.slow(read)

    @router.get("/explorer/members", responses=wrong)
    async def members(
        of: Id,
        order: Annotated[
            int | None, Query(ge=0, le=62, description="Of a box, not a cluster.")
        ] = None,
        skip: Skip = 0,
        limit: Limit = 50,
        k: K = None,
        min_size: MinSize = None,
        threshold: Threshold = None,
    ) -> schemas.RowsInOrder:
        """The records of the cluster that one is in, or of a box, in the order of the tree."""
        how = asked(k, min_size, threshold)

        def read() -> schemas.RowsInOrder:
            picture = Picture(service, how)
            if order is None:
                ids = picture.members(picture.label(of))
            else:
                ids = picture.ids_of_box(picture.box(of, order))
            return _page(picture, ids.tolist(), skip, limit)

        return await turns.slow(read)

    @router.get("/explorer/clusters", responses=wrong)
    async def clusters_in_order(
        sort: Annotated[str, Query(pattern="^(size|small|number|doubt)$")] = "size",
        least: Annotated[int, Query(ge=1, le=2**62, description="Records of a cluster.")] = 1,
        most: Annotated[int, Query(ge=1, le=2**62)] = 2**62,
        q: Q = "",
        skip: Skip = 0,
        limit: Limit = 50,
        k: K = None,
        min_size: MinSize = None,
        threshold: Threshold = None,
    ) -> schemas.ClusterRows:
        """Clusters in some order; only those of some sizes, or with records that have some words.

        "doubt" is the least sure first, by the mean confidence of their records.
        """
        how = asked(k, min_size, threshold)

        def read() -> schemas.ClusterRows:
            picture = Picture(service, how)
            holders = np.array(find_records(service, q)[0], np.int64) if q.strip() else None
            found = picture.listed(sort, least, most, holders)
            described = picture.described(found[skip : skip + limit], topics)
            return schemas.ClusterRows(
                operation=picture.version.operation, total=len(found),
                n_clusters=len(picture.clustering),
                rows=[schemas.ClusterRow(**row) for row in described],
            )  # fmt: skip

        return await turns.slow(read)

    @router.get("/explorer/cluster", responses=wrong)
    async def cluster_of(
        of: Id, k: K = None, min_size: MinSize = None, threshold: Threshold = None
    ) -> schemas.ClusterOf:
        """The cluster that a record is in: what it is about, what was said, what became of it."""
        return await turns.slow(_cluster, of, asked(k, min_size, threshold))

    def _cluster(of: int, how: How | None) -> schemas.ClusterOf:
        picture = Picture(service, how)
        label = picture.label(of)
        (row,) = picture.described(np.array([label]), topics)
        said = []
        for kind, *pair in service.collection.pairs:
            if any(_label(picture, i) == label for i in pair):
                shown = {record["id"]: record for record in picture.records(pair)}
                if len(shown) == 2:
                    a, b = (schemas.Row(**shown[i]) for i in pair)
                    said.append(schemas.SaidOf(kind=kind, a=a, b=b))
        changes = None
        if picture.clustering.how.by == "standing" and row["number"] is not None:
            changes = _about_one(row["number"])
        return schemas.ClusterOf(
            **row, classes=picture.classes(picture.members(label)), said=said, changes=changes
        )

    def _about_one(number: int) -> list[schemas.Event]:
        """The last events of a cluster, the newest first."""
        last = service.standing.last_event or 0
        recent = service.standing.events(max(0, last - _ABOUT_ONE), _ABOUT_ONE)
        own = [event for event in recent if number in (*event.before, *event.after)]
        return as_events(own[::-1][:20], service.moments.time_of)

    @router.get("/explorer/search", responses=wrong)
    async def search_in_order(
        q: Q,
        skip: Skip = 0,
        limit: Limit = 50,
        k: K = None,
        min_size: MinSize = None,
        threshold: Threshold = None,
    ) -> schemas.FoundInOrder:
        """Records that have these words in text or key, with their clusters; all are counted.

        That with this very key comes first. The last word may be the beginning of one.
        """
        how = asked(k, min_size, threshold)

        def read() -> schemas.FoundInOrder:
            ids, more = find_records(service, q)
            found = _page(Picture(service, how), ids, skip, limit)
            n_points = len(service.collection)
            return schemas.FoundInOrder(
                **found.model_dump(by_alias=False), more=more, searched=n_points, of=n_points
            )

        return await turns.slow(read)

    @router.get("/explorer/numbered", responses=answers(404, 410))
    async def numbered(
        number: Annotated[int, Query(ge=0, le=2**62)],
    ) -> schemas.Numbered:
        """A record of the standing cluster with a number."""
        ids = await turns.quick(service.standing.members, number)
        return schemas.Numbered(number=number, of=int(ids[0]))

    @router.get("/explorer/since")
    async def since(
        seconds: Annotated[float | None, Query(ge=0, le=1e10, allow_inf_nan=False)] = None,
    ) -> schemas.Since:
        """What has become of standing clusters in the last so many seconds; the newest first."""
        return await turns.quick(_since, seconds)

    def _since(seconds: float | None) -> schemas.Since:
        last, known, start = service.standing.last_event or 0, True, 0
        if seconds is not None:
            start, known = service.moments.event_at(time.time() - seconds)
        events = service.standing.events(max(start, last - _EVENTS), _EVENTS)
        return schemas.Since(
            total=last - start if last > start else 0, known=known,
            noted_from=service.moments.first,
            counts=dict(Counter(event.kind for event in events)),
            events=as_events(events[::-1][:_TOLD], service.moments.time_of),
        )  # fmt: skip

    return router


def make_page_router() -> APIRouter:
    """The page and its parts: they hold no data."""
    router = APIRouter()
    page = filled_page(
        title="perchtree", policy="", data="",
        style=f'<link rel="stylesheet" href="{_FOLDER}/{STYLE}">\n'
        f'<link rel="icon" href="{_FOLDER}/{ICON}">',
        script="".join(
            f'<link rel="modulepreload" href="{_FOLDER}/{name}">\n' for name in module_names()
        ) + f'<script type="module" src="{_FOLDER}/main.js"></script>',
    )  # fmt: skip

    @router.get("/", include_in_schema=False)
    async def first() -> Response:
        return Response(page, media_type="text/html; charset=utf-8")

    for name in (*module_names(), STYLE, ICON):
        router.add_api_route(f"{_FOLDER}/{name}", _served(name), include_in_schema=False)
    return router


def _served(name: str) -> Callable[[], Any]:
    text = read_asset(name)
    kind = _KINDS[name.rpartition(".")[2]]

    async def asset() -> Response:
        return Response(text, media_type=f"{kind}; charset=utf-8")

    return asset


def _page(picture: Picture, ids: list[int], skip: int, limit: int) -> schemas.RowsInOrder:
    rows = picture.records(ids[skip : skip + limit])
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
