"""Resident memory that inserts add, beside the data in float32; compiled code loaded before."""

from .common import Row, run_python

CODE = """
import sys
import numpy as np
from perchtree import ClusterTree

n_features, n_rows, linkage, by = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024

# Points near a line: the search is quick, and memory does not depend on it.
rng = np.random.default_rng(0)
X = rng.random((n_rows, 1), np.float32) + 1e-3 * rng.random((n_rows, n_features), np.float32)
ClusterTree(n_features, linkage=linkage).insert(X[:3_000])
before = resident("VmRSS")
tree = ClusterTree(n_features, linkage=linkage)
for start in range(0, n_rows, by):
    tree.insert(X[start : start + by])
print((resident("VmHWM") - before) / X.nbytes)
"""

GOALS = {"box": 2.6, "average": 3.6, "neighbors": 4.6}
"""Most float32 rows per point, vectors of the search included."""


def growth(n_features: int, n_rows: int, linkage: str, by: int) -> float:
    """Peak growth while rows are inserted, so many at a time, as a multiple of the data."""
    return float(run_python(CODE, str(n_features), str(n_rows), linkage, str(by)))


def run() -> list[Row]:
    rows = []
    for n_features, n_rows in ((128, 100_000), (384, 50_000), (784, 30_000)):
        for linkage, most in GOALS.items():
            for by, how in ((n_rows, "one call"), (1_000, "calls of 1,000")):
                found = growth(n_features, n_rows, linkage, by)
                what = f"peak growth, {linkage}, {n_rows:,} x {n_features} in {how}"
                rows.append(Row(what, f"{found:.2f} x data", f"<= {most} x data"))
    return rows
