"""The standing clustering: the one place that knows how a collection keeps it."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..clusters.following import Following
from ..collection import Collection
from ..collection.standing import ClusterEvent
from .problems import Problem
from .schemas import Event

Numbers = NDArray[np.int64]

_AT_ONCE = 100
"""Events that are read at once: others wait meanwhile."""


class StandingClusters:
    """What is known of the clusters that a collection keeps up to date, if it keeps any."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._became: dict[int, tuple[int, ...]] = {}
        """Clusters that are gone, and those that have their points."""
        self._read_up_to = 0

    @property
    def _following(self) -> Following | None:
        return self._collection.following

    @property
    def distance(self) -> float | None:
        """The threshold; None if no clusters are kept."""
        following = self._following
        return None if following is None else following.distance

    @property
    def is_kept(self) -> bool:
        return self._following is not None

    @property
    def n_clusters(self) -> int | None:
        following = self._following
        return None if following is None else len(following.anchors)

    @property
    def last_event(self) -> int | None:
        standing = self._collection.standing
        return None if standing is None else standing.last_event

    def clusters_of(self, ids: Sequence[int]) -> list[int | None]:
        """The cluster of each point; None if it is in none (yet)."""
        following = self._following
        if following is None:
            return [None] * len(ids)
        labels = following.labels
        found = [int(labels[i]) if 0 <= i < len(labels) else -1 for i in ids]
        return [None if number < 0 else number for number in found]

    def sizes(self) -> tuple[Numbers, Numbers]:
        """The numbers of all clusters, ascending, and how many points each has."""
        following = self._following
        if following is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        with self._collection.tree.reading():
            sizes = following.sizes.copy()
        numbers = np.flatnonzero(sizes)
        return numbers, sizes[numbers]

    def members(self, number: int) -> Numbers:
        """The ids of a cluster's points, ascending; a 404 or 410 if there is no such cluster."""
        following = self._following
        if following is None:
            raise Problem(404, "no standing clusters are kept: start the service with --distance")
        with self._collection.tree.reading():
            ids = np.flatnonzero(following.labels == number)
            ids = ids[self._collection.tree.holds(ids)]
        if len(ids):
            return ids
        if number >= following.next_number:
            raise Problem(404, f"there is no cluster {number}")
        now = self._now(number)
        what = f"its points are in {now}" if now else "its points were removed"
        raise Problem(410, f"the cluster {number} is gone: {what}", now=now)

    def _now(self, number: int) -> list[int]:
        """The clusters that have the points of one that is gone."""
        with self._lock:
            while events := self.events(self._read_up_to, _AT_ONCE):
                for event in events:
                    for gone in set(event.before) - set(event.after):
                        if event.kind in ("merge", "split", "end"):
                            self._became[gone] = event.after
                self._read_up_to = events[-1].number
            living, seen, waiting = set(), set(), [number]
            numbers, _ = self.sizes()
            there = set(numbers.tolist())
            while waiting:
                cluster = waiting.pop()
                if cluster in there:
                    living.add(cluster)
                elif cluster not in seen:
                    seen.add(cluster)
                    waiting += self._became.get(cluster, ())
        return sorted(living)

    def events(self, since: int, most: int) -> list[ClusterEvent]:
        """What happened after an event, the oldest first."""
        standing = self._collection.standing
        if standing is None:
            return []
        found: list[Any] = []
        while len(found) < most:
            part = standing.events(since, min(most - len(found), _AT_ONCE))
            found += part
            if not part:
                break
            since = part[-1].number
        return found


def as_events(
    events: Sequence[ClusterEvent], time_of: Callable[[int], float | None]
) -> list[Event]:
    """Events as answers tell them."""
    return [
        Event(
            event=event.number, kind=event.kind, before=list(event.before),
            after=list(event.after), points=event.points, keys=list(event.keys),
            time=time_of(event.number),
        )
        for event in events
    ]  # fmt: skip
