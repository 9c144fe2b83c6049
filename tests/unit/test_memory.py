"""How much memory an insert takes."""

import subprocess
import sys

import pytest
from benchmarks.memory import CODE


@pytest.mark.jit
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_is_below_four_times_the_data():
    smaller = CODE.replace("100_000", "50_000")
    assert smaller != CODE
    result = subprocess.run(
        [sys.executable, "-c", smaller], capture_output=True, text=True, check=True
    )
    assert 2.5 < float(result.stdout) < 4
