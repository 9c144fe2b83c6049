"""The command line: a gigabyte of Parquet in bounded memory. Takes half an hour."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .common import Row, run_python

D = 128
FILES, ROWS = 20, 100_000
LEAVES = 20_000

CODE = """
import sys
from perchtree.cli import main

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024

small, large, output = sys.argv[1:]
options = ["--mode", "bc", "--max-leaves", "{leaves}", "-q"]
main(["fit", small, "-o", output, *options], standalone_mode=False)  # compiled, libraries loaded
before = resident("VmHWM")
main(["fit", large, "-o", output, "--force", *options], standalone_mode=False)
print(before, resident("VmHWM"))
"""


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        return _bounded_memory(Path(name))


def make(n_rows: int, seed: int) -> NDArray[np.float32]:
    """Rows around 2,000 centres."""
    centres = np.random.default_rng(0).normal(size=(2000, D)).astype(np.float32)
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n_rows, D), np.float32)
    return centres[rng.integers(0, 2000, n_rows)] + np.float32(0.2) * noise


def write(X: NDArray[np.float32], path: Path) -> None:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D)
    pq.write_table(pa.table({"embedding": lists}), path, compression="none", row_group_size=20_000)


def _bounded_memory(folder: Path) -> list[Row]:
    large, small = folder / "large", folder / "small.parquet"
    large.mkdir()
    for part in range(FILES):
        write(make(ROWS, part + 1), large / f"{part:03}.parquet")
    write(make(LEAVES + 5000, 99), small)
    size = sum(file.stat().st_size for file in large.iterdir())
    start = time.perf_counter()
    code = CODE.replace("{leaves}", str(LEAVES))
    before, peak = map(int, run_python(code, str(small), str(large), str(folder / "t")).split())
    took = time.perf_counter() - start
    tree = 5 * 4 * D * LEAVES + 120 * LEAVES + 8 * FILES * ROWS
    return [
        Row(
            f"Parquet folder of {size / 1e9:.2f} GB, PERCH-BC, {LEAVES:,} leaves: peak memory",
            f"{peak / 1e6:,.0f} MB ({took:,.0f} s)",
            f"<= 600 MB ({before / 1e6:,.0f} MB after 25,000 rows; the tree's own bound is "
            f"{tree / 1e6:,.0f} MB)",
        )
    ]
