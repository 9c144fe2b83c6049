"""What is too much is refused, with the status and the header that the documentation says."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from serving import served

from perchtree.serve.formats import as_npy
from perchtree.serve.limits import Limits
from perchtree.serve.versions import Version

pytestmark = [pytest.mark.outer, pytest.mark.jit]

NPY = {"Content-Type": "application/x-npy"}
USUAL = Limits()


def records(n, columns=3, **more):
    return [{"key": f"new{i}", "vector": [0.5] * columns} | more for i in range(n)]


def test_too_much_of_anything_is_refused_and_changes_nothing(http):
    before = http.get("/v1/info").json()["points"]
    wide, most = USUAL.dimensions + 1, USUAL.rows + 1
    for status, body in (
        (422, records(most)),
        (422, records(1, text="x" * (USUAL.text_length + 1))),
        (422, [{"key": "x" * (USUAL.key_length + 1), "vector": [1, 2, 3]}]),
        (422, records(1, wide)),
        (413, records(1, text="x" * USUAL.json_bytes)),
    ):
        answer = http.post("/v1/points", json=body)
        assert (answer.status_code, set(answer.json())) == (status, {"error"})
    for body in (
        as_npy(np.zeros((most, 1)), np.arange(most).astype(str)),
        as_npy(np.zeros((1, wide)), np.array(["a"])),
    ):
        assert http.post("/v1/points", content=body, headers=NPY).status_code == 413
    long = np.array(["x" * (USUAL.key_length + 1)])
    body = as_npy(np.zeros((1, 3)), long)
    assert http.post("/v1/points", content=body, headers=NPY).status_code == 422
    assert http.get("/v1/info").json()["points"] == before


def test_too_much_is_not_asked_for(http):
    row = [0.0, 0.0, 0.0]
    for path, body in (
        ("nearest", {"vectors": [row] * (USUAL.asked_rows + 1)}),
        ("predict", {"vectors": [row] * (USUAL.asked_rows + 1)}),
        ("nearest", {"vectors": [row], "k": USUAL.neighbors + 1}),
        ("nearest", {"vectors": [row], "k": 0}),
    ):
        assert http.post(f"/v1/{path}", json=body).status_code == 422, path
    for path in (
        f"clusters?limit={USUAL.page + 1}", f"clusters/0?limit={USUAL.page + 1}",
        f"tree/root?size={USUAL.tree_size + 1}", f"search?q=a&n={USUAL.page + 1}",
        f"events?limit={USUAL.page + 1}", f"explorer/members?of=0&limit={USUAL.page + 1}",
    ):  # fmt: skip
        assert http.get(f"/v1/{path}").status_code == 422, path
    many = [("key", f"k{i}") for i in range(USUAL.page + 1)]
    assert http.get("/v1/points", params=many).status_code in (422, 431)


def test_no_rows_are_answered_by_none(http):
    assert http.post("/v1/nearest", json={"vectors": []}).json() == {"neighbors": []}
    assert http.post("/v1/predict", json={"vectors": []}).json() == {"predictions": []}


def test_many_rows_are_answered_in_order(http, rows):
    asked = (rows[:20] + 0.01).tolist()
    keys = [f"k{i}" for i in range(20)]
    found = http.post("/v1/nearest", json={"vectors": asked}).json()["neighbors"]
    assert [near[0]["key"] for near in found] == keys
    found = http.post("/v1/predict", json={"vectors": asked}).json()["predictions"]
    assert [near["nearest"] for near in found] == keys


def test_an_answer_that_takes_too_long_is_given_up(tmp_path, fill):
    limits = replace(USUAL, request_seconds=0.3)
    released = threading.Event()
    with served(tmp_path / "x.perchdb", limits=limits, fill=fill) as http:
        http.service.clustering = lambda _how: released.wait(60)
        answer = http.get("/v1/clusters?k=2")
        released.set()
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "too long" in answer.json()["error"]
        assert http.get("/v1/points/k1").status_code == 200


def test_slow_reads_keep_quick_ones_from_nothing_and_only_so_many_wait(tmp_path, fill):
    limits = replace(USUAL, waiting_writes=3)
    released, asked = threading.Event(), []
    with served(tmp_path / "x.perchdb", limits=limits, fill=fill) as http:
        clustering = http.service.clustering

        def wait(how):
            released.wait(60)
            return clustering(how)

        http.service.clustering = wait
        statuses: list = []
        refused = threading.Event()

        def ask():
            answer = http.get("/v1/clusters?k=2", timeout=60)
            statuses.append((answer.status_code, answer.headers.get("retry-after")))
            refused.set()

        for _ in range(2 + 3 + 1):  # two are at work, three wait
            asked.append(threading.Thread(target=ask))
            asked[-1].start()
        assert refused.wait(60)
        assert statuses == [(503, "1")]
        assert http.get("/v1/points/k1").status_code == 200
        assert http.get("/v1/clusters?describe=false").status_code == 200
        released.set()
        for thread in asked:
            thread.join(60)
        for _ in range(2 + 3):  # none of them waits any longer
            assert http.get("/v1/clusters?k=2", timeout=60).status_code == 200
    assert sorted(status for status, _ in statuses) == [200] * 5 + [503]


def test_event_streams_are_counted(tmp_path, fill):
    limits = replace(USUAL, streams=1)
    headers = {"Accept": "text/event-stream"}
    with (
        served(tmp_path / "x.perchdb", limits=limits, fill=fill) as http,
        http.stream("GET", "/v1/events", headers=headers) as stream,
    ):
        assert stream.status_code == 200
        parts = stream.iter_raw()  # the connection is closed when nobody refers to it any longer
        next(parts)
        other = http.get("/v1/events", headers=headers, timeout=60)
        assert (other.status_code, other.headers["retry-after"]) == (503, "1")


def test_paths_do_not_wait_for_clusterings_of_their_version(http, monkeypatch):
    """Reads of records would soon have no thread left, and nobody else either."""
    http.get("/v1/tree/root")  # waits for a version
    cut, begun, released = Version._cut, threading.Event(), threading.Event()

    def cut_later(version, how):
        begun.set()
        assert released.wait(60)
        return cut(version, how)

    monkeypatch.setattr(Version, "_cut", cut_later)
    slow = threading.Thread(target=http.get, args=("/v1/clusters?k=5",))
    slow.start()
    assert begun.wait(60)
    found = http.get("/v1/points/k1").json()
    released.set()
    slow.join(60)
    assert found["path"][-1]["size"] == 120
