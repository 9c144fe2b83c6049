"""Points: adding, replacing, removing and reading them."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request
from starlette.convertors import Convertor, register_url_convertor

from . import schemas
from .answers import answers, links
from .bodies import check_kind, json_body, read_json
from .changes import Changes
from .formats import read_points
from .gate import ARROW, JSON, NPY
from .service import Service
from .showing import Shower


class _Anything(Convertor[str]):
    """Any text in a path, with slashes and line ends."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _Anything())

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_KEY = Path(description="The key; slashes may stay as they are.", max_length=1024)
_POINT = "$response.body#/points/0/key"


def make_router(service: Service, changes: Changes) -> APIRouter:
    router = APIRouter(tags=["points"])
    _route_additions(router, service, changes)
    _route_reading(router, service)
    _route_changes(router, service, changes)
    return router


def _route_additions(router: APIRouter, service: Service, changes: Changes) -> None:
    turns, shown = service.turns, Shower(service)

    @router.post(
        "/points",
        responses=answers(409)
        | links(get_point={"key": _POINT}, put_point={"key": _POINT}, delete_point={"key": _POINT}),
        openapi_extra=json_body(
            schemas.Points,
            "Records. In bulk, an Arrow stream with the columns key, vector, text and class; or "
            "vectors and then keys, each as numpy.save writes them, one after the other.",
            **{ARROW: _BINARY, NPY: _BINARY},
        ),
    )
    async def add_points(
        request: Request,
        request_id: Annotated[str | None, Header(alias="Idempotency-Key", max_length=128)] = None,
    ) -> schemas.Added:
        """Add records; the answer comes when they are on disk.

        A repeated request does no harm: a record that is there under its key already, exactly so,
        is counted as unchanged; another record under that key is a 409, and nothing is added.
        Records without keys need an Idempotency-Key to be recognised.
        """
        kind = check_kind(request, JSON, ARROW, NPY)
        body = await request.body()
        batch = await turns.quick(read_points, kind, body, service.limits)
        ids, unchanged = await turns.write(changes.add, batch, request_id)
        service.tell_change()
        return await turns.quick(shown.added, batch, ids, unchanged)


def _route_reading(router: APIRouter, service: Service) -> None:
    turns, limits, shown = service.turns, service.limits, Shower(service)

    @router.get("/points")
    async def get_points(
        key: Annotated[list[str], Query(min_length=1, max_length=limits.page)],
    ) -> schemas.FoundSeveral:
        """Several records, by `?key=a&key=b`; also those whose keys are "." and ".."."""
        return await turns.quick(shown.several, key)

    @router.get(
        "/points/{key:anything}",
        responses=answers(404) | links(get_tree={"node": "$response.body#/path/0/node"}),
    )
    async def get_point(
        key: Annotated[str, _KEY],
        vector: Annotated[bool, Query(description="Also tell its vector.")] = False,
    ) -> schemas.Found:
        """A record, its cluster, how firmly it sits there, and its path to the root."""
        return await turns.quick(shown.one, key, vector)


def _route_changes(router: APIRouter, service: Service, changes: Changes) -> None:
    turns, collection, shown = service.turns, service.collection, Shower(service)

    @router.put(
        "/points/{key:anything}", responses=answers(404), openapi_extra=json_body(schemas.Record)
    )
    async def put_point(request: Request, key: Annotated[str, _KEY]) -> schemas.Stored:
        """Store a record under a key, whatever was there. It keeps its vector if none is given."""
        record = await read_json(request, schemas.Record, turns)
        wanted = await turns.quick(service.as_key, key)
        created = await turns.write(changes.put, wanted, record)
        service.tell_change()
        return await turns.quick(shown.stored, wanted, created)

    @router.delete("/points/{key:anything}", responses=answers(404))
    async def delete_point(key: Annotated[str, _KEY]) -> schemas.Removed:
        """Remove a record, with all that is known of it."""
        wanted = await turns.quick(service.as_key, key)
        removed = await turns.write(changes.remove, [wanted], missing_ok=False)
        service.tell_change()
        return schemas.Removed(operation=collection.operation, removed=removed)

    @router.post("/removals", responses=answers(404), openapi_extra=json_body(schemas.Keys))
    async def remove_points(request: Request) -> schemas.Removed:
        """Remove several records; all of them, or none if one is missing and that is not ok."""
        given = await read_json(request, schemas.Keys, turns)
        removed = await turns.write(changes.remove, given.keys, missing_ok=given.missing_ok)
        service.tell_change()
        return schemas.Removed(operation=collection.operation, removed=removed)
