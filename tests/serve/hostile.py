"""Clients that mean no good: each is refused or borne, and others are answered meanwhile."""

import contextlib
import json
import resource
import socket
import tempfile
import time
from pathlib import Path

import httpx

POST = (
    "POST /v1/points HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "Content-Length: {}\r\n\r\n"
)
KEYS = [
    "a/b/c", "/", "//", "..", ".", "../../etc/passwd", "nul\0inside", "\0", "x" * 1024, "", " ",
    "line\nbreak", "tab\t", "\u202eabc", "'; DROP TABLE records; --", "<script>alert(1)</script>",
    "=1+1", "ключ", "鍵", "🔑", "%2F", "%00", "a?b#c&d=e", "\\", "\x1b[31m", "{key}", "e\u0301",
]  # fmt: skip
BAD_JSON = [
    "[" * 100_000, '{"a":' * 5_000, "[" * 50 + "]" * 50, '[{"key": "x", "vector": [NaN, 1, 2]}]',
    '[{"key": "x", "vector": [Infinity, 1, 2]}]', '[{"key": "x", "vector": [-Infinity, 1, 2]}]',
    '[{"key": "x", "vector": [1e999, 1, 2]}]', '[{"key": "x", "vector": ["1", 1, 2]}]',
    '[{"key": "x", "vector": [true, 1, 2]}]', '[{"key": "x", "vector": null}]', "null", "", "\xff",
    '[{"key": "\\ud800", "vector": [1, 2, 3]}]', '[{"key": ["x"], "vector": [1, 2, 3]}]',
    '[{"key": 1' + "0" * 5000 + ', "vector": [1, 2, 3]}]', '[{"key": "x", "vector": [1, 2, 3]',
    '[{"key": "x", "vector": [1, 2, 3], "unknown": 1}]', '[{"key": 1.5, "vector": [1, 2, 3]}]',
    '[{"key": "' + "x" * 10_240 + '", "vector": [1, 2, 3]}]', "[]", "{}", "[[]]",
]  # fmt: skip


def connect(port, sent=b""):
    """A connection on which something was sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=120)
    connection.sendall(sent if isinstance(sent, bytes) else sent.encode())
    return connection


def answer(connection):
    """What comes until the connection is closed."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            received += part
    return received


def alive(http):
    """The service answers, reads and writes."""
    assert http.get("/health").status_code == 200
    assert http.post("/v1/nearest", json={"vectors": [[1, 2, 3]]}).status_code == 200
    body = [{"key": "alive", "vector": [1, 2, 3]}]
    assert http.post("/v1/points", json=body).status_code == 200


def odd_keys(http):
    """Keys that nobody should have: stored and found, or refused."""
    for key in KEYS:
        added = http.post("/v1/points", json=[{"key": key, "vector": [1, 2, 3], "text": key}])
        assert added.status_code == 200, (key, added.text)
        found = http.get("/v1/points", params={"key": key}).json()
        assert [point["key"] for point in found["points"]] == [key]
        if key not in (".", ".."):
            path = "/v1/points/" + "".join(f"%{byte:02X}" for byte in key.encode())
            read = http.get(path)
            assert (read.status_code, read.json().get("key")) == (200, key), (key, read.text)
        assert http.get("/v1/search", params={"q": key or "x"}).status_code == 200
        removed = http.post("/v1/removals", json={"keys": [key]})
        assert removed.json() == {"operation": removed.json()["operation"], "removed": 1}
    long = [{"key": "x" * 10_240, "vector": [1, 2, 3]}]
    assert http.post("/v1/points", json=long).status_code == 422
    assert http.get("/v1/points/" + "x" * 10_240).status_code == 422
    with connect(http.port, "GET /v1/points/" + "x" * 100_000) as connection:
        assert b" 431 " in answer(connection)


def bad_json(http):
    """Bodies that are no records: a 4xx, and nothing changes."""
    before = http.get("/v1/info").json()["points"]
    for body in BAD_JSON:
        for path in ("/v1/points", "/v1/nearest", "/v1/answers", "/v1/removals"):
            refused = http.post(
                path, content=body.encode("latin-1"), headers={"Content-Type": "application/json"}
            )
            assert refused.status_code in (413, 422), (path, body[:60], refused.text)
            assert set(json.loads(refused.text)) == {"error"}
    assert http.get("/v1/info").json()["points"] == before


def announced(port):
    """Ten gigabytes are announced; some bytes of them are sent."""
    for length in (10**10, 10**30, 2**63):
        with connect(port, POST.format(length) + "[") as connection:
            status = answer(connection).split(b" ", 2)[1]
            assert status in (b"413", b"400"), status
    with connect(port, POST.format("-5") + "[") as connection:
        assert b" 400 " in answer(connection)
    head = POST.replace("Content-Length: {}", "Transfer-Encoding: chunked")
    with connect(port, head) as connection:
        chunk = b"100000\r\n" + b" " * 2**20 + b"\r\n"
        received = b""
        with contextlib.suppress(ConnectionError):
            for _ in range(12):
                connection.sendall(chunk)
        with contextlib.suppress(ConnectionError):
            received = answer(connection)
        assert received == b"" or b" 413 " in received


def nonsense(port):
    """What is no HTTP at all, or two messages in one."""
    for sent in (
        b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\0" * 1000, b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/points HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ):  # fmt: skip
        with connect(port, sent) as connection:
            connection.shutdown(socket.SHUT_WR)
            received = answer(connection)
            assert received == b"" or received.split(b" ", 2)[1] in (b"400", b"421"), received


def slow(port, limits):
    """Half requests and slow bodies end, with a 408 or at once."""
    half = connect(port, "GET /v1/info HTTP/1.1\r\nHost: 127.0")
    body = connect(port, POST.format(100) + "[")
    silent, lines = connect(port), connect(port, "\r\n")
    headers = connect(port, "GET / HTTP/1.1\r\n")
    start = time.monotonic()
    with contextlib.suppress(ConnectionError):
        for _ in range(100_000):
            headers.sendall(b"X-Long: " + b"x" * 1000 + b"\r\n")
    assert b" 431 " in answer(headers) or time.monotonic() - start < limits.head_seconds
    assert b" 408 " in answer(half)
    assert answer(silent) == b""
    assert answer(lines)[:12] in (b"", b"HTTP/1.1 408")
    assert b" 408 " in answer(body)
    took = time.monotonic() - start
    assert took < limits.head_seconds + limits.body_seconds + 5, took
    for connection in (half, body, silent, lines, headers):
        connection.close()


def idle(http, n):
    """So many connections that say nothing: others are answered."""
    connections = []
    try:
        for _ in range(n):
            connections += [connect(http.port)]
        alive(http)
    finally:
        for connection in connections:
            connection.close()
    alive(http)


def attack(n_idle=10_000):
    """All of it against `perch serve` with its usual limits."""
    import numpy as np
    from serving import SETTINGS, Process

    from perchtree import Collection
    from perchtree.serve.limits import Limits

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "people.perchdb"
        with Collection.open(path, write=True, **SETTINGS) as collection:
            collection.add(np.random.default_rng(0).normal(size=(50, 3)),
                           keys=[f"k{i}" for i in range(50)])  # fmt: skip
        with Process(path, "-q") as process:
            with httpx.Client(base_url=process.url, timeout=60, trust_env=False) as http:
                http.port = process.port
                for what, given in (
                    (odd_keys, (http,)), (bad_json, (http,)), (announced, (process.port,)),
                    (nonsense, (process.port,)), (idle, (http, n_idle)),
                    (slow, (process.port, Limits())),
                ):  # fmt: skip
                    start = time.monotonic()
                    what(*given)
                    alive(http)
                    memory = process.resident // 2**20
                    print(f"{what.__name__}: borne, {time.monotonic() - start:.1f} s, {memory} MiB")
            assert process.stop() == 0
