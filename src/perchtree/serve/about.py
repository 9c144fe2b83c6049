"""About the service itself: what it holds, whether it is well, its numbers, its documentation."""

from typing import Any

from fastapi import APIRouter, Request, Response

from .. import __version__
from ..encode.interface import name_of
from . import schemas
from .answers import answers
from .metrics import CONTENT_TYPE
from .pages import STYLE, docs_page, first_page
from .service import Service

_PLAIN: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}}
}


def make_router(service: Service) -> APIRouter:
    router, collection = APIRouter(), service.collection

    @router.get("/v1/info", tags=["service"])
    async def info() -> schemas.Info:
        """What is here: how many records, of which kind, up to which operation."""
        return await service.turns.quick(_info)

    def _info() -> schemas.Info:
        kind = service.records.kind
        keys = "none" if not collection.has_keys else "text" if kind is str else "number"
        standing, encoder = service.standing, collection.encoder
        empty = len(collection) == 0
        return schemas.Info(
            version=__version__, points=len(collection),
            features=None if empty else collection.tree.n_features,
            keys="none yet" if empty else keys,
            encoder=None if encoder is None else name_of(encoder),
            operation=collection.operation, event=standing.last_event, standing=standing.distance,
            clusters=standing.n_clusters, writable=service.is_writable,
        )  # fmt: skip

    @router.get("/health", tags=["service"])
    async def health() -> schemas.State:
        """Whether the process answers at all."""
        return schemas.State(status="alive")

    @router.get("/ready", tags=["service"], responses=answers(503))
    async def ready(response: Response) -> schemas.State:
        """Whether records can be read and changed; a 503 if something could not be written."""
        if service.is_writable:
            return schemas.State(status="ready")
        response.status_code = 503
        return schemas.State(status="read-only" if service.is_open else "stopping")

    @router.get("/metrics", tags=["service"], responses=_PLAIN, response_class=Response)
    async def metrics() -> Response:
        """Numbers for Prometheus."""
        text = await service.turns.quick(service.metrics.text)
        return Response(text, media_type=CONTENT_TYPE)

    @router.get("/about", include_in_schema=False)
    async def first() -> Response:
        return _html(first_page())

    @router.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return _html(docs_page(request.app.openapi()))

    @router.get("/assets/service.css", include_in_schema=False)
    async def style() -> Response:
        return Response(STYLE, media_type="text/css; charset=utf-8")

    return router


def _html(page: str) -> Response:
    return Response(page, media_type="text/html; charset=utf-8")
