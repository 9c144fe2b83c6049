"""Threads: a few Python threads whose kernels release the GIL, and BLAS kept to one of them."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from .._arguments import as_count


def count_jobs(n_jobs: int | None) -> int:
    """The number of threads: None is one, -1 all cores, -2 all but one, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, int | np.integer) and n_jobs < 0:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, (cores or 1) + 1 + int(n_jobs))
    return as_count("n_jobs", n_jobs)


class StoppedError(Exception):
    """Raised in a worker whose result nobody waits for any more."""


def run_tasks(tasks: Iterable[Callable[[Callable[[], None]], Any]], n_jobs: int) -> None:
    """Carry out tasks on `n_jobs` threads; return when all are done.

    Each task is given a function to call now and then: it raises `StoppedError` once the caller
    was interrupted, so that Ctrl-C does not have to wait. No worker outlives this call.
    """
    tasks = list(tasks)
    if n_jobs == 1 or len(tasks) <= 1:
        for task in tasks:
            task(lambda: None)
        return
    stop = threading.Event()

    def go_on() -> None:
        if stop.is_set():
            raise StoppedError

    pool = ThreadPoolExecutor(min(n_jobs, len(tasks)))
    try:
        for future in [pool.submit(task, go_on) for task in tasks]:
            future.result()
    finally:
        stop.set()
        _shut_down(pool)


def _shut_down(pool: ThreadPoolExecutor) -> None:
    """Wait for all workers, however often Ctrl-C is pressed: they read what inserts change."""
    interrupt = None
    while True:
        try:
            pool.shutdown(wait=True, cancel_futures=True)
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


class _BlasThreads:
    """Holds BLAS to one thread while anyone is inside: ours are enough.

    The setting belongs to the process: the first one in changes it, the last one out puts it
    back, whatever the order. What it was before is kept until it is put back, so that an
    interruption on the way does not make us forget it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: set[object] = set()
        self._libraries: list[Any] = []
        self._before: list[int] | None = None

    @contextmanager
    def one(self) -> Iterator[None]:
        token = object()
        try:
            self._enter(token)
            yield
        finally:
            self._leave(token)

    def _enter(self, token: object) -> None:
        with self._lock:
            self._inside.add(token)
            if not self._libraries:
                blas = ThreadpoolController().select(user_api="blas")
                self._libraries = list(blas.lib_controllers)
            if self._before is None:
                self._before = [library.get_num_threads() for library in self._libraries]
            for library in self._libraries:
                library.set_num_threads(1)

    def _leave(self, token: object) -> None:
        with self._lock:
            self._inside.discard(token)
            if not self._inside and self._before is not None:
                for library, number in zip(self._libraries, self._before, strict=True):
                    library.set_num_threads(number)
                self._before = None


_blas_threads = _BlasThreads()
one_blas_thread = _blas_threads.one
