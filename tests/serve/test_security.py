"""Who may ask, and what nobody is told."""

import logging
import re
import sqlite3
import time
from urllib.parse import quote

import pytest
from serving import served

from perchtree.serve import security
from perchtree.serve.problems import problem_of
from perchtree.serve.security import Access, checked_token, host_names, is_loopback

pytestmark = [pytest.mark.outer, pytest.mark.jit]

WRITE, READ = "w" * 32, "r" * 32


@pytest.fixture
def guarded(tmp_path, fill):
    access = Access(write_token=WRITE, read_token=READ, origins=frozenset({"https://team.example"}))
    with served(tmp_path / "guarded.perchdb", access=access, fill=fill) as client:
        yield client


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_other_names_are_refused(http):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil", "", "127.0.0.2"):
        answer = http.get("/v1/info", headers={"Host": host})
        assert answer.status_code in (400, 421), host
    for host in ("localhost", f"localhost:{http.port}", "127.0.0.1:1", "[::1]:80", "LOCALHOST"):
        assert http.get("/v1/info", headers={"Host": host}).status_code == 200, host


def test_pages_of_other_sites_are_refused(http):
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"):
        assert http.get("/v1/info", headers={"Origin": origin}).status_code == 403, origin
        assert http.delete("/v1/points/k1", headers={"Origin": origin}).status_code == 403
    same = {"Origin": f"http://127.0.0.1:{http.port}"}
    assert http.get("/v1/info", headers=same).status_code == 200
    site = {"Sec-Fetch-Site": "cross-site"}
    assert http.delete("/v1/points/k1", headers=site).status_code == 403
    assert http.get("/v1/points/k1").status_code == 200


def test_forms_of_pages_change_nothing(http):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        body = '[{"key": "evil", "vector": [1, 2, 3]}]'
        answer = http.post("/v1/points", content=body, headers={"Content-Type": kind})
        assert answer.status_code == 415, kind
    assert http.get("/v1/points/evil").status_code == 404


def test_tokens(guarded):
    body = [{"key": "new", "vector": [1, 2, 3]}]
    assert guarded.get("/v1/info").status_code == 401
    assert guarded.get("/v1/info").headers["www-authenticate"] == "Bearer"
    for wrong in ("x" * 32, READ[:-1], WRITE + "x", "ü"):
        header = {"Authorization": f"Bearer {wrong}".encode()}
        assert guarded.get("/v1/info", headers=header).status_code == 401
    assert guarded.get("/v1/info", headers={"Authorization": f"Basic {READ}"}).status_code == 401
    assert guarded.get("/v1/info", headers=bearer(READ)).status_code == 200
    asked = {"vectors": [[1, 2, 3]]}
    assert guarded.post("/v1/nearest", json=asked, headers=bearer(READ)).status_code == 200
    for method, path in (
        ("POST", "/v1/points"), ("PUT", "/v1/points/k1"), ("DELETE", "/v1/points/k1"),
        ("POST", "/v1/removals"), ("POST", "/v1/answers"), ("POST", "/v1/corrections"),
    ):  # fmt: skip
        answer = guarded.request(method, path, json=body, headers=bearer(READ))
        assert answer.status_code == 403, path
    assert guarded.post("/v1/points", json=body, headers=bearer(WRITE)).json()["added"] == 1
    assert guarded.get("/metrics").status_code == 401
    assert guarded.get("/health").status_code == 200


def test_tokens_are_compared_in_constant_time(guarded, monkeypatch):
    compared = []

    def nothing_is_the_same(given, token):
        compared.append((given, token))
        return False

    monkeypatch.setattr(security.hmac, "compare_digest", nothing_is_the_same)
    assert guarded.get("/v1/info", headers=bearer(WRITE)).status_code == 401
    assert compared == [(WRITE.encode(), WRITE.encode()), (WRITE.encode(), READ.encode())]


def test_an_allowed_site_gets_cors_and_no_other_does(guarded):
    site = {"Origin": "https://team.example"}
    answer = guarded.get("/v1/info", headers=site | bearer(READ))
    assert answer.headers["access-control-allow-origin"] == "https://team.example"
    before = guarded.options("/v1/points", headers=site | {"Access-Control-Request-Method": "POST"})
    assert before.status_code == 200
    other = guarded.options("/v1/points", headers={"Origin": "https://evil.example"})
    assert other.status_code == 403
    assert "access-control-allow-origin" not in other.headers


def test_every_answer_has_the_headers(http):
    for path in ("/", "/docs", "/v1/info", "/v1/points/none", "/nowhere", "/openapi.json"):
        headers = http.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_no_answer_and_no_log_tells_paths_or_records(http, tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    collection = http.service.collection
    http.get("/v1/points/secret-key")
    http.post(
        "/v1/points", json=[{"key": "secret-key", "vector": [1, 2, 3], "text": "secret-text"}]
    )
    monkeypatch.setattr(http.service.records.rows, "search", broken)
    answers = [http.get("/v1/search?q=secret-word")]
    collection.close()
    answers += [
        http.post("/v1/points", json=[{"key": "x", "vector": [1, 2, 3]}]),
        http.get("/v1/points/k1"),
        http.get("/v1/clusters"), http.get("/ready"), http.get("/v1/search?q=a"),
    ]  # fmt: skip
    assert answers[0].status_code == 500
    for answer in answers:
        assert str(tmp_path) not in answer.text
        assert "Traceback" not in answer.text
        assert "secret" not in answer.text
    assert answers[1].status_code == 503
    assert "retry-after" in answers[1].headers
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith("httpx")]
    assert not any("secret" in line or str(tmp_path) in line for line in ours), ours
    assert any(line.startswith("GET /v1/points/{key} 404") for line in ours)
    assert any(line.startswith("RuntimeError at broken") for line in ours)


def test_the_log_says_why_nothing_can_be_changed(http, tmp_path, caplog):
    full = sqlite3.OperationalError("database or disk is full")
    http.service.collection._store.journal.fail(full)
    assert http.post("/v1/points", json=[{"key": "x", "vector": [1, 2, 3]}]).status_code == 503
    ours = [r.getMessage() for r in caplog.records if r.name == "perchtree.serve"]
    assert any(re.match("ReadOnlyError: the collection .*disk is full", line) for line in ours), (
        ours
    )
    assert not any(str(tmp_path) in line for line in ours)


def test_the_log_has_one_line_for_each_request(http, caplog):
    caplog.set_level(logging.INFO)
    for key in ("k1", "line\nbreak", "\x1b[31mred", "k2?vector=true"):
        http.get("/v1/points", params={"key": key})
        http.get("/v1/points/" + quote(key, safe=""))
    http.post("/v1/points", content="[", headers={"Content-Type": "application/json"})
    http.request("PURGE", "/coffee")

    def told():
        return [r.getMessage() for r in caplog.records if r.name == "perchtree.serve"]

    give_up = time.monotonic() + 20  # an answer may come before its line
    while len(told()) < 10 and time.monotonic() < give_up:
        time.sleep(0.01)
    ours = told()
    line = r"(GET|POST|other) (/v1/points(/{key})?|other) \d{3} [\d.]+ ms \d+ bytes in \d+ out"
    assert len(ours) == 10
    assert all(re.fullmatch(line, own) for own in ours), ours


def test_messages_are_inert(http):
    """What a request says comes back without anything that a terminal would act on."""
    key = "\x1b[31m\u202e\nred"
    for text in ("one", "other"):
        answer = http.post("/v1/points", json=[{"key": key, "vector": [1, 2, 3], "text": text}])
    assert answer.status_code == 409
    told = answer.json()["error"]
    assert "red" in told
    assert told.isprintable()


def broken(*_):
    raise RuntimeError("this is not told to anybody")


def test_errors_of_the_library_are_answers():
    folder = "/home/x/people.perchdb"
    assert (
        problem_of(ValueError(f"{folder} is closed"), folder).detail == "the collection is closed"
    )
    assert problem_of(OSError(28, "No space left", folder), folder).status_code == 503
    assert problem_of(MemoryError(), folder).status_code == 503
    assert problem_of(RuntimeError("?"), folder) is None


def test_tokens_and_names_are_checked():
    assert checked_token(f" {WRITE}\n", "here") == WRITE
    for wrong in ("short", "two words of more than sixteen", "ü" * 20):
        with pytest.raises(ValueError, match="here: a token has 16 to 512"):
            checked_token(wrong, "here")
    assert is_loopback("127.0.0.5")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("example.org")
    assert host_names("::", ["Some.Name", "fe80::1"]) == {"some.name", "[fe80::1]"}
    assert "10.0.0.1" in host_names("10.0.0.1", [])
    assert WRITE not in repr(Access(write_token=WRITE))
