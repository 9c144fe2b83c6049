"""perchtree.Client, next to the collection itself."""

import http.server
import socket
import threading

import numpy as np
import pytest
from serving import served

from perchtree import Client, Collection, ServiceError

pytestmark = [pytest.mark.outer, pytest.mark.jit]


@pytest.fixture
def both(tmp_path, fill):
    """A client, and a collection in memory that has the same records."""
    with served(tmp_path / "people.perchdb", fill=fill) as service:
        twin = Collection(search="astar")
        fill(twin)
        with Client(str(service.base_url), retries=2) as client:
            yield client, twin


def test_methods_do_what_those_of_a_collection_do(both, rows):
    client, twin = both
    for one in both:
        one.add(rows[:5] + 0.1, keys=[f"n{i}" for i in range(5)])
        one.add(rows[:2] + 0.2, keys=["t0", "t1"], texts=["green tea", "black tea"], classes=[1, 2])
        one.update(["t1"], [[9, 9, 9]], texts=["red socks"], classes=[None])
        one.remove(["n3"])
        one.together("t0", "n1")
        one.apart("t0", "n2")
        one.together("k0", "k6")
        one.take_back("k0", "k6")
    assert len(client) == len(twin)
    for ours, theirs in zip(
        client.nearest(rows[:7], k=3), twin.nearest(rows[:7], k=3), strict=True
    ):
        assert ours.tolist() == theirs.tolist()
    assert client.corrections == twin.corrections
    assert client.search("tea") == ["t0"]
    assert client.get("t1")["text"] == "red socks"
    sizes = {cluster["cluster"]: cluster["size"] for cluster in client.clusters(limit=3)}
    assert sizes == twin.standing.sizes()
    assert client.predict(rows[:3]) == [twin.standing.cluster_of(k) for k in ("k0", "k1", "k2")]
    (largest, *_) = client.clusters()
    members = [m["key"] for m in client.members(largest["cluster"], limit=7)]
    assert members == twin.standing.members(largest["cluster"])
    events = twin.standing.events()
    assert [e["event"] for e in client.events()] == [e.number for e in events]
    assert [tuple(e["keys"]) for e in client.events()] == [e.keys for e in events]


def test_questions(both):
    client, _ = both
    pairs = client.questions(10)
    assert len(pairs) == 10
    assert client.answer(pairs, [int(a[1:]) % 6 == int(b[1:]) % 6 for a, b in pairs]) == 10
    assert client.calibrate()["n_answers"] == 10


def test_errors_are_those_of_the_service(both):
    client, _ = both
    with pytest.raises(ServiceError, match="no record with that key") as told:
        client.get("nobody")
    assert told.value.status == 404
    with pytest.raises(ServiceError, match="expected 3 features"):
        client.add([[1.0, 2.0]], keys=["x"])
    with pytest.raises(ServiceError, match="PUT replaces it"):
        client.add([[1.0, 2.0, 3.0]], keys=["k1"])
    with pytest.raises(ValueError, match="same length"):
        client.add([[1.0, 2.0, 3.0]], keys=["a", "b"])
    for key in (".", "..", "a\0", "/", "a" * 1000):
        client.add([[1.0, 2.0, 3.0]], keys=[key])
        assert client.get(key)["key"] == key
        assert client.remove([key]) == 1
    with pytest.raises(ValueError, match="expected an address"):
        Client("people.perchdb")
    with Client("http://127.0.0.1:9", retries=0) as nobody, pytest.raises(ConnectionError):
        len(nobody)


def test_what_does_not_answer_in_time_is_asked_again_and_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client(url, timeout=0.1, retries=1) as client, pytest.raises(ConnectionError):
            client.get("k1")
        for _ in range(2):  # so often it has tried
            silent.settimeout(20)
            silent.accept()[0].close()
        silent.settimeout(0.1)
        with pytest.raises(TimeoutError):
            silent.accept()


def test_it_waits_as_long_as_it_is_told(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr("perchtree.client.time.sleep", slept.append)
    monkeypatch.setattr("perchtree.client.random.random", lambda: 0.5)  # no more, no less
    with served(tmp_path / "x.perchdb") as service:
        service.service.turns.is_closing = True  # then changes are a 503
        with Client(str(service.base_url), retries=2) as client:
            with pytest.raises(ServiceError, match="stopping") as told:
                client.add([[1.0]], keys=["a"])
            assert told.value.status == 503
        assert slept == [1.0, 1.0]
        service.service.turns.is_closing = False
    with Client("http://127.0.0.1:9", retries=3) as nobody, pytest.raises(ConnectionError):
        nobody.info()
    assert slept[2:] == [0.2, 0.4, 0.8]


def test_a_lost_answer_is_asked_for_again(tmp_path):
    with served(tmp_path / "lost.perchdb") as service, losing(service) as url:
        with Client(url, retries=3) as client:
            client.add(np.arange(8.0).reshape(4, 2))  # without keys: told apart by a request id
            client.add([[0.5, 0.5]])
        assert len(service.service.collection) == 5
    with served(tmp_path / "keys.perchdb") as service, losing(service) as url:
        with Client(url, retries=3) as client:
            client.add(np.arange(8.0).reshape(4, 2), keys=["a", "b", "c", "d"])
        assert len(service.service.collection) == 4


class losing:  # noqa: N801
    """A proxy that drops the first answer, and answers the second request with a 503."""

    def __init__(self, service):
        outer, self.n = self, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.n += 1
                body = self.rfile.read(int(self.headers["content-length"]))
                kept = ("content-type", "idempotency-key")
                headers = {k: v for k, v in self.headers.items() if k.lower() in kept}
                answer = service.post(self.path, content=body, headers=headers)
                if outer.n == 1:
                    self.close_connection = True
                    return
                self.send_response(503 if outer.n == 2 else answer.status_code)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, *_):
                pass

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
