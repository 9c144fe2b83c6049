"""Threads: a few Python threads whose kernels release the GIL, and BLAS kept to one of them."""

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController

from .._validate import as_count


def count_jobs(n_jobs: int | None) -> int:
    """The number of threads: None is one, -1 all cores, -2 all but one, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, int) and not isinstance(n_jobs, bool) and n_jobs < 0:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, (cores or 1) + 1 + n_jobs)
    return as_count("n_jobs", n_jobs)


class StoppedError(Exception):
    """Raised in a worker whose result nobody waits for any more."""


def run_tasks(tasks: Iterable[Callable[[Callable[[], None]], Any]], n_jobs: int) -> None:
    """Carry out tasks on `n_jobs` threads; return when all are done.

    Each task is given a function to call now and then: it raises `StoppedError` once the caller was
    interrupted, so that Ctrl-C does not have to wait.
    """
    tasks = list(tasks)
    if n_jobs == 1 or len(tasks) == 1:
        for task in tasks:
            task(lambda: None)
        return
    stop = threading.Event()

    def go_on() -> None:
        if stop.is_set():
            raise StoppedError

    with ThreadPoolExecutor(min(n_jobs, len(tasks))) as pool:
        futures = [pool.submit(task, go_on) for task in tasks]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


class _OneBlasThread:
    """While anyone is inside, BLAS runs on one thread: ours are enough.

    The setting belongs to the process, so the first one in changes it, the last one out puts it
    back, whatever the order.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._controller is None:
                self._controller = ThreadpoolController()
            if self._inside == 0:
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()
