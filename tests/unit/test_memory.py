"""How much memory an insert takes."""

import subprocess
import sys

import pytest

CODE = """
import numpy as np
from perchtree import ClusterTree

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024

# Points near a line: the search is quick, and memory does not depend on it.
rng = np.random.default_rng(0)
X = rng.random((50_000, 1), np.float32) + 1e-3 * rng.random((50_000, 128), np.float32)
ClusterTree(128).insert(X[:300])
before = resident("VmRSS")
ClusterTree(128).insert(X)
print((resident("VmHWM") - before) / X.nbytes)
"""


@pytest.mark.jit
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_is_below_four_times_the_data():
    result = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    assert 2.5 < float(result.stdout) < 4
