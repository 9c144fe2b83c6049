"""Cluster ids that stay: each clustering is matched, by overlap, with the one read before."""

import json
from collections import defaultdict
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


class Event(NamedTuple):
    """What has become of clusters between two readings."""

    kind: str
    """"birth", "merge", "split" or "end"."""
    before: tuple[int, ...]
    """Ids of the clusters it concerns, as they were."""
    after: tuple[int, ...]
    """Ids of the clusters that are there now."""
    points: int
    """Points in the clusters `after`; for an end, those it had."""
    tree_size: int
    """Points in the tree when the clustering was read."""


class Tracker:
    """Gives ids to one clustering after the other, and logs what changes."""

    def __init__(self) -> None:
        self.points: Labels | None = None
        """The ids of the points that were in the tree when it was last read, ascending."""
        self.labels: Labels | None = None
        """Their clusters."""
        self.state: tuple[Any, ...] | None = None
        """Of the model, when it was last read."""
        self.next_id = 0
        self.first_size = 0
        """Points added or removed before ids were last given afresh."""
        self.events: list[Event] = []

    def number(self, points: Labels, clusters: Labels) -> Labels:
        """Ids for a clustering (0, 1, 2, ...) of points, matched with the one before."""
        if self.labels is None or self.points is None:
            return self.restart(points, clusters, len(points))
        overlaps = _Overlaps(self.points, self.labels, points, clusters)
        ids = overlaps.inherited_ids(self.next_id)
        self.next_id = max(self.next_id, int(ids.max(initial=-1)) + 1)
        self.events += overlaps.events(ids)
        self.points, self.labels = points, ids[clusters]
        return self.labels

    def restart(self, points: Labels, clusters: Labels, size: int) -> Labels:
        """Ids as they come: what was read before is forgotten."""
        self.points, self.labels = points, clusters
        self.next_id = int(clusters.max(initial=-1)) + 1
        self.first_size = size
        self.events = []
        return self.labels

    def stored(self) -> dict[str, Any]:
        """Everything but labels and events, as JSON can hold it."""
        return {
            "state": self.state,
            "next_id": self.next_id,
            "first_size": self.first_size,
        }

    def columns(self) -> dict[str, Any]:
        """Labels and events; an event is a JSON text, because there can be very many."""
        columns: dict[str, Any] = {"events": [json.dumps(event) for event in self.events]}
        if self.labels is not None:
            columns |= {"points": self.points, "clusters": self.labels}
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
        tracker.points, tracker.labels = points, labels
        return tracker


class _Overlaps:
    """How many points each old cluster shares with each new one."""

    def __init__(self, old_points: Labels, old: Labels, new_points: Labels, new: Labels) -> None:
        _, in_old, in_new = np.intersect1d(
            old_points, new_points, assume_unique=True, return_indices=True
        )
        self.old_ids, of_old = np.unique(old, return_inverse=True)
        self.all_old_sizes = np.bincount(of_old)
        of_old, of_new = of_old[in_old], new[in_new]
        # Points that were removed since say nothing about where a cluster went.
        self.old_sizes = np.bincount(of_old, minlength=len(self.old_ids))
        self.new_sizes = np.bincount(new)
        self.earlier = np.bincount(of_new, minlength=len(self.new_sizes))
        pairs, self.shared = np.unique(of_old * len(self.new_sizes) + of_new, return_counts=True)
        self.of_old, self.of_new = np.divmod(pairs, len(self.new_sizes))

    def inherited_ids(self, next_id: int) -> Labels:
        """The id of each new cluster: the largest overlaps first, each id given once.

        What inherits none gets the next ids that were never used.
        """
        ids = np.full(len(self.new_sizes), -1, np.int64)
        taken = np.zeros(len(self.old_ids), bool)
        for place in np.lexsort((self.of_new, self.of_old, -self.shared)).tolist():
            old, new = self.of_old[place], self.of_new[place]
            if ids[new] < 0 and not taken[old]:
                ids[new] = self.old_ids[old]
                taken[old] = True
        fresh = np.flatnonzero(ids < 0)
        ids[fresh] = next_id + np.arange(len(fresh))
        return ids

    def events(self, ids: Labels) -> list[Event]:
        """Births, merges, splits and ends. A few points that change sides are no event.

        A cluster is merged into the one that has more than half of its points; it is split
        into those that have more than half of their earlier points from it.
        """
        size = int(self.new_sizes.sum())
        into, out_of = defaultdict(list), defaultdict(list)
        most_of_old = 2 * self.shared > self.old_sizes[self.of_old]
        most_of_new = 2 * self.shared > self.earlier[self.of_new]
        for place in np.flatnonzero(most_of_old).tolist():
            into[int(self.of_new[place])].append(int(self.of_old[place]))
        for place in np.flatnonzero(most_of_new).tolist():
            out_of[int(self.of_old[place])].append(int(self.of_new[place]))

        def event(kind: str, before: list[int], after: list[int]) -> Event:
            points = self.new_sizes[after] if after else self.all_old_sizes[before]
            return Event(
                kind,
                tuple(sorted(self.old_ids[before].tolist())),
                tuple(sorted(ids[after].tolist())),
                int(points.sum()),
                size,
            )

        births = [event("birth", [], [new]) for new in np.flatnonzero(self.earlier == 0).tolist()]
        merges = [event("merge", old, [new]) for new, old in into.items() if len(old) > 1]
        splits = [event("split", [old], new) for old, new in out_of.items() if len(new) > 1]
        told = {i for e in merges + splits for i in e.before} | set(ids.tolist())
        gone = [old for old, i in enumerate(self.old_ids.tolist()) if i not in told]
        return births + merges + splits + [event("end", [old], []) for old in gone]
