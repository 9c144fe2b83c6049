"""The explorer's page and its parts: they hold no data."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response

from ..html.assets import ICON, STYLE, module_names, read_asset
from ..html.page import filled_page

_FOLDER = "/assets/explorer"
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def make_router() -> APIRouter:
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
