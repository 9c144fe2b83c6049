"""From import to the first inserted point, with and without compiled code at hand."""

import tempfile

from .common import Row, run_python

CODE = """
import time; start = time.perf_counter()
import perchtree
perchtree.ClusterTree(64, linkage="box").insert([[0.0] * 64])
print(time.perf_counter() - start)
"""


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as cache:
        cold = float(run_python(CODE, NUMBA_CACHE_DIR=cache))
        warm = min(float(run_python(CODE, NUMBA_CACHE_DIR=cache)) for _ in range(3))
    return [
        Row("import and first insert, nothing compiled", f"{cold:.1f} s", "< 20 s"),
        Row("import and first insert, compiled before", f"{warm:.2f} s", "< 2 s"),
    ]
