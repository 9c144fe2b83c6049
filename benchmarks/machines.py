"""Many machines: what tasks cost beside threads."""

import contextlib
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
from perchtree.distributed.worker import NOTHING
from perchtree.inputs.batches import Columns
from perchtree.search.axes import find_axes
from perchtree.search.exact import AHEAD_ROWS
from perchtree.search.images import make_space, rotate_rows
from perchtree.search.products import Nearest, Points, scan
from perchtree.search.threads import one_blas_thread

from .common import Row, resampled, seconds

ROWS = 100_000
K = 5


def by_threads(X: Any, n_jobs: int) -> float:
    """Search alone, in this process: rows in memory, axes found once.

    As many rows are searched at a time as an insert searches ahead.
    """

    def search() -> None:
        ids = np.arange(len(X), dtype=np.int32)
        bounds = np.stack([X.min(axis=0), X.max(axis=0)])
        axes = find_axes(Points(X[:32768], ids[:32768]), bounds, K, AHEAD_ROWS)
        image = None if axes is None else rotate_rows(axes, X, n_jobs)
        for first in range(0, len(X), AHEAD_ROWS):
            rows = slice(first, first + AHEAD_ROWS)
            own = None if image is None else image.of(rows)
            answers = Nearest.unknown(len(X[rows]), K)
            if first:
                before = None if image is None else image.of(slice(first))
                space = make_space(axes, X[rows], own, X[:first], before, bounds)
                scan(X[rows], Points(X[:first], ids[:first]), space, answers, n_jobs)
            space = make_space(axes, X[rows], own, X[rows], own, bounds)
            scan(X[rows], Points(X[rows], ids[rows]), space, answers, n_jobs, earlier=True)

    with one_blas_thread():  # as an insert does: changing it for every scan makes threads spin
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
    threads = by_threads(X, 2)
    tasks = {}
    for n_workers in (1, 2):
        with cluster(n_workers) as workers:
            search = fit_of(path, workers, Searching)
            tasks[n_workers] = search.search()
            sent = seconds(lambda workers=workers: send(workers))
            search.done()
    return [
        Row(f"{ROWS:,} x 384, search alone, two threads", f"{threads:.1f} s"),
        Row("one worker", f"{tasks[1]:.1f} s"),
        Row("two workers", f"{tasks[2]:.1f} s"),
        Row("two workers / two threads", f"{tasks[2] / threads:.2f} x", "<= 1.25 x"),
        Row("a task without work, two workers", f"{1e3 * sent / 200:.1f} ms"),
        Row("one worker / two workers", f"{tasks[1] / tasks[2]:.2f} x", ">= 1.6 x"),
    ]  # fmt: skip


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        return overhead(Path(name))
