"""Many machines: the model of `perch plan` beside whole fits, each in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from perchtree import Collection
from perchtree.collection.intake import Stop
from perchtree.distributed.cluster import connected
from perchtree.distributed.measuring import make_rows, measure
from perchtree.distributed.model import Plan, cells_plan, exact_plan

from .common import Row, resampled, seconds
from .machines import fit_of

DIMS = (64, 384, 1024)
SIZES = (20_000, 60_000)
REAL = 384
"""Of so many dimensions the rows are real ones, resampled."""
MEASURED = 18_432
"""The first so many rows are those measured with, as by `perch plan --like`."""
THREADS = 2
TIMES, LONG = 3, 20.0
"""Each fit is repeated so many times, or for so many seconds: the shortest time counts."""
_FEW = 6000
"""Rows of a first fit, which loads everything, so that memory can be compared with it."""
_FEWEST = 100
"""Rows of another one, after which workers hold nothing of the first."""


def rows_of(n_rows: int, n_features: int) -> Any:
    """The first rows of always the same data."""
    most = max(SIZES)
    return (resampled(most) if n_features == REAL else make_rows(most, n_features))[:n_rows]


def status(pid: int | str, field: str) -> int:
    """A figure in bytes that the system knows of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


class Peak:
    """Memory that a process takes beyond what it has now."""

    def __init__(self, pid: int | str = "self") -> None:
        self._pid = pid
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the highest is what it is now
        self._before = status(pid, "VmRSS")

    @property
    def bytes(self) -> int:
        return status(self._pid, "VmHWM") - self._before


def fits(X: Any, search: str, n_workers: int) -> dict[str, float]:
    """Seconds and bytes of a fit by workers, or, without any, by threads."""
    if n_workers == 0:
        Collection(search=search, n_jobs=THREADS).add(X[:_FEW])
        peak, times = Peak(), list[float]()
        while len(times) < TIMES and sum(times) < LONG:
            collection = Collection(search=search, n_jobs=THREADS)
            times.append(seconds(lambda into=collection: into.add(X)))
            if len(times) == 1:
                memory = peak.bytes
            del collection
        return {"seconds": min(times), "memory": memory, "worker_memory": 0}
    with connected("local", n_workers) as workers, tempfile.TemporaryDirectory() as folder:
        for name, n_rows in (("few", _FEW), ("fewest", _FEWEST), ("all", len(X))):
            np.save(Path(folder) / f"{name}.npy", X[:n_rows])
        for name in ("few", "fewest"):
            fit_of(Path(folder) / f"{name}.npy", workers, search=search).run(Stop())
        peaks = [Peak(pid) for pid in workers_of(os.getpid())]
        peak, times = Peak(), list[float]()
        while len(times) < TIMES and sum(times) < LONG:
            fit = fit_of(Path(folder) / "all.npy", workers, search=search)
            times.append(seconds(lambda fit=fit: fit.run(Stop())))
            if len(times) == 1:
                memory = peak.bytes
                worker_memory = max(peak.bytes for peak in peaks)
            fit.done()
            del fit
        return {"seconds": min(times), "memory": memory, "worker_memory": worker_memory}


def workers_of(driver: int) -> list[int]:
    """The workers of a cluster that a process has started."""
    parents, workers = {}, []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                name = (folder / "cmdline").read_bytes()
            except (OSError, ValueError):
                continue  # it has ended meanwhile
            parents[int(folder.name)] = parent
            if name.startswith(b"ray::"):
                workers.append(int(folder.name))
    return [pid for pid in workers if parents.get(parents[pid]) == driver]


def planned(constants: Any, n_rows: int, n_features: int, search: str, n_workers: int) -> Plan:
    if search == "cells":
        return cells_plan(constants, n_rows, n_features, n_workers or THREADS, many=n_workers > 0)
    return exact_plan(
        constants, n_rows, n_features, n_workers or THREADS, held=2**33, many=n_workers > 0
    )


def compare(plan: Plan, found: dict[str, float]) -> str:
    told = [f"{found['seconds']:.1f} s, model {plan.seconds / found['seconds']:.2f}"]
    for name, what in (("memory", "memory"), ("worker_memory", "of a worker")):
        if found[name]:
            ratio = getattr(plan, name) / found[name]
            told.append(f"{what} {found[name] / 1e6:,.0f} MB, model {ratio:.2f}")
    return "; ".join(told)


def run(dims: tuple[int, ...] = DIMS) -> list[Row]:
    """With one worker, and the driver beside it: this machine has two cores."""
    rows = []
    for n_features in dims:
        constants = measure(n_features, rows_of(MEASURED, n_features))
        print(n_features, constants, flush=True)
        for n_rows in SIZES:
            for search in ("auto", "cells"):
                for n_workers in (0, 1):
                    command = [
                        sys.executable,
                        "-m",
                        __name__,
                        n_rows,
                        n_features,
                        search,
                        n_workers,
                    ]
                    told = subprocess.run(
                        list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True
                    )
                    found = json.loads(told.stdout.splitlines()[-1])
                    by = "one worker" if n_workers else f"{THREADS} threads"
                    plan = planned(constants, n_rows, n_features, search, n_workers)
                    row = Row(
                        f"{n_rows:,} x {n_features}, {search}, {by}", compare(plan, found),
                        "0.7 to 1.3",
                    )  # fmt: skip
                    print(*row, flush=True)
                    rows.append(row)
    return rows


if __name__ == "__main__":
    n_rows, n_features, search, n_workers = sys.argv[1:]
    X = rows_of(int(n_rows), int(n_features))
    print(json.dumps(fits(X, search, int(n_workers))))
