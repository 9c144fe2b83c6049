"""Resident memory that one large insert adds, compiled code loaded before."""

from .common import Row, run_python

CODE = """
import numpy as np
from perchtree import ClusterTree

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024

# Points near a line: the search is quick, and memory does not depend on it.
rng = np.random.default_rng(0)
X = rng.random((100_000, 1), np.float32) + 1e-3 * rng.random((100_000, 128), np.float32)
ClusterTree(128, linkage="box").insert(X[:300])
before = resident("VmRSS")
tree = ClusterTree(128, linkage="box")
tree.insert(X)
print((resident("VmHWM") - before) / X.nbytes)
"""


def run() -> list[Row]:
    growth = float(run_python(CODE))
    return [Row("peak growth, 100,000 x 128 in one call", f"{growth:.2f} x data", "<= 4 x data")]
