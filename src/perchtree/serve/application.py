"""The application: all parts behind the gate."""

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from .. import __version__
from . import (
    about,
    clusters,
    events,
    explorer,
    explorer_page,
    neighbors,
    points,
    questions,
    search,
    tree,
)
from .answers import ALWAYS
from .changes import Changes
from .gate import Gate
from .problems import UNFORESEEN, Problem, problem_of
from .security import Access
from .service import Service

_ABOUT = (
    "Online hierarchical clustering over HTTP. Changes are acknowledged when they are on the disk. "
    'Errors are one line: {"error": ...}.'
)


def make_application(service: Service, access: Access) -> ASGIApp:
    """The application that serves a collection to those who may ask."""
    app = FastAPI(
        title="perchtree", version=__version__, description=_ABOUT, responses=ALWAYS,
        docs_url=None, redoc_url=None, openapi_url="/openapi.json", redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )  # fmt: skip
    changes = Changes(service.collection)
    for router in (
        points.make_router(service, changes),
        neighbors.make_router(service),
        clusters.make_router(service),
        tree.make_router(service),
        search.make_router(service),
        questions.make_router(service, changes),
        events.make_router(service),
        explorer.make_router(service),
    ):
        app.include_router(router, prefix="/v1")
    app.include_router(about.make_router(service))
    app.include_router(explorer_page.make_router())
    app.add_exception_handler(RequestValidationError, _wrong_parameters)
    app.add_exception_handler(HTTPException, _plain)
    for kind in (ValueError, TypeError, OSError, MemoryError, Exception):
        app.add_exception_handler(kind, _of_library(service.hidden))
    inner: ASGIApp = app
    if access.origins:
        inner = CORSMiddleware(
            app, sorted(access.origins), allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
        )  # fmt: skip
    return Gate(inner, access, service.limits, service.turns, service.metrics, service.hidden)


def _answer(problem: Problem) -> JSONResponse:
    return JSONResponse(problem.body, problem.status_code, problem.headers)


async def _wrong_parameters(_request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a parameter, without repeating it."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return _answer(Problem(422, f"{where}: {first['msg']}"))


async def _plain(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if isinstance(error, Problem):
        return _answer(error)
    answer = _answer(Problem(error.status_code, str(error.detail).lower()))
    if error.status_code == 405:
        answer.headers["Allow"] = ", ".join(_methods(request))
    return answer


def _methods(request: Request) -> list[str]:
    """The methods that a path takes."""
    found: set[str] = set()
    for template, methods in request.app.openapi()["paths"].items():
        pattern = re.escape(template).replace(r"\{key\}", ".*")
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", pattern), request.url.path, re.DOTALL):
            found.update(method.upper() for method in methods)
    return sorted(found) or ["GET"]


def _of_library(hidden: str) -> Any:
    async def answer(_request: Request, error: Exception) -> JSONResponse:
        return _answer(problem_of(error, hidden) or UNFORESEEN)

    return answer
