"""When events happened: a service notes the last event from time to time, across restarts.

The folder numbers events and has no clock. What is noted is "by this time, up to this event", so
the time of an event is at most that much too late.
"""

import bisect
import contextlib
import threading
import time
from collections.abc import Callable

from ..collection import Collection
from ..files.contents import Contents

_SECTION = "moments"
_APART, _SAVED = 10.0, 600.0
"""Seconds between two moments that are noted, and after which they are saved."""
_MOST = 10_000


class Moments:
    """Pairs of a time and the last event by then, both ascending."""

    def __init__(self, collection: Collection, clock: Callable[[], float] = time.time) -> None:
        self._collection, self._clock = collection, clock
        self._lock = threading.Lock()
        contents = collection.sections.get(_SECTION)
        kept = [] if contents is None else contents.meta["moments"]
        self._times = [float(when) for when, _ in kept]
        self._events = [int(event) for _, event in kept]
        self._saved_at, self._is_saved = clock(), True

    def note(self, event: int | None) -> None:
        """Note that by now there were so many events."""
        now = self._clock()
        with self._lock:
            if event is None or (self._events and event <= self._events[-1]):
                return
            if event == 0:
                now = 0.0  # if nothing has happened by now, nothing had at any time before
            if len(self._times) > 1 and now - self._times[-2] < _APART:
                self._times[-1], self._events[-1] = now, event
            else:
                self._times.append(now)
                self._events.append(event)
            if len(self._times) > _MOST:  # the older, the fewer
                del self._times[: _MOST // 2 : 2], self._events[: _MOST // 2 : 2]
            self._is_saved = False
            if now - self._saved_at < _SAVED:
                return
            self._saved_at = now
        threading.Thread(target=self.save, name="perchtree moments", daemon=True).start()

    def save(self) -> None:
        """Keep what was noted in the folder, unless it is there already."""
        with self._lock:
            if self._is_saved:
                return
            kept = [list(pair) for pair in zip(self._times, self._events, strict=True)]
            self._is_saved = True
        with contextlib.suppress(OSError, ValueError):  # read-only: times are no great loss
            self._collection.note_section(_SECTION, Contents({"moments": kept}, {}, optional=True))

    def time_of(self, event: int) -> float | None:
        """When an event had happened at the latest; None if nobody noted it."""
        with self._lock:
            place = bisect.bisect_left(self._events, event)
            return self._times[place] if place < len(self._times) else None

    @property
    def first(self) -> float | None:
        """The first time that was noted."""
        with self._lock:
            return self._times[0] if self._times else None

    def event_at(self, when: float) -> tuple[int, bool]:
        """The last event known to have happened by a time, and whether that time was noted."""
        with self._lock:
            place = bisect.bisect_right(self._times, when) - 1
            return (self._events[place], True) if place >= 0 else (0, False)
