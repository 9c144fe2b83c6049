"""What the explorer asks for, as routes."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from . import schemas
from .answers import answers
from .clusters import Asked
from .exploring import KINDS, PACKED, Explored, Page, View, Wanted
from .gate import MAY_CHANGE
from .limits import Limits
from .service import Service
from .turns import Turns

_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {PACKED: {"schema": {"type": "string", "format": "binary"}}}}
}
_WRONG = answers(404, 409)

Place = Annotated[int, Query(ge=0, le=2**31, description="A position, counted from the left.")]
Id = Annotated[int, Query(ge=0, le=2**62, description="The id of a record in it.")]
Order = Annotated[int, Query(ge=0, le=62, description="The binary order of its size.")]
Q = Annotated[str, Query(max_length=2000, description="Words of texts, or a key.")]


def make_router(service: Service) -> APIRouter:
    router, explored = APIRouter(tags=["explorer"]), Explored(service)

    @router.get("/explorer")
    async def explorer(request: Request) -> schemas.Explorer:
        """What the explorer has to know first."""
        return await service.turns.slow(explored.about, bool(request.scope.get(MAY_CHANGE)))

    paged = _paged(service.limits)
    _route_boxes(router, explored, service.turns)
    _route_records(router, explored, service, paged)
    _route_clusters(router, explored, service.turns, paged)
    _route_changes(router, explored, service.turns)
    return router


def _paged(limits: Limits) -> Any:
    """The parameters of a list that is read page by page."""

    async def page(
        skip: Annotated[int, Query(ge=0, le=2**31, description="Rows before the first one.")] = 0,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 50,
    ) -> Page:
        return Page(skip, limit)

    return Depends(page)


async def _view(
    left: Annotated[int, Query(ge=-(2**62), le=2**62)] = 0,
    right: Annotated[int, Query(ge=-(2**62), le=2**62)] = 2**62,
    smallest: Annotated[int, Query(ge=1, le=2**62, description="Points of a box.")] = 1,
    anchor: Annotated[
        int | None,
        Query(ge=0, le=2**62, description="A record: then positions count from there."),
    ] = None,
) -> View:
    return View(left, right, smallest, anchor)


async def _wanted(
    sort: Annotated[str, Query(pattern="^(size|small|number|newest|sure|doubt)$")] = "size",
    least: Annotated[int, Query(ge=1, le=2**62, description="Records of a cluster.")] = 1,
    most: Annotated[int, Query(ge=1, le=2**62)] = 2**62,
    q: Q = "",
) -> Wanted:
    return Wanted(sort, least, most, q)


def _route_boxes(router: APIRouter, explored: Explored, turns: Turns) -> None:
    @router.get("/explorer/boxes", responses=_WRONG | _BYTES, response_model=schemas.BoxesInView)
    async def boxes(
        view: Annotated[View, Depends(_view)],
        how: Asked,
        packed: Annotated[bool, Query(description="As bytes, for the page.")] = False,
    ) -> Response:
        """Boxes that can be seen between two positions, and the clusters they are in.

        Points have positions from left to right, in the order of the tree. A box is a part of the
        tree, and takes one row. At most 20,000 are told, the largest.
        """
        return await turns.slow(explored.boxes, how, view, packed)

    @router.get("/explorer/names", responses=_WRONG)
    async def box_names(
        box: Annotated[
            list[str],
            Query(max_length=100, description="Boxes: the id of a record, a point, the order."),
        ],
    ) -> schemas.Names:
        """What boxes are about: keywords, and a record close to the mean."""
        return await turns.slow(explored.names, box)

    @router.get("/explorer/box", responses=_WRONG)
    async def one_box(first: Id, order: Order) -> schemas.Box:
        """The box of an order of size around a record."""
        return await turns.slow(explored.box, first, order)

    @router.get("/explorer/path", responses=_WRONG)
    async def path(first: Id, order: Order) -> schemas.Path:
        """The boxes around a record, from the whole tree down to an order of size."""
        return await turns.slow(explored.path, first, order)


def _route_records(router: APIRouter, explored: Explored, service: Service, paged: Any) -> None:
    turns, most = service.turns, service.limits.page

    @router.get("/explorer/records", responses=_WRONG)
    async def records_between(left: Place, right: Place, how: Asked) -> schemas.RowsInOrder:
        """The records from one position up to another, 1,000 at most."""
        return await turns.slow(explored.between, how, left, min(right, left + most))

    @router.get("/explorer/members", responses=_WRONG)
    async def members(
        of: Id,
        how: Asked,
        page: Annotated[Page, paged],
        order: Annotated[
            int | None, Query(ge=0, le=62, description="Of a box, not a cluster.")
        ] = None,
    ) -> schemas.RowsInOrder:
        """The records of the cluster that one is in, or of a box, in the order of the tree."""
        return await turns.slow(explored.members, how, of, order, page)

    @router.get("/explorer/search", responses=_WRONG)
    async def search_in_order(
        q: Q, how: Asked, page: Annotated[Page, paged]
    ) -> schemas.FoundInOrder:
        """Records that have these words in text or key, with their clusters; all are counted.

        That with this very key comes first. The last word may be the beginning of one.
        """
        return await turns.slow(explored.found, how, q, page)


def _route_clusters(router: APIRouter, explored: Explored, turns: Turns, paged: Any) -> None:
    @router.get("/explorer/clusters", responses=_WRONG)
    async def clusters_in_order(
        wanted: Annotated[Wanted, Depends(_wanted)], how: Asked, page: Annotated[Page, paged]
    ) -> schemas.ClusterRows:
        """Clusters in some order; only those of some sizes, or with records that have some words.

        "size" and "small" are the largest and the smallest first; "sure" and "doubt" the most and
        the least confident first, by the mean of their records; "newest" the largest
        number first.
        """
        return await turns.slow(explored.clusters, how, wanted, page)

    @router.get("/explorer/cluster", responses=_WRONG)
    async def cluster_of(of: Id, how: Asked) -> schemas.ClusterOf:
        """The cluster that a record is in: what it is about, what was said, what became of it."""
        return await turns.slow(explored.cluster, how, of)


def _route_changes(router: APIRouter, explored: Explored, turns: Turns) -> None:
    @router.get("/explorer/numbered", responses=answers(404, 410))
    async def numbered(
        number: Annotated[int, Query(ge=0, le=2**62)],
    ) -> schemas.Numbered:
        """A record of the standing cluster with a number."""
        return await turns.quick(explored.numbered, number)

    @router.get("/explorer/since")
    async def since(
        seconds: Annotated[float | None, Query(ge=0, le=1e10, allow_inf_nan=False)] = None,
        kind: Annotated[
            str | None, Query(pattern=f"^({'|'.join(KINDS)})$", description="Only of one kind.")
        ] = None,
    ) -> schemas.Since:
        """What has become of standing clusters in the last so many seconds; the newest first."""
        return await turns.quick(explored.since, seconds, kind)
