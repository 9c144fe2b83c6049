"""A lock that is handed over in the order in which threads ask for it."""

import threading
from types import TracebackType


class FairLock:
    """A reentrant lock. A thread that takes it again and again does not keep others waiting.

    Whoever waits for the lock holds the turnstile, which everybody has to pass: a thread that has
    just let go of the lock queues up behind. (A plain lock is mostly taken again by the same
    thread: while a long insert ran, readers waited for seconds.)
    """

    def __init__(self) -> None:
        self._turnstile = threading.Lock()
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        if self._owner == threading.get_ident():
            self._depth += 1
            return
        with self._turnstile:
            self._lock.acquire()
            self._owner, self._depth = threading.get_ident(), 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            self._lock.release()
