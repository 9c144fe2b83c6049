"""How much memory inserts take."""

import json
import subprocess
import sys

import pytest
from benchmarks.memory import CODE, GOALS


def run(*given):
    return subprocess.run(
        [sys.executable, "-c", CODE, *map(str, given)], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.jit
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("linkage", ["box", "average"])
def test_most_nodes_keep_no_features(linkage):
    """With a box for every node there would be 3 rows per point, with means 5."""
    # Compilation has a peak of its own, so it is done by another process.
    run(128, 24_000, linkage, 24_000)
    grown, estimated = json.loads(run(128, 50_000, linkage, 50_000))
    assert 1.5 < grown < GOALS[linkage]
    assert 0.8 < estimated < 1.2
