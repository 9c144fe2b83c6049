"""What `--ray` says where it cannot work."""

import re
import sys

import numpy as np
import pytest

from perchtree.distributed import cluster


@pytest.fixture(autouse=True)
def rows(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(5))


def test_ray_is_missing(perch, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    error = perch.fails("fit", "x.npy", "-o", "t.perch", "--ray", "auto")
    assert "pip install 'perchtree[ray]'" in error


@pytest.mark.filterwarnings("ignore")
def test_no_cluster(perch):
    pytest.importorskip("ray", reason="RAY IS NOT INSTALLED")
    error = perch.fails("fit", "x.npy", "-o", "t.perch", "--ray", "127.0.0.1:1")
    assert "there is no Ray cluster at 127.0.0.1:1: start one by `ray start --head`" in error
    assert "an address is HOST:PORT" in perch.fails(
        "fit", "x.npy", "-o", "t.perch", "--ray", "somewhere"
    )


def test_a_cluster_that_has_ended_without_notice(perch, tmp_path, monkeypatch):
    """Ray keeps its address, and would try to reach it for minutes."""
    services = pytest.importorskip("ray._private.services", reason="RAY IS NOT INSTALLED")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(services, "find_gcs_addresses", set)  # of other tests
    monkeypatch.setattr(services, "find_bootstrap_address", lambda _folder: "127.0.0.1:1")
    error = perch.fails("fit", "x.npy", "-o", "t.perch", "--ray", "auto")
    assert re.search(r"there is no Ray cluster at [\d.]+:1: start one by `ray start --head`", error)
    monkeypatch.setattr(services, "find_bootstrap_address", lambda _folder: None)
    error = perch.fails("fit", "x.npy", "-o", "t.perch", "--ray", "auto")
    assert "there is no Ray cluster on this machine: start one by `ray start --head`" in error


def test_ray_gives_up(monkeypatch):
    """It raises whatever it likes."""
    ray = pytest.importorskip("ray", reason="RAY IS NOT INSTALLED")
    attempts = []

    def init(**_options):
        attempts.append(1)
        raise Exception("The current node timed out\nduring startup.")

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(cluster, "_ATTEMPT_SECONDS", 0)
    with (
        pytest.raises(ConnectionError, match=r"Ray cannot be started here: The current node timed"),
        cluster.connected("local"),
    ):
        pass
    assert len(attempts) == 3


def test_another_version_of_ray():
    error = RuntimeError("Version mismatch: The cluster was started with:\n  Ray: 2.1")
    assert "another version of Ray or Python: Version mismatch" in cluster._why_not("a:1", error)
    silent = RuntimeError("no answer\nfrom it")
    assert "at a:1 does not answer, try again: no answer from it" in cluster._why_not("a:1", silent)
    absent = ConnectionError("Could not find any running Ray instance.")
    assert "no Ray cluster on this machine: start one" in cluster._why_not("auto", absent)


def test_a_cluster_that_wants_a_token():
    error = RuntimeError("Failed to connect to GCS.")
    error.__cause__ = RuntimeError("x" * 300 + " InvalidAuthToken: Authentication token is missing")
    assert cluster.is_closed(error)
    assert "at a:1 wants a token: set RAY_AUTH_MODE=token" in cluster._why_not("a:1", error)
    assert not cluster.is_closed(RuntimeError("no answer"))


def test_usage(perch):
    perch("fit", "x.npy", "-o", "t.perch")
    assert "belongs to --ray" in perch.fails("add", "t.perch", "x.npy", "--work", "w", code=2)
    for more in (["--max-leaves", "3"], ["--search", "beam"]):
        error = perch.fails("fit", "x.npy", "-o", "u.perch", "--ray", "auto", *more)
        assert "only one machine can do that" in error
    assert "leave out --ray" in perch.fails(
        "add", "t.perch", "x.npy", "--ray", "auto", "--update", code=2
    )
