"""`perch serve` as a process: how it starts, what it refuses, how it ends."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import load
import pytest
from fuzz import ALWAYS_OFF, INFORMED_OFF, fill, informed, run_once
from serving import SETTINGS, Process

from perchtree import Client, Collection, ServiceError

pytestmark = [pytest.mark.outer, pytest.mark.jit]


def test_it_serves_ends_by_sigterm_and_loses_nothing_by_kill(tmp_path):
    path = tmp_path / "people.perchdb"
    load.begin(path)
    said = load.Acknowledged()
    distance = "--distance", "2"
    with Process(path, "-q", *distance) as process, load.working(process.url, said, 3, 2):
        deadline = time.monotonic() + 60
        while len(said.times["POST /points"]) < 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.kill()
    with Process(path, "-q") as process:  # the distance is kept
        assert said.stored
        assert said.check(process.url) == ([], [])
        with Client(process.url) as client:
            assert client.info()["standing"] == 2
            with httpx.stream(
                "GET", f"{process.url}/v1/events", headers={"Accept": "text/event-stream"},
                trust_env=False, timeout=30,
            ) as stream:  # fmt: skip
                assert stream.status_code == 200
                assert process.stop() == 0
    with Collection.open(path) as collection:
        assert set(said.stored) - said.pending <= set(collection.keys.tolist())
        collection.verify()
    assert not any("Traceback" in line for line in process.errors)


@pytest.mark.slow
def test_what_is_acknowledged_before_sigterm_is_there(tmp_path):
    path = tmp_path / "people.perchdb"
    load.begin(path)
    said = load.Acknowledged()
    with Process(path, "-q") as process, load.working(process.url, said, 0, 3):
        deadline = time.monotonic() + 60
        while len(said.times["POST /points"]) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.stop() == 0
    with Collection.open(path) as collection:
        assert set(said.stored) - said.pending <= set(collection.keys.tolist())


def test_random_requests(tmp_path):
    fill(tmp_path / "plain.perchdb")
    with Process(tmp_path / "plain.perchdb", "-q", "--distance", "1") as process:
        schema = httpx.get(f"{process.url}/openapi.json", trust_env=False).json()
        known, checks = informed(schema, None), ALWAYS_OFF + INFORMED_OFF
        assert run_once(process.url, known, tmp_path, 3, 1, "fuzzing,stateful", checks) > 50
        assert process.stop() == 0
    load.check(tmp_path / "plain.perchdb")


def refused(perch, *arguments):
    """What it says when it does not start, on one line."""
    return " ".join(perch("serve", *arguments, code=None).stderr.split())


def test_what_it_refuses(perch, tmp_path, monkeypatch):
    fill(tmp_path / "x.perchdb")
    name = str(tmp_path / "x.perchdb")
    for arguments, message in (
        (
            ["--workers", "4"],
            "only one worker is possible: the tree is in the memory of the one process",
        ),
        (["--host", "0.0.0.0"], "give --token-file"),
        (["--host", "0.0.0.0", "--insecure"], "--allow-host NAME"),
        (["--certificate", name], "both --certificate and --private-key"),
        (["--demo"], "give a folder, or --demo"),
    ):
        assert message in refused(perch, name, *arguments)
    assert "--demo" in refused(perch)
    assert "there is no collection" in refused(perch, str(tmp_path / "none.perchdb"))
    assert "a service needs a folder" in refused(perch, str(tmp_path / "x.perch"))
    monkeypatch.setenv("PERCHTREE_TOKEN", "short")
    assert "PERCHTREE_TOKEN: a token has 16" in refused(perch, name)
    monkeypatch.delenv("PERCHTREE_TOKEN")
    token = tmp_path / "token"
    token.write_text("no good")
    assert "a token has 16" in refused(perch, name, "--token-file", str(token))
    with Collection.open(name, write=True):
        assert "being changed by another process" in refused(perch, name)


@pytest.mark.slow
def test_a_token_comes_from_a_file(tmp_path):
    fill(tmp_path / "x.perchdb")
    (tmp_path / "token").write_text("t" * 40 + "\n")
    environment = {"PERCHTREE_READ_TOKEN": "r" * 40}
    arguments = tmp_path / "x.perchdb", "--token-file", tmp_path / "token"
    with Process(*arguments, environment=environment) as process:
        assert httpx.get(f"{process.url}/v1/info", trust_env=False).status_code == 401
        with Client(process.url, token="r" * 40) as client:
            assert len(client) == 60
        with Client(process.url, token="t" * 40) as client:
            client.add([[1.0, 2.0]], keys=["new"])
        assert process.stop() == 0
    log = "".join(process.errors)
    assert "GET other 401" in log
    assert "POST /v1/points 200" in log
    assert "t" * 40 not in log
    assert "r" * 40 not in log


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, for a certificate")
def test_https(tmp_path):
    fill(tmp_path / "x.perchdb")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", key, "-out", certificate,
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    options = "--certificate", certificate, "--private-key", key
    with Process(tmp_path / "x.perchdb", "-q", *options) as process:
        assert process.url.startswith("https://")
        with Client(process.url, certificates=certificate) as client:
            client.add([[1.0, 2.0]], keys=["new"])
            assert client.get("new")["key"] == "new"
            own = {"Origin": process.url}
            assert client._http.get("/v1/info", headers=own).status_code == 200
            plain = {"Origin": process.url.replace("https", "http")}
            assert client._http.get("/v1/info", headers=plain).status_code == 403
        with Client(process.url, retries=0) as stranger, pytest.raises(ConnectionError):
            len(stranger)
        with Client(process.url.replace("https", "http"), retries=0) as plain:  # noqa: SIM117
            with pytest.raises((ConnectionError, ServiceError)):
                len(plain)
        assert process.stop() == 0


@pytest.mark.slow
def test_the_demo_starts_with_bundled_data():
    with Process("--demo", "-q") as process:
        with Client(process.url) as client:
            assert len(client) == 1797
            assert client.info()["clusters"] > 10
            assert client.search("handwritten")
        assert process.stop() == 0


def test_nothing_is_compiled_or_loaded_while_readers_wait(tmp_path):
    """What is needed is looked for on disk, and compiled if it is not there: both are counted."""
    script = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parent)]}
from perchtree._kernels.disk_cache import SourceKeyedCache
from perchtree.serve.rehearsing import rehearse
from perchtree.settings import Settings

looked_for = []
load = SourceKeyedCache.load_overload

def counting(cache, *signature):
    looked_for.append(cache._py_func.__qualname__)
    return load(cache, *signature)

SourceKeyedCache.load_overload = counting
rehearse(Settings.of({SETTINGS!r}))
assert looked_for
looked_for.clear()
from serving import served
with served({str(tmp_path / "x.perchdb")!r}) as http:
    def ask(method, path, **given):
        answer = http.request(method, "/v1/" + path, **given)
        assert answer.status_code == 200, (path, answer.text)
    records = [{{"key": f"k{{i}}", "vector": [i % 7, i]}} for i in range(100)]
    for part in (records[:10], records[10:11], records[11:]):
        ask("POST", "points", json=part)
        http.service.collection.keep_clusters(2.0)
        ask("DELETE", "points/" + part[0]["key"])
        ask("PUT", "points/" + part[0]["key"], json={{"vector": [9, 9]}})
        for query in ("", "?k=3", "?min_size=3", "?describe=false"):
            ask("GET", "clusters" + query)
        ask("GET", "clusters/0")
        for path in ("points/k0", "points/k1?vector=true", "tree/root", "events"):
            ask("GET", path)
        for path, k in (("nearest", {{"k": 1}}), ("predict", {{}})):
            ask("POST", path, json={{"vectors": [[1.5, 2]]}} | k)
print(looked_for)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
