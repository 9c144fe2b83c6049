"""Statuses that a route can answer with, for /openapi.json."""

from typing import Any

from .schemas import Error

_MEANINGS = {
    400: "This is not a request that can be understood.",
    401: "A token is needed.",
    403: "Not from here, or not with this token.",
    404: "There is no such thing.",
    405: "Not with this method.",
    408: "The request came too slowly.",
    409: "It does not fit to what is there now; `now` may say what to ask for instead.",
    410: "It is gone.",
    413: "Too much at a time.",
    415: "Not in this form.",
    421: "The service does not go by that name.",
    422: "Something about the request is wrong.",
    431: "The headers are too long.",
    503: "Not now: too busy, stopping, or read-only; Retry-After says when to try again.",
}
_ALWAYS = (400, 401, 403, 405, 408, 413, 415, 421, 422, 431, 503)


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of some statuses, all with one line that says what is wrong."""
    return {status: {"model": Error, "description": _MEANINGS[status]} for status in statuses}


def links(**targets: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    """Where an answer leads: for each operation, its parameters as parts of the answer."""
    return {
        200: {
            "links": {
                name: {"operationId": name, "parameters": parameters}
                for name, parameters in targets.items()
            }
        }
    }


ALWAYS = answers(*_ALWAYS)
"""What every route may answer."""
