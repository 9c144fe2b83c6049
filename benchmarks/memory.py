"""Resident memory that inserts add, beside the data in float32; compiled code loaded before.

Beside it, what `estimate_memory` said of as many rows when an eighth of them was there.
"""

import json

from .common import Row, run_python

CODE = """
import json
import sys
import numpy as np
from perchtree import ClusterTree

n_features, n_rows, mode, by = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
settings = {"search": "cells"} if mode == "cells" else {"linkage": mode}

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024

# Points near a line: the search is quick, and memory does not depend on it.
rng = np.random.default_rng(0)
X = rng.random((n_rows, 1), np.float32) + 1e-3 * rng.random((n_rows, n_features), np.float32)
few = ClusterTree(n_features, **settings)
few.insert(X[: n_rows // 8])
before = resident("VmRSS")
tree = ClusterTree(n_features, **settings)
for start in range(0, n_rows, by):
    tree.insert(X[start : start + by])
grown = resident("VmHWM") - before
print(json.dumps([grown / X.nbytes, few.estimate_memory(n_rows) / grown]))
"""

GOALS = {"box": 2.6, "average": 3.6, "neighbors": 4.6, "cells": None}
"""Most float32 rows per point, vectors of the search included, from 128 features on."""
SIZES = ((16, 100_000), (64, 100_000), (128, 100_000), (384, 50_000), (784, 30_000))


def growth(n_features: int, n_rows: int, mode: str, by: int) -> tuple[float, float]:
    """Peak growth while rows are inserted, so many at a time, as a multiple of the data; and what
    was estimated, as a multiple of that."""
    said = run_python(CODE, str(n_features), str(n_rows), mode, str(by))
    grown, estimated = json.loads(said)
    return grown, estimated


def run() -> list[Row]:
    rows = []
    for n_features, n_rows in SIZES:
        for mode, most in GOALS.items():
            for by, how in ((n_rows, "one call"), (1_000, "calls of 1,000")):
                grown, estimated = growth(n_features, n_rows, mode, by)
                what = f"peak growth, {mode}, {n_rows:,} x {n_features} in {how}; estimated"
                goal = "" if most is None or n_features < 128 else f"<= {most} x data; "
                figure = f"{grown:.2f} x data; {estimated:.2f} of it"
                rows.append(Row(what, figure, goal + "0.9 to 1.1"))
    return rows
