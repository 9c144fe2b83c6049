"""Trees larger than memory: peak resident memory of tasks with a file that is mapped.

A file is made once, in a folder of PERCHTREE_BENCH (by default the system's for temporary files).
Each task is a process of its own. Figures depend on what the system holds of the file: it is either
all of it ("warm") or nothing ("cold", as far as the system lets go of it).
"""

import json
import os
import tempfile
from pathlib import Path

import numpy as np

from perchtree import ClusterTree

from .common import Row, run_python

N_ROWS, N_FEATURES = 300_000, 1024
N_ASKED = 1_000

CODE = """
import json, sys, time
import numpy as np
from perchtree import ClusterTree

path, task = sys.argv[1:]

def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024

def work(tree):
    rows = np.load(path + ".npy")
    if task == "nearest":
        tree.nearest(rows, k=5, exact=False)
    elif task == "add":
        tree.insert(rows)
    elif task == "cut":
        tree.cut(1000)
    elif task == "cut()":
        tree.cut()

start = time.perf_counter()
tree = ClusterTree.load(path, mmap=True)
opened = time.perf_counter() - start
work(tree)
seconds = time.perf_counter() - start - opened
print(json.dumps([status("VmHWM"), status("RssAnon"), opened, seconds]))
"""

TASKS = {
    "open": "open",
    "nearest": f"nearest of {N_ASKED:,} rows in cells",
    "add": f"insert of {N_ASKED:,} rows",
    "cut": "cut(1000)",
    "cut()": "cut()",
}


def rows_of(n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Rows near 30,000 centres, in a space of 64 dimensions, with a little noise."""
    fixed = np.random.default_rng(0)
    axes = fixed.normal(size=(64, N_FEATURES)).astype(np.float32) / 8
    centres = fixed.normal(size=(N_ROWS // 10, 64)).astype(np.float32)
    near = centres[rng.integers(len(centres), size=n_rows)]
    near += rng.normal(0, 0.3, near.shape).astype(np.float32)
    return near @ axes + rng.normal(0, 0.02, (n_rows, N_FEATURES)).astype(np.float32)


def make(path: Path) -> None:
    """A tree of many rows, and rows to ask for and to add."""
    tree, rng = ClusterTree(N_FEATURES, search="cells", recall=0.9), np.random.default_rng(1)
    for first in range(0, N_ROWS + 1, 10_000):  # one more: the next row is not a sample
        tree.insert(rows_of(min(10_000, N_ROWS + 1 - first), rng))
    tree.save(path)
    np.save(f"{path}.npy", rows_of(N_ASKED, rng))


def run() -> list[Row]:
    folder = Path(os.environ.get("PERCHTREE_BENCH", tempfile.gettempdir()))
    path = folder / f"mapped-{N_ROWS}-{N_FEATURES}.perch"
    if not path.exists():
        make(path)
    size = path.stat().st_size
    for task in TASKS:  # what has to be compiled
        run_python(CODE, str(path), task)
    rows = []
    for task, what in TASKS.items():
        for warm in (True, False):
            with path.open("rb") as file:
                while warm and file.read(2**24):
                    pass
                if not warm:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            peak, anonymous, opened, seconds = json.loads(run_python(CODE, str(path), task))
            figure = f"{peak / 1e6:,.0f} MB ({peak / size:.2f} of the file), {anonymous / 1e6:,.0f}"
            how = "warm" if warm else "cold"
            goal = "< 0.25 of the file" if task == "nearest" else ""
            rows.append(Row(
                f"{what}, {how}: peak resident, own memory at the end, time to open, time",
                f"{figure} MB, {opened:.1f} s, {seconds:.1f} s", goal,
            ))  # fmt: skip
    rows.append(Row("the file", f"{size / 1e6:,.0f} MB"))
    return rows
