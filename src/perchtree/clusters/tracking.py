"""Stable cluster ids: each clustering is matched, by overlap, with the one read before."""

import json
from typing import Any, NamedTuple, Self

import numpy as np

from .overlaps import Event, Labels, Overlaps, explained


class Moves(NamedTuple):
    """Points that changed clusters alone, not with their cluster: no merge or split explains it."""

    points: Labels
    """Their ids, ascending."""
    before: Labels
    after: Labels


_NOBODY = Moves(*(np.empty(0, np.int64) for _ in range(3)))


class Tracker:
    """Gives ids to one clustering after the other, and logs what changes."""

    def __init__(self) -> None:
        self.points: Labels | None = None
        """The ids of the points that were in the tree when it was last read, ascending; those that
        were removed since may be missing."""
        self.labels: Labels | None = None
        """Their clusters."""
        self.sizes: dict[int, int] = {}
        """How many points each cluster had when it was last read."""
        self.state: tuple[Any, ...] | None = None
        """Of the model, when it was last read."""
        self.next_id = 0
        self.first_size = 0
        """Points added or removed before ids were last given afresh."""
        self.events: list[Event] = []
        self.moves = _NOBODY
        """Points that changed clusters at the last reading."""
        self.stayed = (0, 0)
        """How many points kept their id at the last reading, and how many were there before."""

    def number(self, points: Labels, clusters: Labels) -> Labels:
        """Ids for a clustering (0, 1, 2, ...) of points, matched with the one before."""
        if self.labels is None or self.points is None:
            return self.restart(points, clusters, len(points))
        matched = _Matched(self.points, self.labels, self.sizes, points, clusters)
        ids = matched.overlaps.inherited_ids(self.next_id)
        self.next_id = max(self.next_id, int(ids.max(initial=-1)) + 1)
        events = matched.overlaps.events(ids, len(points))
        self.events += events
        self.moves = matched.moves(ids, events)
        self.stayed = matched.stayed(ids)
        return self._read(points, ids[clusters])

    def _read(self, points: Labels, labels: Labels) -> Labels:
        self.points, self.labels = points, labels
        known, sizes = np.unique(labels, return_counts=True)
        self.sizes = dict(zip(known.tolist(), sizes.tolist(), strict=True))
        return labels

    def restart(self, points: Labels, clusters: Labels, size: int) -> Labels:
        """New ids: what was read before is forgotten."""
        self.next_id = int(clusters.max(initial=-1)) + 1
        self.first_size = size
        self.events, self.moves, self.stayed = [], _NOBODY, (0, 0)
        return self._read(points, clusters)

    def keep(self, living: Labels) -> None:
        """Forget points that were removed; `living` are the ids of the others, ascending."""
        if self.points is None or self.labels is None:
            return
        there = np.isin(self.points, living)
        if not there.all():
            self.points, self.labels = self.points[there], self.labels[there]
            moved = np.isin(self.moves.points, living)
            self.moves = Moves(*(column[moved] for column in self.moves))

    def stored(self) -> dict[str, Any]:
        """Everything but labels and events, as JSON can hold it."""
        return {
            "state": self.state,
            "next_id": self.next_id,
            "first_size": self.first_size,
            "stayed": self.stayed,
        }

    def columns(self) -> dict[str, Any]:
        """Labels and events; an event is a JSON text, because there can be very many."""
        columns: dict[str, Any] = {"events": [json.dumps(event) for event in self.events]}
        if self.labels is not None:
            columns |= {"points": self.points, "clusters": self.labels}
            columns |= {"known": list(self.sizes), "sizes": list(self.sizes.values())}
            columns |= {f"moved_{name}": column for name, column in self.moves._asdict().items()}
        return columns

    @classmethod
    def restored(cls, stored: dict[str, Any], columns: dict[str, Any]) -> Self:
        """The tracker that was stored; ValueError if something about it is wrong."""
        tracker = cls()
        tracker.state = None if stored["state"] is None else tuple(stored["state"])
        tracker.next_id, tracker.first_size = int(stored["next_id"]), int(stored["first_size"])
        tracker.events = [
            Event(str(kind), tuple(before), tuple(after), int(points), int(size))
            for kind, before, after, points, size in map(json.loads, columns["events"])
        ]
        if "clusters" not in columns:
            return tracker
        labels = np.asarray(columns["clusters"])
        points = np.asarray(columns.get("points", np.arange(len(labels))))
        if labels.dtype != np.int64 or points.dtype != np.int64 or len(labels) != len(points):
            raise ValueError("labels for another number of points")
        if (np.diff(points) <= 0).any() or points.min(initial=0) < 0:
            raise ValueError("labels of points that are not in order")
        if labels.max(initial=0) >= tracker.next_id or labels.min(initial=0) < 0:
            raise ValueError("labels that were never given")
        tracker._read(points, labels)
        if "known" in columns:  # new in 0.2
            tracker.sizes |= {
                int(cluster): int(size)
                for cluster, size in zip(columns["known"], columns["sizes"], strict=True)
            }
            tracker.moves = Moves(
                *(np.asarray(columns[f"moved_{name}"], np.int64) for name in Moves._fields)
            )
            if len({len(column) for column in tracker.moves}) != 1:
                raise ValueError("half of a move")
            same, both = stored["stayed"]
            tracker.stayed = int(same), int(both)
        return tracker


class _Matched:
    """Two clusterings, point by point."""

    def __init__(
        self,
        old_points: Labels,
        old: Labels,
        old_sizes: dict[int, int],
        new_points: Labels,
        new: Labels,
    ) -> None:
        self.points, in_old, in_new = np.intersect1d(
            old_points, new_points, assume_unique=True, return_indices=True
        )
        self.old, self.new = old[in_old], new[in_new]
        old_ids = np.array(sorted(old_sizes), np.int64)
        sizes = np.array([old_sizes[i] for i in old_ids.tolist()], np.int64)
        new_sizes = np.bincount(new)
        of_old = np.searchsorted(old_ids, self.old)
        pairs, shared = np.unique(of_old * len(new_sizes) + self.new, return_counts=True)
        self.overlaps = Overlaps(
            old_ids, sizes, new_sizes, *np.divmod(pairs, max(1, len(new_sizes))), shared
        )

    def moves(self, ids: Labels, events: list[Event]) -> Moves:
        """Points whose cluster id has changed without a merge or split that explains it."""
        told = explained(events)
        after = ids[self.new]
        moved = np.flatnonzero(after != self.old)
        alone = [pair not in told for pair in zip(self.old[moved].tolist(), after[moved].tolist(),
                                                  strict=True)]  # fmt: skip
        moved = moved[np.array(alone, bool)]
        return Moves(self.points[moved], self.old[moved], after[moved])

    def stayed(self, ids: Labels) -> tuple[int, int]:
        """How many points have the id they had, of how many that were there before."""
        return int((ids[self.new] == self.old).sum()), len(self.points)
