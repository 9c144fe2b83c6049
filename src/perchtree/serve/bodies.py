"""Bodies of requests: JSON into models, with one line that says what is wrong."""

from typing import Any

from fastapi import Request
from pydantic import TypeAdapter, ValidationError

from .gate import JSON, kind_of
from .problems import Problem
from .turns import Turns

_AT_ONCE = 16_384
"""Bytes that are parsed without a thread of their own."""


def check_kind(request: Request, *kinds: str) -> str:
    """The media type of a body; a 415 if it is none of these. Forms of web pages never are."""
    kind = kind_of(request.headers)
    if kind not in kinds:
        raise Problem(415, f"the header Content-Type must be {' or '.join(kinds)}")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem(415, "send the body as it is, without Content-Encoding")
    return kind


async def read_json(request: Request, model: Any, turns: Turns) -> Any:
    """The body as a model; a 422 names the first thing that is wrong with it."""
    check_kind(request, JSON)
    body = await request.body()
    if len(body) <= _AT_ONCE:
        return parse_json(body, model)
    return await turns.quick(parse_json, body, model)


def parse_json(body: bytes, model: Any) -> Any:
    """A model from JSON: strict about types, numbers are finite, and nesting is bounded."""
    try:
        return TypeAdapter(model).validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Problem(422, f"{where}: {first['msg']}" if where else first["msg"]) from None


def json_body(model: Any, description: str = "", **more: Any) -> dict[str, Any]:
    """What OpenAPI is told about a body, for `openapi_extra`."""
    content = {"application/json": {"schema": inlined(TypeAdapter(model).json_schema())}} | more
    return {"requestBody": {"required": True, "description": description, "content": content}}


def inlined(schema: Any) -> Any:
    """A schema without references of its own: OpenAPI has another place for them."""
    known = schema.pop("$defs", {}) if isinstance(schema, dict) else {}

    def replaced(part: Any) -> Any:
        if isinstance(part, dict):
            if "$ref" in part:
                return replaced(known[part["$ref"].rsplit("/", 1)[-1]])
            return {name: replaced(value) for name, value in part.items()}
        return list(map(replaced, part)) if isinstance(part, list) else part

    return replaced(schema)
