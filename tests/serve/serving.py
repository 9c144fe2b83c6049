"""Services for tests: one in a thread of this process, or in a process of its own."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import uvicorn

from perchtree import Collection
from perchtree.serve.application import make_application
from perchtree.serve.connections import make_protocol
from perchtree.serve.limits import Limits
from perchtree.serve.security import Access
from perchtree.serve.service import Service

SETTINGS = {"search": "astar"}


@contextlib.contextmanager
def served(path, *, access=None, limits=None, encoder=None, fill=None):
    """Serve a folder from a thread: an HTTP client that has the service as `.service`."""
    collection = Collection.open(path, write=True, encoder=encoder, **SETTINGS)
    if fill is not None and len(collection) == 0:
        fill(collection)
    service = Service(collection, path, limits or Limits())
    config = uvicorn.Config(
        make_application(service, access or Access()), port=0, ws="none", lifespan="off",
        http=make_protocol(service.limits), log_config=None, access_log=False,
        server_header=False, timeout_keep_alive=5, timeout_graceful_shutdown=5,
    )  # fmt: skip
    server = uvicorn.Server(config)
    started: queue.Queue = queue.Queue()

    async def startup(sockets=None, start=server.startup):
        await start(sockets)
        started.put(server.servers[0].sockets[0].getsockname()[1])

    server.startup = startup
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        port = started.get(timeout=30)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as http:
            http.service, http.port = service, port
            yield http
    finally:
        service.is_open = False
        server.should_exit = True
        thread.join(20)
        collection.close()
        assert not thread.is_alive()


class Process:
    """`perch serve` in a process of its own; after some code, if there is any."""

    def __init__(self, *arguments, environment=None, before=None):
        run = ["-m", "perchtree"]
        if before is not None:
            run = ["-c", f"{before}\nfrom perchtree.cli import main\nmain()"]
        command = [sys.executable, *run, "serve", "--port", "0"]
        self.errors = []
        self.process = subprocess.Popen(
            [*command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=os.environ | (environment or {}),
        )  # fmt: skip
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()
        line = self.process.stdout.readline()
        found = re.search(r"at (https?://\S+)", line)
        if not found:
            self.ended()
            raise RuntimeError("".join(self.errors)[-2000:])
        self.url = found[1]
        self.port = int(self.url.rsplit(":", 1)[1])

    def _drain(self):
        for line in self.process.stderr:
            self.errors.append(line)
            del self.errors[:-1000]

    @property
    def resident(self):
        """Bytes of memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024

    def kill(self):
        self.process.kill()
        return self.ended(60)

    def ended(self, seconds=60):
        """Wait for its end: the exit code."""
        code = self.process.wait(seconds)
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def stop(self, seconds=60):
        """End it by SIGTERM: the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended(seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
