"""Neighbours and clusters of new points."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from numpy.typing import NDArray

from . import schemas
from .answers import answers
from .bodies import json_body, read_json
from .service import Service

T = TypeVar("T")

_ROWS_AT_ONCE = 8
"""Rows that are searched at once: others have their turn in between."""


def make_router(service: Service) -> APIRouter:
    router, turns = APIRouter(tags=["points"]), service.turns

    async def of_rows(asked: schemas.Rows, find: Callable[[NDArray[Any]], list[T]]) -> list[T]:
        """What is found for each row: few take one turn, which is all that most requests need."""

        def begin() -> tuple[NDArray[Any], list[T]]:
            rows = service.vectors_of(asked.vectors, asked.texts)
            return rows, find(rows[:_ROWS_AT_ONCE]) if len(rows) else []

        rows, found = await turns.quick(begin)
        for start in range(_ROWS_AT_ONCE, len(rows), _ROWS_AT_ONCE):
            found += await turns.quick(find, rows[start : start + _ROWS_AT_ONCE])
        return found

    @router.post("/nearest", responses=answers(409), openapi_extra=json_body(schemas.NearestRows))
    async def nearest(request: Request) -> schemas.Nearest:
        """The k nearest records of each row."""
        asked = await read_json(request, schemas.NearestRows, turns)
        neighbors = await of_rows(asked, lambda rows: _neighbors(service, rows, asked.k))
        return schemas.Nearest(neighbors=neighbors)

    @router.post("/predict", responses=answers(409), openapi_extra=json_body(schemas.Rows))
    async def predict(request: Request) -> schemas.Predictions:
        """The cluster of each row: that of the record nearest to it."""
        asked = await read_json(request, schemas.Rows, turns)
        predictions = await of_rows(asked, lambda rows: _predictions(service, rows))
        return schemas.Predictions(predictions=predictions)

    return router


def _neighbors(service: Service, rows: NDArray[Any], k: int) -> list[list[schemas.Neighbor]]:
    return [
        [
            schemas.Neighbor(key=key, distance=distance)
            for key, distance in zip(keys, distances, strict=True)
        ]
        for _, keys, distances in service.nearest(rows, k)
    ]


def _predictions(service: Service, rows: NDArray[Any]) -> list[schemas.Predicted]:
    found = service.nearest(rows, 1)
    for row in range(len(rows)):
        while not found[row][0]:  # the nearest was removed before its key was read
            found[row : row + 1] = service.nearest(rows[row : row + 1], 1)
    clusters = service.standing.clusters_of([ids[0] for ids, _, _ in found])
    return [
        schemas.Predicted(cluster=cluster, nearest=keys[0], distance=distances[0])
        for (_, keys, distances), cluster in zip(found, clusters, strict=True)
    ]
