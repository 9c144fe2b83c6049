"""Running the service: sockets, signals, and an end in bounded time."""

import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import uvicorn

from .application import make_application
from .connections import make_protocol
from .security import Access
from .service import Service

log = logging.getLogger("perchtree.serve")

_SWITCH_SECONDS = 0.001
"""How long a thread may keep the interpreter while others want it. Each turn of a read waits for
that, several times; Python's own 5 ms make reads wait 20 ms and more while rows are inserted."""


_M_MMAP_THRESHOLD, _LARGE = -3, 2**20
"""A parameter of glibc's `mallopt`, and the bytes of an array that is large."""
_LEAVING_SECONDS = 1.0
"""How long the process waits for threads that read, when everything else is done."""
_WORKER = "AnyIO worker thread"
"""What threads of `Turns` are called. They are no daemons: Python would wait for them forever."""


@dataclass(frozen=True)
class Place:
    """Where to listen."""

    host: str
    port: int
    certificate: str | None = None
    private_key: str | None = None

    @property
    def scheme(self) -> str:
        return "https" if self.certificate else "http"

    def listen(self) -> socket.socket:
        """A socket that listens; OSError says what is wrong with the address."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # With the protocol named, asyncio sends small answers at once; else they wait for 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, self.port))
            listener.listen(2048)
        except OSError as error:
            listener.close()
            raise OSError(error.errno, error.strerror, f"{self.host}:{self.port}") from None
        return listener


class _Server(uvicorn.Server):
    """A server that tells when it is up, and lets event streams end before it waits for them."""

    def __init__(
        self, config: uvicorn.Config, started: Callable[[], None], service: Service
    ) -> None:
        super().__init__(config)
        self._tell_started, self._service = started, service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._tell_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.is_open = False
        self._service.turns.is_closing = True
        self._service.tell_change()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Stop at a signal, once; uvicorn would raise it again at the end, and end by it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        names = ("SIGINT", "SIGTERM", "SIGHUP")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(service: Service, access: Access, place: Place, started: Callable[[str], None]) -> None:
    """Serve until a signal asks to stop; `started` gets the address."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    _give_back_large_arrays()
    _raise_file_limit()
    listener = place.listen()
    host, port = listener.getsockname()[:2]
    address = f"{place.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    config = uvicorn.Config(
        make_application(service, access), http=make_protocol(service.limits), ws="none",
        lifespan="off", loop="asyncio", log_config=None, access_log=False, server_header=False,
        date_header=True, proxy_headers=False, workers=1,
        timeout_keep_alive=int(service.limits.head_seconds),
        timeout_graceful_shutdown=int(service.limits.closing_seconds),
        ssl_certfile=place.certificate, ssl_keyfile=place.private_key,
    )  # fmt: skip
    server = _Server(config, lambda: started(address), service)
    service.versions.peek()  # begun now, so that whoever opens the explorer first need not wait
    server.run(sockets=[listener])
    close(service)


def close(service: Service) -> None:
    """Let go of the folder, when changes that have begun are done; in bounded time.

    If that takes too long, the process ends as if it were killed: what was acknowledged is on the
    disk, and the next start does the rest.
    """
    deadline = time.monotonic() + service.limits.closing_seconds
    while service.turns.writes and time.monotonic() < deadline:
        time.sleep(0.02)
    closing = threading.Thread(target=_close_collection, args=(service,), daemon=True)
    if not service.turns.writes:
        closing.start()
        closing.join(max(0.0, deadline - time.monotonic()))
    if service.turns.writes or closing.is_alive():
        log.warning("the collection could not be closed in time; nothing acknowledged is lost")
        logging.shutdown()
        os._exit(1)


def leave() -> None:
    """End the process, if a thread that reads would keep it: it has nothing to lose."""
    deadline = time.monotonic() + _LEAVING_SECONDS
    readers = [thread for thread in threading.enumerate() if thread.name == _WORKER]
    for thread in readers:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in readers):
        logging.shutdown()
        os._exit(0)


def _close_collection(service: Service) -> None:
    service.moments.save()
    service.collection.close()


def _give_back_large_arrays() -> None:
    """Have the C library return large arrays to the system when they are freed.

    glibc raises the size from which it does so to that of what was freed, and keeps the rest for
    each thread: versions of a collection that is changed all the time are as large as the ids that
    it has ever given, and are made and freed by many threads.
    """
    with contextlib.suppress(OSError, TypeError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


def _raise_file_limit() -> None:
    """Allow as many connections as the system lets this process have."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
