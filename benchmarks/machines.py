"""Many machines: what tasks cost beside threads, memory, and the model of `perch plan`."""

import contextlib
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from perchtree import Collection
from perchtree.collection.intake import Stop
from perchtree.distributed.cluster import RayWorkers, connected
from perchtree.distributed.fitting import Asked, Fit
from perchtree.distributed.job import Input
from perchtree.distributed.measuring import measure
from perchtree.distributed.model import cells_plan, exact_plan
from perchtree.distributed.worker import NOTHING
from perchtree.inputs.batches import Columns
from perchtree.search.axes import find_axes
from perchtree.search.images import make_space, rotate_rows
from perchtree.search.products import Nearest, Points, scan

from .common import Row, load, seconds

ROWS = 100_000
K = 5


def resampled(n_rows: int, seed: int = 0) -> Any:
    """clinc150 with small noise."""
    X, rng = load("clinc150")[0], np.random.default_rng(seed)
    rows = X[rng.integers(0, len(X), n_rows)]
    noise = 0.1 * float(np.sqrt((X.var(axis=0)).mean()))
    return (rows + noise * rng.normal(size=rows.shape)).astype(np.float32)


def by_threads(X: Any, n_jobs: int) -> float:
    """Search alone, in this process: rows in memory, axes found once, 2,048 rows at a time."""

    def search() -> None:
        ids = np.arange(len(X), dtype=np.int32)
        bounds = np.stack([X.min(axis=0), X.max(axis=0)])
        axes = find_axes(Points(X[:32768], ids[:32768]), bounds, K)
        image = None if axes is None else rotate_rows(axes, X, n_jobs)
        for first in range(0, len(X), 2048):
            rows = slice(first, first + 2048)
            own = None if image is None else image.of(rows)
            answers = Nearest.unknown(len(X[rows]), K)
            if first:
                before = None if image is None else image.of(slice(first))
                space = make_space(axes, X[rows], own, X[:first], before, bounds)
                scan(X[rows], Points(X[:first], ids[:first]), space, answers, n_jobs)
            space = make_space(axes, X[rows], own, X[rows], own, bounds)
            scan(X[rows], Points(X[rows], ids[rows]), space, answers, n_jobs, earlier=True)

    return seconds(search)


class Searching(Fit):
    """A fit that only searches."""

    def search(self) -> float:
        with self._folder.locked(), self._installed:
            self._begin()
            start = time.perf_counter()
            self._run._finish()
            return time.perf_counter() - start


@contextlib.contextmanager
def cluster(n_workers: int) -> Iterator[RayWorkers]:
    """A cluster whose workers have loaded what they need."""
    with connected("local", n_workers) as workers, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "few.npy"
        np.save(path, resampled(8192))
        fit_of(path, workers, block_rows=1024).run(Stop())
        yield workers


def fit_of(path: Path, workers: RayWorkers, kind: type[Fit] = Fit, **more: Any) -> Any:
    settings = {name: more.pop(name) for name in ("search",) if name in more}
    asked = Asked(Input(str(path), Columns()), path.with_suffix(".work"), **more)
    return kind(Collection(**settings), asked, workers)


def send(workers: RayWorkers, n_tasks: int = 200) -> None:
    """Tasks without work, beside a worker's check of its own versions."""
    left = [workers.submit(NOTHING) for _ in range(n_tasks)]
    while left:
        for handle, _ in workers.wait(left, 1.0):
            left.remove(handle)


def overhead(folder: Path) -> list[Row]:
    X = resampled(ROWS)
    path = folder / "x.npy"
    np.save(path, X)
    threads = {n: by_threads(X, n) for n in (1, 2)}
    tasks = {}
    for n_workers in (1, 2):
        with cluster(n_workers) as workers:
            search = fit_of(path, workers, Searching)
            tasks[n_workers] = search.search()
            search.done()
            sent = seconds(lambda workers=workers: send(workers))
    return [
        Row(f"{ROWS:,} x 384, search alone, one thread", f"{threads[1]:.1f} s"),
        Row("two threads", f"{threads[2]:.1f} s"),
        Row("one worker", f"{tasks[1]:.1f} s"),
        Row("two workers", f"{tasks[2]:.1f} s"),
        Row("two workers / two threads", f"{tasks[2] / threads[2]:.2f} x", "<= 1.25 x"),
        Row("a task without work, two workers", f"{1e3 * sent / 200:.1f} ms"),
        Row("one worker / two workers", f"{tasks[1] / tasks[2]:.2f} x", ">= 1.6 x"),
    ]  # fmt: skip


def model(folder: Path) -> list[Row]:
    """Whole fits beside what the model says about them."""
    rows = []
    X = resampled(60_000)
    constants = measure(384, X[:18_432])
    with cluster(2) as workers:
        for n_rows in (20_000, 40_000, 60_000):
            for search in ("auto", "cells"):
                path = folder / f"{n_rows}-{search}.npy"
                np.save(path, X[:n_rows])
                fit = fit_of(path, workers, search=search)
                took = seconds(lambda fit=fit: fit.run(Stop()))
                fit.done()
                if search == "auto":
                    plan = exact_plan(constants, n_rows, 384, 2, held=2**33)
                else:
                    plan = cells_plan(constants, n_rows, 384, 2)
                told = f"{took:.1f} s, model {plan.seconds:.1f} s ({plan.seconds / took:.2f})"
                rows.append(Row(f"{n_rows:,} x 384, {search}, two workers", told, "0.7 to 1.3"))
                print(*rows[-1], flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append(Row("largest memory of this process", f"{peak:.1f} GB"))
    return rows


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        return overhead(Path(name)) + model(Path(name))
