"""The clusterings that were last written from a tree, so that the next ones keep their numbers."""

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from .overlaps import Labels
from .tracking import Tracker

MOST = 16
"""The number of clusterings that are remembered; the least recently written one is dropped
first."""


class Remembered:
    """For each way to cut a tree, given by its options, the clustering that was last written."""

    def __init__(self) -> None:
        self._trackers: dict[str, Tracker] = {}
        """The one written last comes last."""

    def __len__(self) -> int:
        return len(self._trackers)

    def __iter__(self) -> Iterator[str]:
        """The options, those written last at the end."""
        return iter(list(self._trackers))

    def __getitem__(self, options: str) -> Tracker:
        return self._trackers[options]

    def matched(self, options: str, points: Labels, clusters: Labels) -> Tracker:
        """A clustering (0, 1, 2, ...) with stable numbers, and what has changed. If nothing has,
        this is the remembered object itself. This does not remember the clustering.
        """
        known = self._trackers.get(options)
        tracker = Tracker() if known is None else copy.copy(known)
        tracker.events = []
        labels = tracker.number(points, clusters)
        if known is None or known.sizes != tracker.sizes:
            return tracker
        return known if _equal(known.points, points) and _equal(known.labels, labels) else tracker

    def remember(self, options: str, tracker: Tracker) -> bool:
        """Remember a clustering that is written; whether anything has changed."""
        if self._trackers.get(options) is tracker:
            return False
        self._trackers.pop(options, None)
        self._trackers[options] = tracker
        for oldest in list(self._trackers)[:-MOST]:
            del self._trackers[oldest]
        return True

    def update(self, other: Self) -> None:
        """Take over what another one remembers."""
        for options in other:
            self.remember(options, other[options])

    def keep(self, living: Labels) -> None:
        """Forget points that were removed; `living` are the ids of the others, ascending."""
        for tracker in self._trackers.values():
            tracker.keep(living)

    def copy(self, living: Labels) -> Self:
        """An independent copy, without points that were removed."""
        twin = copy.deepcopy(self)
        twin.keep(living)
        return twin

    # Files

    def stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Small values, and columns: those of the first clustering begin with `0.`, and so on."""
        trackers = self._trackers.items()
        meta = {"clusterings": [{"options": own} | tracker.stored() for own, tracker in trackers]}
        columns = {
            f"{number}.{name}": column
            for number, tracker in enumerate(self._trackers.values())
            for name, column in tracker.columns().items()
        }
        return meta, columns

    @classmethod
    def restored(cls, meta: dict[str, Any], columns: dict[str, Any]) -> Self:
        """What was stored; ValueError or KeyError if something about it is wrong."""
        remembered = cls()
        for number, stored in enumerate(meta["clusterings"]):
            start = f"{number}."
            own = {n.removeprefix(start): c for n, c in columns.items() if n.startswith(start)}
            remembered.remember(str(stored["options"]), Tracker.restored(stored, own))
        return remembered


def _equal(one: Labels | None, other: Labels) -> bool:
    return one is not None and np.array_equal(one, other)
