"""Threads: a few Python threads whose kernels release the GIL, and BLAS kept to one of them."""

import mmap
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from .._arguments import as_count

T = TypeVar("T")


def count_jobs(n_jobs: int | None) -> int:
    """The number of threads: None is one, -1 all cores, -2 all but one, as in scikit-learn."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, int | np.integer) and n_jobs < 0:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, (cores or 1) + 1 + int(n_jobs))
    return as_count("n_jobs", n_jobs)


_OF_A_THREAD = 2**25
"""Bytes of address space that a thread needs at most, its stack included."""


def has_room_for(n_threads: int) -> bool:
    """Whether there is memory for more threads.

    Whoever starts one without waits forever: Python returns from `Thread.start` only when the
    thread says that it runs, which takes memory.
    """
    try:
        mmap.mmap(-1, n_threads * _OF_A_THREAD).close()
    except (OSError, MemoryError):
        return False
    return True


class StoppedError(Exception):
    """Raised in a worker whose result nobody waits for any longer."""


def run_tasks(
    tasks: Iterable[Callable[[Callable[[], None]], Any]],
    n_jobs: int,
    stopped: threading.Event | None = None,
) -> None:
    """Carry out tasks on `n_jobs` threads; return when all are done.

    Each task is given a function to call now and then: it raises `StoppedError` once the caller
    was interrupted, so that Ctrl-C does not have to wait, or `stopped` is set. No worker outlives
    this call.
    """
    tasks, stop = list(tasks), threading.Event()

    def go_on() -> None:
        if stop.is_set() or (stopped is not None and stopped.is_set()):
            raise StoppedError

    if n_jobs == 1 or len(tasks) <= 1 or not has_room_for(min(n_jobs, len(tasks))):
        for task in tasks:
            task(go_on)
        return
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


class Background:
    """Work that is begun now and asked for later: in a thread of its own, if several are allowed.

    Nothing that was begun outlives the `with` block: work that nobody waits for is told to stop.
    """

    def __init__(self, n_jobs: int) -> None:
        self._pool = ThreadPoolExecutor(1) if n_jobs > 1 and has_room_for(1) else None
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._pool is not None:
            _shut_down(self._pool)

    def begin(self, work: Callable[[threading.Event], T]) -> Callable[[], T]:
        """Begin work, which is given an event that tells it to stop; how to wait for its result."""
        if self._pool is None:
            return lambda: work(self._stop)
        return self._pool.submit(work, self._stop).result


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
                _set_threads(library, 1)

    def _leave(self, token: object) -> None:
        with self._lock:
            self._inside.discard(token)
            if not self._inside and self._before is not None:
                for library, number in zip(self._libraries, self._before, strict=True):
                    _set_threads(library, number)
                self._before = None


def _set_threads(library: Any, number: int) -> None:
    """Set the number of threads of a BLAS library, whichever thread asks.

    From version 3.8 on, threadpoolctl listens only to the first thread that has asked, as long as
    that lives: so nobody may remain the first.
    """
    let_others = getattr(library, "clear_controlling_thread", None)
    if let_others is None:
        library.set_num_threads(number)
        return
    let_others(force=True)
    library.set_num_threads(number)
    let_others(force=True)


_blas_threads = _BlasThreads()
one_blas_thread = _blas_threads.one
