"""Clusters that are kept up to date as records change, with stable numbers and events."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arguments import as_count
from .._kernels.schema import NONE
from ..clusters.following import Change, Following
from .asking import Asking


class ClusterEvent(NamedTuple):
    """A change to clusters, or to some records of one, caused by one change of a collection."""

    number: int
    """1, 2, 3, ... in order; numbers are never reused."""
    kind: str
    """"birth": a cluster of new records; "merge", "split" and "end" of clusters; "join": new
    records in an existing cluster; "move": records that changed clusters without a merge or
    split; "leave": records that were removed."""
    before: tuple[int, ...]
    """Numbers of the clusters before the change."""
    after: tuple[int, ...]
    """Numbers of the clusters after the change."""
    points: int
    """Records in the clusters `after`; for "end" those it had, for "leave" those that left."""
    keys: tuple[Any, ...]
    """The records that were born, joined or moved, if they still exist."""


class Standing:
    """The clusters of a collection at a distance, kept up to date: see `Collection.keep_clusters`.

    It shows the collection as it is after the last change that is complete. (Records that another
    thread is just adding have no cluster yet.)
    """

    def __init__(self, collection: Asking) -> None:
        self._collection = collection

    @property
    def _following(self) -> Following:
        following = self._collection.following
        if following is None:
            raise ValueError("clusters are not kept up to date any more: use keep_clusters")
        return following

    @property
    def distance(self) -> float:
        """The distance of the cut, as in `ClusterTree.cut(distance=...)`."""
        return self._following.distance

    def __len__(self) -> int:
        """The number of clusters."""
        return len(self._following.anchors)

    def cluster_of(self, key: Any) -> int:
        """The number of the cluster of a record, given its key, in constant time."""
        (point_id,) = self._collection.ids_of([key]).tolist()
        labels = self._following.labels
        number = int(labels[point_id]) if point_id < len(labels) else NONE
        if number == NONE:
            raise ValueError(f"the record {key!r:.100} is being added, and in no cluster yet")
        return number

    @property
    def labels(self) -> NDArray[np.int64]:
        """The cluster of each record, in the order of `ids`; -1 while it is being added."""
        with self._collection._locks.reading:
            ids, labels = self._collection.ids, self._following.labels
            numbers = np.full(len(ids), NONE, np.int64)
            known = ids < len(labels)
            numbers[known] = labels[ids[known]]
            return numbers

    def sizes(self) -> dict[int, int]:
        """The number of records of each cluster, by cluster number."""
        with self._collection._locks.reading:
            sizes = self._following.sizes
            numbers = np.flatnonzero(sizes)
            return dict(zip(numbers.tolist(), sizes[numbers].tolist(), strict=True))

    def members(self, number: int) -> list[Any]:
        """The keys of the records of a cluster, in the order of ids; ValueError if it has ended."""
        collection, following = self._collection, self._following
        number = as_count("number", number, least=0)
        with collection._locks.reading:
            if number not in following.anchors:
                raise ValueError(f"there is no cluster {number}")
            tree = collection.tree
            if number in following.corrected:
                ids = following.corrected[number]
                ids = ids[tree.holds(ids)]
            elif tree.changes == following.changes:
                cluster = tree.cluster_of(following.anchors[number], distance=following.distance)
                ids = tree.points_in(cluster)
            else:  # others are being added
                ids = np.flatnonzero(following.labels == number)
                ids = ids[tree.holds(ids)]
            return list(collection.records.keys(ids).tolist())

    @property
    def last_event(self) -> int:
        """The number of the last event that `events` shows; 0 if there was none."""
        return self._collection._log.last_event(self._following)

    def events(self, since: int = 0, most: int | None = None) -> list[ClusterEvent]:
        """The events after number `since`, in order, at most `most` of them.

        This takes time proportional to the number of events returned. In a folder, events
        are stored along with the changes that caused them. `compact` deletes removed records from
        events.
        """
        since = as_count("since", since, least=0)
        most = None if most is None else as_count("most", most)
        with self._collection._locks.reading:
            return [self._named(change) for change in self._collection._log.events(since, most)]

    def _named(self, change: Change) -> ClusterEvent:
        collection = self._collection
        keys: Sequence[Any] = ()
        if len(change.ids) and collection._tree is not None:
            living = change.ids[collection._tree.holds(change.ids)]
            keys = collection.records.keys(living).tolist()
        return ClusterEvent(*change[:-1], tuple(keys))

    def __repr__(self) -> str:
        return f"<Standing(distance={self.distance}): {len(self):,} clusters>"


class Clustered(Asking):
    """Records whose clusters can be kept up to date."""

    @property
    def standing(self) -> Standing | None:
        """The clusters that are kept up to date; None without `keep_clusters`."""
        return None if self.following is None else Standing(self)

    def keep_clusters(self, distance: float) -> Standing:
        """Keep the clusters at a distance up to date from now on, with stable numbers.

        After every change of the collection, the clusters of `tree.cut(distance=distance)` are
        matched with the previous ones: the largest overlap keeps the number. Changes are reported
        as numbered events. Only the parts of the tree that changed are visited. Corrections
        (`together`, `apart`) are respected: the clusters are those of `corrected`.

        In a folder, numbers and events are stored along with the changes that cause them. Calling
        this again with another distance continues the numbers and events.

        Parameters
        ----------
        distance : float
            Clusters at most this far apart are joined; see `ClusterTree.heights`.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0.0], [1.0], [8.0]], keys=["ann", "anne", "bob"])
        >>> standing = people.keep_clusters(distance=2)
        >>> standing.sizes()
        {0: 2, 1: 1}
        >>> _ = people.add([[8.5], [20.0]], keys=["rob", "zoe"])
        >>> standing.cluster_of("rob")
        1
        >>> for event in standing.events():
        ...     print(event.kind, event.before, event.after, event.keys)
        birth () (2,) ('zoe',)
        join () (1,) ('rob',)
        """
        if isinstance(distance, bool) or not math.isfinite(distance) or distance < 0:
            raise ValueError(f"expected a distance of at least 0, got {distance}")
        with self._changing():
            following = self.following
            if following is not None and following.distance == distance:
                return Standing(self)
            is_new = following is None
            if following is None:
                following = self.following = Following(float(distance))
            with self._locks.reading:  # the distance goes with the clusters
                following.look_everywhere(float(distance))
                if self._tree is not None:
                    self._follow(self._tree, np.empty(0, np.int64), silently=is_new)
            self._log.noted()
            return Standing(self)

    def drop_clusters(self) -> None:
        """Keep no clusters up to date any longer, and forget all events."""
        with self._changing():
            if self.following is not None:
                self.following = None
                self._log.unfollowed()
                self._log.noted()
