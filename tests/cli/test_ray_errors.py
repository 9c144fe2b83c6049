"""What `--ray` says where it cannot work."""

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
