"""Hostile clients, with limits small enough for a test; `service_harness.py` has the usual ones."""

import contextlib
import threading
import time
from dataclasses import replace

import hostile
import httpx
import numpy as np
import pytest
from serving import served

from perchtree.serve.limits import Limits

pytestmark = [pytest.mark.outer, pytest.mark.jit]

SMALL = Limits(head_seconds=1, body_seconds=1, connections=60)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    def fill(collection):
        rows = np.random.default_rng(0).normal(size=(30, 3))
        collection.add(rows, keys=[f"k{i}" for i in range(30)])

    with served(tmp_path_factory.mktemp("hostile") / "x.perchdb", limits=SMALL, fill=fill) as http:
        yield http


def test_odd_keys_are_stored_and_found(target):
    hostile.odd_keys(target)


def test_bodies_that_are_no_records_change_nothing(target):
    hostile.bad_json(target)


def test_what_is_announced_is_not_waited_for(target):
    hostile.announced(target.port)


def test_nonsense_is_refused(target):
    hostile.nonsense(target.port)


def test_slow_clients_are_cut_off(target):
    hostile.slow(target.port, SMALL)


def test_idle_connections_do_not_keep_others_out(target):
    hostile.idle(target, 50)
    time.sleep(0.2)
    many = [hostile.connect(target.port) for _ in range(80)]
    assert any(b"503" in hostile.answer(connection) for connection in many[-5:])
    for connection in many:
        connection.close()
    time.sleep(0.2)
    hostile.alive(target)


def test_a_full_queue_is_a_503_and_loses_nothing(tmp_path, fill):
    limits = replace(SMALL, waiting_writes=2, all_bytes=4 * 2**20)
    with served(tmp_path / "busy.perchdb", limits=limits, fill=fill) as http:
        statuses: list = []
        held = contextlib.ExitStack()
        held.enter_context(http.service.collection.lock())  # as a long insert does

        def add(i):
            body = [{"key": f"n{i}", "vector": [i, 0, 0]}]
            with httpx.Client(base_url=http.base_url, timeout=30, trust_env=False) as own:
                answer = own.post("/v1/points", json=body)
                statuses.append((i, answer.status_code, answer.headers.get("retry-after")))

        threads = [threading.Thread(target=add, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 20
        while len(statuses) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [(status, told) for _, status, told in statuses] == 4 * [(503, "1")]
        assert http.get("/v1/points/k1").status_code == 200  # reads do not wait
        assert http.post("/v1/nearest", json={"vectors": [[1, 2, 3]]}).status_code == 200
        assert http.get("/v1/clusters?describe=false").status_code == 200
        held.close()
        for thread in threads:
            thread.join()
        added = [i for i, status, _ in statuses if status == 200]
        assert len(added) == 2
        for i in range(6):
            expected = 200 if i in added else 404
            assert http.get(f"/v1/points/n{i}").status_code == expected
        kind = {"Content-Type": "application/x-npy"}
        many = http.post("/v1/points", content=b"\x93NUMPY" + b" " * (6 * 2**20), headers=kind)
        assert many.status_code == 503
        deadline = time.monotonic() + 20  # the answer may come before what was held is let go
        while http.service.turns.held_bytes and time.monotonic() < deadline:
            time.sleep(0.01)
        assert http.service.turns.held_bytes == 0
        assert http.service.turns.writes == 0
