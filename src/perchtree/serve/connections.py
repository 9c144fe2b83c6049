"""Connections that cannot be held for nothing: bounds on time and bytes until a request is there.

Uvicorn closes connections that are idle after an answer, but waits forever for the first byte, and
keeps as many headers as come.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .limits import Limits

_CLOSE = (
    b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
    b"connection: close\r\n\r\n%s"
)


class Connection(HttpToolsProtocol):
    """One connection. `make_protocol` sets the limits."""

    limits = Limits()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.access_log = False  # it would tell keys; the gate has a log of its own
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(b"503 Service Unavailable", b'{"error": "busy: too many connections"}')
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            self._expect_head()
        super().data_received(data)
        if self._in_head and self._head_bytes > self.limits.head_bytes:
            self._refuse(
                b"431 Request Header Fields Too Large", b'{"error": "the headers are too long"}'
            )

    def send_400_response(self, msg: str) -> None:
        self._refuse(b"400 Bad Request", b'{"error": "this is not an HTTP request"}')

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._forget_deadline()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        """Give it some seconds for a request, unless one is being answered or they run already."""
        answered = self.cycle is None or self.cycle.response_complete
        if self._deadline is None and answered:
            self._deadline = self.loop.call_later(self.limits.head_seconds, self._give_up)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._head_bytes:
            self._refuse(b"408 Request Timeout", b'{"error": "the request took too long"}')
        else:
            self.transport.close()

    def _refuse(self, status: bytes, body: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(_CLOSE % (status, len(body), body))
            self.transport.close()


def make_protocol(limits: Limits) -> type[Connection]:
    """The class of connections with these limits."""
    return type("LimitedConnection", (Connection,), {"limits": limits})
