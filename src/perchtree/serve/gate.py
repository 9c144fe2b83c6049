"""The gate that every request passes: who asks, how much, how long; and one line in the log.

Whatever happens behind it, an answer has the headers of `security`, and an error is one line.
"""

import asyncio
import contextlib
import json
import logging
import time
import traceback
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..inert import inert_line
from .limits import Limits
from .metrics import Metrics
from .problems import UNFORESEEN, Problem, problem_of
from .security import HEADERS, Access
from .turns import Room, Turns

log = logging.getLogger("perchtree.serve")

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
NPY = "application/x-npy"
MAY_CHANGE = "perchtree.may_change"
"""Where a request says whether its sender may change something."""
BULK = "/v1/points"
"""The one path that takes bodies other than JSON."""

_DRAINED, _DRAIN_SECONDS = 2**20, 2.0
"""Bytes of a body that nobody wants that are read all the same, and for how long."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY"})


class Gate:
    """An ASGI application around another one."""

    def __init__(
        self, app: ASGIApp, access: Access, limits: Limits, turns: Turns, metrics: Metrics,
        hidden: str,
    ) -> None:  # fmt: skip
        self._app, self._access, self._limits, self._turns = app, access, limits, turns
        self._metrics, self._hidden = metrics, hidden

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        start, answer = time.perf_counter(), _Answer(send)
        try:
            with self._turns.room() as room:
                body = _Body(scope, receive, self._limits, room)
                answer.body = body
                await self._answer(scope, body, answer)
        except BaseException as error:
            await self._explain(error, answer)
            if not isinstance(error, Exception):  # the service is stopping
                raise
        finally:
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "other").replace(":anything}", "}")
            if scope["path"].startswith("/v1/") and route[:1] == "/" and route[:3] != "/v1":
                route = "/v1" + route
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.answered(method, route, answer.status, seconds)
            log.info(
                "%s %s %d %.1f ms %d bytes in %d out", method, route, answer.status,
                1000 * seconds, body.n_bytes, answer.n_bytes,
            )  # fmt: skip

    async def _answer(self, scope: Scope, body: "_Body", answer: "_Answer") -> None:
        headers = Headers(scope=scope)
        scope[MAY_CHANGE] = self._access.check(
            scope["method"], scope["path"], headers, scope["scheme"]
        )
        body.check(scope["path"], headers)
        # An answer that its reader does not take ends some time, a stream of events does not.
        async with asyncio.timeout(self._limits.request_seconds) as deadline:
            answer.deadline = deadline
            await self._app(scope, body.receive, answer.send)

    async def _explain(self, error: BaseException, answer: "_Answer") -> None:
        problem = problem_of(error, self._hidden)
        if isinstance(error, TimeoutError):
            problem = Problem(503, "the answer took too long: ask for less")
        if problem is None:
            where = traceback.extract_tb(error.__traceback__)[-1]
            log.error(
                "%s at %s:%d: %s", type(error).__name__, where.name, where.lineno or 0,
                inert_line(error, 200),
            )  # fmt: skip
            problem = UNFORESEEN
        if not answer.status and isinstance(error, Exception):
            await answer.say(problem)


def kind_of(headers: Headers) -> str:
    """The media type of a body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class _Answer:
    """What is sent: it gets our headers, and is counted."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = self.n_bytes = 0
        self.body: _Body | None = None
        self.deadline: asyncio.Timeout | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if headers.get("content-type", "").startswith("text/event-stream") and self.deadline:
                self.deadline.reschedule(None)
            if self.body is not None and not await self.body.is_drained():
                headers["Connection"] = "close"  # nobody will read the rest of the body
        else:
            self.n_bytes += len(message.get("body", b""))
        await self._send(message)

    async def say(self, problem: Problem) -> None:
        """Answer with a problem."""
        content = json.dumps(problem.body, ensure_ascii=False).encode()
        headers: dict[str, Any] = {"content-type": JSON, "content-length": str(len(content))}
        headers |= problem.headers or {}
        if problem.status_code == 401:
            headers["WWW-Authenticate"] = "Bearer"
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        status = problem.status_code
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": content})


class _Body:
    """The body of a request, within its limits."""

    def __init__(self, scope: Scope, receive: Receive, limits: Limits, room: Room) -> None:
        headers = Headers(scope=scope)
        self._receive, self._limits, self._room = receive, limits, room
        self._announced = headers.get("content-length", "")
        self._most = limits.json_bytes
        self._deadline: float | None = None
        self.n_bytes = 0
        self.is_read = self._announced in ("", "0") and "transfer-encoding" not in headers

    def check(self, path: str, headers: Headers) -> None:
        """Refuse what is too long, before any of it is read."""
        if path == BULK and kind_of(headers) in (ARROW, NPY):
            self._most = self._limits.bulk_bytes
        if self._announced and int(self._announced) > self._most:
            raise self._too_long()

    def _too_long(self) -> Problem:
        return Problem(413, f"a body may have {self._most:,} bytes here: send less at a time")

    async def is_drained(self) -> bool:
        """Whether all of it is read, or what is left is little, and is read now.

        To close a connection with something unread takes the answer from its reader, too.
        """
        with contextlib.suppress(TimeoutError, Problem):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not self.is_read and self.n_bytes <= _DRAINED >= self._left():
                    await self.receive()
        return self.is_read

    def _left(self) -> int:
        return int(self._announced or 0) - self.n_bytes

    async def receive(self) -> Message:
        if self.is_read:  # what comes now is that the client went away
            return await self._receive()
        loop = asyncio.get_running_loop()
        if self._deadline is None:
            self._deadline = loop.time() + self._limits.body_seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise Problem(408, "the body took too long") from None
        if message["type"] == "http.disconnect":
            self.is_read = True
            return message
        self.n_bytes += len(message.get("body", b""))
        if self.n_bytes > self._most:
            raise self._too_long()
        self._room.take(self.n_bytes)
        self.is_read = not message.get("more_body", False)
        return message
