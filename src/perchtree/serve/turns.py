"""Who may work when: quick reads, slow reads, and writers, who wait in a bounded queue.

Everything that may block runs in threads. Quick reads never wait for slow ones; of writers, a few
work at a time, so that they share commits, and a bounded number waits.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from .limits import Limits
from .problems import busy

T = TypeVar("T")

_QUICK, _SLOW, _WRITING = 16, 2, 8
"""Threads of each kind."""
_STEP = 2**20
"""Bytes of a body that are reserved at a time."""


class Turns:
    """Gives threads to what is to be done, and room to bodies."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._quick = anyio.CapacityLimiter(_QUICK)
        self._slow = anyio.CapacityLimiter(_SLOW)
        self._writing = anyio.CapacityLimiter(_WRITING)
        self._n_slow = 0
        """Slow reads that wait or are at work. A limiter counts those that wait only a moment after
        they came: whatever came at once would get in."""
        self._writes: set[object] = set()
        self.held_bytes = 0
        """Of bodies that are being read or wait."""
        self.is_closing = False
        """Whether nothing more may change."""

    @property
    def writes(self) -> int:
        """How many requests that change something are waiting or at work."""
        return len(self._writes)

    async def quick(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Run what takes milliseconds."""
        task = functools.partial(work, *given, **named)
        return await anyio.to_thread.run_sync(task, limiter=self._quick)

    async def slow(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Run what may take seconds: two at a time, and only so many may wait."""
        if self._n_slow >= _SLOW + self._limits.waiting_writes:
            raise busy("many others ask for clusterings")
        task = functools.partial(work, *given, **named)
        self._n_slow += 1
        try:
            return await anyio.to_thread.run_sync(task, limiter=self._slow)
        finally:
            self._n_slow -= 1

    async def write(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Run what changes the collection. Once begun it is done, whether or not anybody waits."""
        if self.is_closing:
            raise busy("the service is stopping")
        if self.writes >= self._limits.waiting_writes:
            raise busy("many changes are waiting")
        mark, begun = object(), []
        self._writes.add(mark)

        def run() -> T:
            begun.append(True)
            try:
                return work(*given, **named)
            finally:
                self._writes.discard(mark)

        try:
            return await anyio.to_thread.run_sync(run, limiter=self._writing)
        finally:
            if not begun:
                self._writes.discard(mark)

    @contextlib.contextmanager
    def room(self) -> Iterator["Room"]:
        """Room for a body: it is given back when the request is done."""
        room = Room(self, self._limits.all_bytes)
        try:
            yield room
        finally:
            room.leave()


class Room:
    """Bytes of one body, out of those that all bodies may take together."""

    def __init__(self, turns: Turns, most: int) -> None:
        self._turns, self._most, self._mine = turns, most, 0

    def take(self, n_bytes: int) -> None:
        """Have so many bytes in all; a 503 if others hold them."""
        if n_bytes <= self._mine:
            return
        wanted = -(-n_bytes // _STEP) * _STEP - self._mine
        if self._turns.held_bytes + wanted > self._most:
            raise busy("many large requests are waiting")
        self._turns.held_bytes += wanted
        self._mine += wanted

    def leave(self) -> None:
        self._turns.held_bytes -= self._mine
        self._mine = 0
