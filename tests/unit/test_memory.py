"""How much memory an insert takes."""

import subprocess
import sys

import pytest
from benchmarks.memory import CODE


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.jit
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_is_below_four_times_the_data():
    smaller = CODE.replace("100_000", "50_000")
    assert smaller != CODE
    # Compilation has a peak of its own, so it is done by another process.
    compiling, _, _ = smaller.partition("before =")
    run(compiling)
    assert 2.5 < float(run(smaller)) < 4
