"""Files beside numpy.save and numpy.load of the same bytes, checksums included.

In turns, medians of nine. Old files are removed and the disk is idle before each; "again" replaces
a file of the same name. Reading is from the memory of the system, where it is the checksum that
would show. The invariants of a tree, which `load` checks besides, are no part of this.
"""

import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from perchtree.files.container import Reader, Section, write

from .common import Row, seconds

N_ROWS, N_FEATURES = 100_000, 384
TIMES = 9


def run() -> list[Row]:
    rng = np.random.default_rng(0)
    shapes = {"points": (N_ROWS, N_FEATURES), "boxes": (N_ROWS * 2 // 5, 2, N_FEATURES)}
    arrays = {name: rng.random(shape, np.float32) for name, shape in shapes.items()}
    arrays["means"] = rng.random((N_ROWS * 2 // 5, N_FEATURES))
    n_bytes = sum(array.nbytes for array in arrays.values())
    with tempfile.TemporaryDirectory(dir=os.environ.get("PERCHTREE_BENCH")) as name:
        return compare(Path(name), arrays, n_bytes)


def compare(folder: Path, arrays: dict[str, np.ndarray], n_bytes: int) -> list[Row]:
    ours = folder / "all.perch"

    def save(*, sync: bool) -> None:
        for name, array in arrays.items():
            with (folder / f"{name}.npy").open("wb") as file:
                np.save(file, array)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())

    def load() -> None:
        for name in arrays:
            np.load(folder / f"{name}.npy")

    def write_ours(*, sync: bool) -> None:
        write(ours, {"tree": Section({}, arrays)}, sync=sync)

    def read_ours() -> None:
        reader = Reader(ours)
        for name in arrays:
            reader.read("tree", name)

    def clean() -> None:
        for file in folder.iterdir():
            file.unlink()
        os.sync()

    def ratios(theirs: Callable[[], None], own: Callable[[], None], before: Callable[[], None]):
        found, times = [], []
        for _ in range(TIMES):
            before()
            first = seconds(theirs)
            before()
            times.append(seconds(own))
            found.append(first / times[-1])
        speed = n_bytes / statistics.median(times) / 1e6
        return f"{statistics.median(found):.2f} times ({speed:,.0f} MB/s)"

    rows = []
    for how, sync in (("", False), (", synced", True)):
        pair = (lambda sync=sync: save(sync=sync)), (lambda sync=sync: write_ours(sync=sync))
        rows.append(Row(f"written{how}: speed beside numpy.save", ratios(*pair, clean), ">= 0.7"))
        pair[0]()
        pair[1]()
        rows.append(Row(f"written again{how}", ratios(*pair, os.sync), ">= 0.7"))
    rows.append(Row("read: speed beside numpy.load", ratios(load, read_ours, os.sync), ">= 0.7"))
    return rows
