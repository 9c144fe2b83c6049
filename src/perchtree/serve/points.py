"""Points: adding, replacing, removing and reading them; neighbours, and clusters of new ones."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Header, Path, Query, Request
from starlette.convertors import Convertor, register_url_convertor

from . import schemas
from .answers import answers, links
from .bodies import check_kind, json_body, read_json
from .changes import Changes
from .formats import Batch, read_points
from .gate import ARROW, JSON, NPY
from .service import Service


class _Anything(Convertor[str]):
    """Any text in a path, with slashes and line ends."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _Anything())

_ROWS_AT_ONCE = 8
"""Rows that are searched at once: others have their turn in between."""

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_KEY = Path(description="The key; slashes may stay as they are.", max_length=1024)


def make_router(service: Service, changes: Changes) -> APIRouter:
    router, turns = APIRouter(tags=["points"]), service.turns
    collection, limits = service.collection, service.limits

    @router.post(
        "/points",
        responses=answers(409)
        | links(
            get_point={"key": "$response.body#/points/0/key"},
            put_point={"key": "$response.body#/points/0/key"},
            delete_point={"key": "$response.body#/points/0/key"},
        ),
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
        batch = await turns.quick(read_points, kind, body, limits)
        ids, unchanged = await turns.write(changes.add, batch, request_id)
        service.tell_change()
        return await turns.quick(_added, ids, batch, unchanged)

    def _added(ids: Any, batch: Batch, unchanged: int) -> schemas.Added:
        clusters = service.standing.clusters_of(ids.tolist())
        keys = ids.tolist() if batch.keys is None else batch.keys
        points = [
            schemas.Placed(key=key, cluster=cluster)
            for key, cluster in zip(keys, clusters, strict=True)
        ]
        return schemas.Added(
            operation=collection.operation, added=len(ids) - unchanged, unchanged=unchanged,
            points=points,
        )  # fmt: skip

    @router.get("/points")
    async def get_points(
        key: Annotated[list[str], Query(min_length=1, max_length=limits.page)],
    ) -> schemas.FoundSeveral:
        """Several records, by `?key=a&key=b`; also those whose keys are "." and ".."."""

        def read() -> schemas.FoundSeveral:
            keys = [service.as_key(name) for name in key]
            ids = service.find(keys).tolist()
            shown = service.show([i for i in ids if i >= 0])
            return schemas.FoundSeveral(
                points=[shown[i] for i in dict.fromkeys(ids) if i in shown],
                missing=[k for k, i in zip(keys, ids, strict=True) if i not in shown],
            )

        return await turns.quick(read)

    @router.get(
        "/points/{key:anything}",
        responses=answers(404) | links(get_tree={"node": "$response.body#/path/0/node"}),
    )
    async def get_point(
        key: Annotated[str, _KEY],
        vector: Annotated[bool, Query(description="Also tell its vector.")] = False,
    ) -> schemas.Found:
        """A record, its cluster, how firmly it sits there, and its path to the root."""
        return await turns.quick(_read_point, key, vector)

    def _read_point(name: str, with_vector: bool) -> schemas.Found:
        key = service.as_key(name)
        point_id = service.find_one(key)
        shown = service.show([point_id]).get(point_id)
        if shown is None:
            service.find_one(key)  # it has just been removed, or replaced
            return _read_point(name, with_vector)
        vector = None
        if with_vector:
            vector = collection.tree.vectors(np.array([point_id]))[0].tolist()
        found = schemas.Found(
            **shown.model_dump(by_alias=False), vector=vector, operation=collection.operation
        )
        version = service.versions.peek()
        place = None if version is None else version.place(point_id)
        if version is None or place is None:
            return found
        found.version = version.operation
        numbers = version.path(int(version.table.leaves[place]))
        found.path = [
            schemas.Node(
                node=str(version.handle(number)), size=int(version.table.sizes[number]),
                height=float(version.table.heights[number]),
            )
            for number in numbers
        ]  # fmt: skip
        found.confidence = service.confidence(version, place)
        return found

    @router.put(
        "/points/{key:anything}", responses=answers(404), openapi_extra=json_body(schemas.Record)
    )
    async def put_point(request: Request, key: Annotated[str, _KEY]) -> schemas.Stored:
        """Store a record under a key, whatever was there. It keeps its vector if none is given."""
        record = await read_json(request, schemas.Record, turns)
        wanted = await turns.quick(service.as_key, key)
        created = await turns.write(changes.put, wanted, record)
        service.tell_change()

        def told() -> schemas.Stored:
            ids = service.find([wanted]).tolist()
            cluster = service.standing.clusters_of(ids)[0] if ids[0] >= 0 else None
            return schemas.Stored(operation=collection.operation, cluster=cluster, created=created)

        return await turns.quick(told)

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

    @router.post("/nearest", responses=answers(409), openapi_extra=json_body(schemas.NearestRows))
    async def nearest(request: Request) -> schemas.Nearest:
        """The k nearest records of each row."""
        asked = await read_json(request, schemas.NearestRows, turns)
        rows = await turns.quick(service.vectors_of, asked.vectors, asked.texts)
        neighbors = []
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            for _, keys, distances in await turns.quick(service.nearest, part, asked.k):
                neighbors.append(
                    [
                        schemas.Neighbor(key=key, distance=distance)
                        for key, distance in zip(keys, distances, strict=True)
                    ]
                )
        return schemas.Nearest(neighbors=neighbors)

    @router.post("/predict", responses=answers(409), openapi_extra=json_body(schemas.Rows))
    async def predict(request: Request) -> schemas.Predictions:
        """The cluster of each row: that of the record nearest to it."""
        asked = await read_json(request, schemas.Rows, turns)
        rows = await turns.quick(service.vectors_of, asked.vectors, asked.texts)
        predictions = []
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            found = await turns.quick(service.nearest, part, 1)
            for row, (ids, keys, distances) in enumerate(found):
                while not ids:  # the nearest was removed before its key was read
                    again = await turns.quick(service.nearest, part[row : row + 1], 1)
                    ids, keys, distances = again[0]
                cluster = await turns.quick(service.standing.clusters_of, ids)
                predictions.append(
                    schemas.Predicted(cluster=cluster[0], nearest=keys[0], distance=distances[0])
                )
        return schemas.Predictions(predictions=predictions)

    return router
