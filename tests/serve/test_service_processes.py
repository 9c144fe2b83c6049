"""`perch serve` as a process: how it starts, what it refuses, how it ends."""

import time

import httpx
import load
import pytest
from fuzz import ALWAYS_OFF, INFORMED_OFF, fill, informed, run_once
from serving import Process

from perchtree import Client, Collection

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


@pytest.mark.slow
def test_the_demo_starts_with_bundled_data():
    with Process("--demo", "-q") as process:
        with Client(process.url) as client:
            assert len(client) == 1797
            assert client.info()["clusters"] > 10
            assert client.search("handwritten")
        assert process.stop() == 0
