"""Everything that can go wrong, as an answer: a status, and one line that says what to do."""

import logging
from typing import Any

from starlette.exceptions import HTTPException

from ..errors import CorruptFileError
from ..inert import inert_line

log = logging.getLogger("perchtree.serve")

RETRY_SECONDS = 1
"""What Retry-After says: the queue for writing is usually shorter a moment later."""


class Problem(HTTPException):
    """An answer other than a success: `error` is one line, `more` what a program can use."""

    def __init__(self, status: int, error: str, **more: Any) -> None:
        headers = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else None
        super().__init__(status, inert_line(error), headers)
        self.more = more

    @property
    def body(self) -> dict[str, Any]:
        return {"error": self.detail} | self.more


UNFORESEEN = Problem(500, "something went wrong here; the log of the service has more")


def busy(what: str) -> Problem:
    """Too much at a time; the same request may succeed in a moment."""
    return Problem(503, f"busy: {what}; try again in a moment")


def problem_of(error: BaseException, hidden: str) -> Problem | None:
    """The answer to an error of the library; None for one that nobody has foreseen.

    `hidden` is the path of the folder, which is nobody's business. Causes that only the owner can
    mend are logged.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail).lower())
    if isinstance(error, CorruptFileError | OSError | MemoryError):
        cause = str(error).replace(hidden, "the collection")
        log.error("%s: %s", type(error).__name__, inert_line(cause, 500))
    if isinstance(error, CorruptFileError):
        return Problem(503, "the collection is damaged; its owner can run `perch check`")
    if isinstance(error, OSError):
        return Problem(
            503, "the collection is read-only, because something could not be written: what was "
            "acknowledged is safe; its owner has to mend the cause and start the service again",
        )  # fmt: skip
    if isinstance(error, MemoryError):
        return Problem(503, "out of memory: send less at a time")
    if isinstance(error, ValueError | TypeError):
        return Problem(422, str(error).replace(hidden, "the collection"))
    return None
