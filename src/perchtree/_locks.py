"""The locks of a tree: handed over in the order in which threads ask, and safe from Ctrl-C."""

import contextlib
import threading
import weakref
from _thread import RLock
from collections.abc import Callable, Iterator
from typing import NamedTuple

_PATIENCE = 1.0
"""Seconds after which a waiting thread looks again: one that was interrupted may not have woken
it."""


class FairLock(RLock):  # type: ignore[misc]  # typeshed takes it for final
    """A reentrant lock. A thread that takes it again and again does not keep others waiting.

    Whoever waits for the lock holds the turnstile, which everybody has to pass: a thread that has
    just released the lock queues up behind. (A plain lock is mostly taken again by the same
    thread: while a long insert ran, readers waited for seconds.)

    A thread that holds the lock `inner` must not ask for this one: two threads that take two
    locks in different orders can wait for each other forever.
    """

    def __init__(self, inner: "FairLock | None" = None) -> None:
        self._turnstile = threading.Lock()
        self._inner = inner

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
        return bool(self._is_owned())  # type: ignore[attr-defined]  # as Condition asks it

    def __enter__(self) -> None:  # type: ignore[override]
        """Take the lock, or, if a signal interrupts that, leave it as it was.

        A signal may come right after the lock was taken, before it can be noted. So one call,
        within which no signal is handled, does both. (Leaving is one call by itself: it is
        inherited.)
        """
        taken: list[bool] = []
        try:
            if self.is_mine:
                taken.extend(map(RLock.acquire, (self,)))
            else:
                self._refuse_disorder()
                with self._turnstile:
                    taken.extend(map(RLock.acquire, (self,)))
        except BaseException:
            if taken:
                self.release()
            raise

    def _refuse_disorder(self) -> None:
        if self._inner is not None and self._inner.is_mine:
            raise RuntimeError(
                "this thread is reading the tree and cannot change it: leave `reading()` first, or "
                "use `lock()` instead"
            )


class _Hold:
    """A thread's hold of the lead, which lasts as long as this object."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class Lead:
    """One of several threads works for all, while the others wait until their part is done.

    With a plain lock, a thread whose part is done would still wait for the one that works next.

    Ctrl-C may strike at any line, also while the lead is being given up. So nothing has to be done
    for that: a hold ends with the object that stands for it, or when its thread asks again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hold: Callable[[], _Hold | None] = _nobody
        self._bells: list[threading.Lock] = []
        """Locks that threads wait for, to be woken."""

    @contextlib.contextmanager
    def take(self, is_done: Callable[[], bool] = lambda: False) -> Iterator[bool]:
        """Wait until others have done this thread's part, or it has the lead; whether it has."""
        own = _Hold()
        try:
            while not is_done():
                bell = threading.Lock()
                bell.acquire()
                with self._lock:
                    held = self._hold()
                    if held is None or held.thread == own.thread:
                        if not is_done():  # by whoever has just given up the lead
                            self._hold = weakref.ref(own)
                        break
                    self._bells.append(bell)
                held = None  # it must not last because someone looks at it
                bell.acquire(timeout=_PATIENCE)
            yield self._hold() is own
        finally:
            self._give_up(own)

    def _give_up(self, own: _Hold) -> None:
        with self._lock:
            if self._hold() is own:
                self._hold = _nobody
            bells, self._bells = self._bells, []
            for bell in bells:
                bell.release()


def _nobody() -> None:
    return None


class Locks(NamedTuple):
    """A thread that changes a tree holds `writing` all the time, and `reading` while its arrays
    change."""

    writing: FairLock
    reading: FairLock


def make_locks() -> Locks:
    reading = FairLock()
    return Locks(FairLock(inner=reading), reading)
