"""The command line: a gigabyte of Parquet in bounded memory, and what reading and writing cost."""

import contextlib
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from perchtree import Perch
from perchtree.cli import main

from .common import Row, run_python, seconds

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
        return [*_bounded_memory(Path(name)), *_overhead(Path(name))]


def _make(n_rows: int, seed: int) -> NDArray[np.float32]:
    """Rows around 2,000 centres."""
    centres = np.random.default_rng(0).normal(size=(2000, D)).astype(np.float32)
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n_rows, D), np.float32)
    return centres[rng.integers(0, 2000, n_rows)] + np.float32(0.2) * noise


def _write(X: NDArray[np.float32], path: Path) -> None:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D)
    pq.write_table(pa.table({"embedding": lists}), path, compression="none", row_group_size=20_000)


def _bounded_memory(folder: Path) -> list[Row]:
    large, small = folder / "large", folder / "small.parquet"
    large.mkdir()
    for part in range(FILES):
        _write(_make(ROWS, part + 1), large / f"{part:03}.parquet")
    _write(_make(LEAVES + 5000, 99), small)
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


def _overhead(folder: Path) -> list[Row]:
    X = _make(50_000, 1)
    np.save(folder / "x.npy", X)
    _write(X, folder / "x.parquet")
    rows = []
    for mode, parameters in {"grafted": {}, "perch": {"linkage": "box"}}.items():
        best = dict.fromkeys(("memory", "x.npy", "x.parquet"), np.inf)
        for _ in range(3):
            best["memory"] = min(best["memory"], seconds(partial(Perch(**parameters).fit, X)))
            for name in ("x.npy", "x.parquet"):
                arguments = ["fit", folder / name, "-o", folder / "t", "--mode", mode, "-q"]
                took = seconds(partial(_perch, [*arguments, "--force"]))
                best[name] = min(best[name], took)
        for name in ("x.npy", "x.parquet"):
            more = best[name] / best["memory"] - 1
            kind = name.removeprefix("x")
            rows.append(
                Row(
                    f"perch fit --mode {mode} of 50,000 x {D} from {kind}, over inserting from "
                    "memory",
                    f"{100 * more:+.0f} % of {best['memory']:.1f} s",
                    "<= 15 %",
                )
            )
    return rows


def _perch(arguments: list[Any]) -> None:
    with contextlib.suppress(SystemExit):
        main([str(argument) for argument in arguments], standalone_mode=False)
