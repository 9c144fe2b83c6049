"""A tree that stands still, for questions that take longer than others may wait.

A version is a copy of the tree at one operation, made while others can still read; writers wait
for the last part of it. Clusterings, paths and subtrees are asked of it, and name its operation.
"""

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_spans
from ..clusters.confidence import find_confidence
from ..clusters.correcting import correct
from ..collection import Collection
from ..collection.corrections import APART, TOGETHER
from ..html.boxes import Boxes, Runs
from ..html.offered import Cut
from ..store.copies import Copy
from ..table import NodeTable
from ..tree import ClusterTree
from .handles import Handle, scrambled
from .problems import Problem

Ids = NDArray[np.int64]

_KEPT = 8
"""Clusterings of a version that are kept."""
_QUICK, _SHARE, _LEAST = 0.1, 10, 1.0
"""A version that takes at most this many seconds is waited for. Others take at most a tenth of the
time, and are made at most once a second."""
_PATIENCE, _MOMENT = 1.0, 0.02
"""Seconds that one waits for a version: who asks for clusterings, and who asks for a record."""


class How(NamedTuple):
    """How a clustering is asked for."""

    by: str
    """"k", "min_size", "threshold" or "suggested"; "standing" is a threshold, too."""
    value: float


SUGGESTED = How("suggested", 0.0)
"""Clusters that persist, of the minimum size that the tree suggests."""
_SMALL = 10_000
"""Points for which everything is quickly made."""


class Version:
    """The tree after an operation, with corrections by then."""

    def __init__(self, collection: Collection) -> None:
        tree = collection.tree
        # Without collapsed leaves nothing needs the means, which are the largest.
        copy = Copy(tree, without=() if tree.settings.collapses else ("means",))
        with tree.stored() as stored:
            self.operation = collection.barrier()
            following = collection.following
            self.event = None if following is None else following.last_event
            self.tree = ClusterTree.from_stored(copy.of(stored))
            self._pairs = collection.pairs.pairs(TOGETHER), collection.pairs.pairs(APART)
        self.remembered = collection.clusterings
        self._lock = threading.RLock()
        self._clusterings: dict[How, Clustering] = {}
        self._is_retired = False

    @functools.cached_property
    def table(self) -> NodeTable:
        return self.tree.table

    @functools.cached_property
    def boxes(self) -> Boxes:
        """The tree as boxes to draw."""
        return Boxes(self.table)

    @functools.cached_property
    def _spans(self) -> tuple[Ids, Ids, NDArray[np.uint64]]:
        """Points in the order of the tree, where each node begins, and sums up to each place."""
        table = self.table
        order = np.empty(table.n_points, np.int64)
        starts = np.empty(len(table.parents), np.int64)
        find_spans(table.children, table.sizes, starts, order)
        sums = np.zeros(table.n_points + 1, np.uint64)
        np.cumsum(scrambled(table.ids[order]), out=sums[1:])
        return order, starts, sums

    def place(self, point_id: int) -> int | None:
        """The place of a point among all ids; None if it is not in this version."""
        ids = self.table.ids
        at = int(np.searchsorted(ids, point_id))
        return at if at < len(ids) and ids[at] == point_id else None

    def members(self, number: int) -> Ids:
        """The places of the points below a number."""
        order, starts, _ = self._spans
        start = int(starts[number])
        return order[start : start + int(self.table.sizes[number])]

    def handle(self, number: int) -> Handle:
        """The handle of a number of the table."""
        (_, starts, sums), table = self._spans, self.table
        smallest = table.smallest
        start, size = int(starts[number]), int(table.sizes[number])
        checksum = int(sums[start + size]) - int(sums[start])
        return Handle(int(table.ids[smallest[number]]), size, checksum % 2**64)

    def path(self, number: int) -> list[int]:
        """The numbers from here to the root, both included."""
        return [int(node) for node in self.table.path(number)]

    @property
    def root(self) -> int:
        return len(self.table.parents) - 1

    def find(self, handle: Handle) -> int:
        """The number that a handle stands for; a 404, 409 or 410 if it stands for none."""
        place = self._living(handle)
        for number in self.path(place):
            if self.table.sizes[number] >= handle.size:
                if self.handle(number) == handle:
                    return number
                break
        raise Problem(
            409, f"the node {handle} has changed: `now` is the one that its first point is in",
            now=str(self.handle(number)), operation=self.operation,
        )  # fmt: skip

    def _living(self, handle: Handle) -> int:
        place = self.place(handle.first)
        if place is not None:
            return place
        if handle.first < self.tree.next_id:
            raise Problem(
                410, f"{handle} is gone: its first point was removed or replaced",
                operation=self.operation,
            )  # fmt: skip
        raise Problem(404, f"there is no {handle}, as of operation {self.operation}")

    def clustering(self, how: How) -> "Clustering":
        """A clustering of all points, with corrections applied."""
        with self._lock:
            found = self._clusterings.get(how)
            if found is None:
                found = Clustering(self, how, self._cut(how))
                while len(self._clusterings) >= _KEPT:
                    self._clusterings.pop(next(iter(self._clusterings)))
                if not self._is_retired:
                    self._clusterings[how] = found
            return found

    def retire(self) -> None:
        """Keep no clusterings any longer: there is a newer version.

        They hold their version, and it would hold them: both would stay in memory until Python
        looks for cycles among old objects, which it may not do for hundreds of versions.
        """
        with self._lock:
            self._is_retired = True
            self._clusterings.clear()

    def known(self, how: How) -> "Clustering | None":
        """A clustering that is there, or quickly made."""
        known = self._clusterings.get(how)
        if known is None and how != SUGGESTED and self.table.n_points <= _SMALL:
            return self.clustering(how)
        return known

    def _cut(self, how: How) -> Ids:
        ways: dict[str, dict[str, Any]] = {
            "k": {"n_clusters": int(how.value)},
            "min_size": {"min_cluster_size": int(how.value)},
            "threshold": {"distance": how.value},
            "standing": {"distance": how.value},
            "suggested": {},
        }
        labels = self.tree.cut(**ways[how.by])
        living = (pairs[np.isin(pairs, self.table.ids).all(axis=1)] for pairs in self._pairs)
        return correct(self.table, labels, *living).labels


class Clustering:
    """A flat clustering of a version: 0, 1, 2, ... in the order of the smallest ids."""

    def __init__(self, version: Version, how: How, labels: Ids) -> None:
        self.version, self.how, self.labels = version, how, labels
        self.sizes = np.bincount(labels)
        self.order = np.argsort(labels, kind="stable")
        """Places of points, cluster by cluster."""
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        ids = version.table.ids
        self.firsts = ids[self.order[self.starts[:-1]]]
        self._sums = np.add.reduceat(scrambled(ids[self.order]), self.starts[:-1])

    def __len__(self) -> int:
        return len(self.sizes)

    @functools.cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Of each point, by places."""
        return find_confidence(self.version.table, self.labels)

    @functools.cached_property
    def cohesion(self) -> NDArray[np.float64]:
        """Mean confidence of each cluster."""
        return np.bincount(self.labels, self.confidence) / self.sizes

    @functools.cached_property
    def numbers(self) -> Ids:
        """What `perch cut` calls the clusters, if it has written such a clustering before."""
        options = Cut(self.how.by, self.how.value).options
        if options not in self.version.remembered:
            return np.arange(len(self))
        ids = self.version.table.ids
        matched = self.version.remembered.matched(options, ids, self.labels)
        assert matched.labels is not None
        numbers: Ids = matched.labels[self.order[self.starts[:-1]]]
        return numbers

    @functools.cached_property
    def runs(self) -> Runs:
        """Where the cluster changes along the order of the tree."""
        return self.version.boxes.runs(self.labels)

    @functools.cached_property
    def by_size(self) -> Ids:
        """Clusters, the largest first; of equal ones that with the smallest id."""
        return np.lexsort((self.firsts, -self.sizes))

    def handle(self, label: int) -> Handle:
        return Handle(int(self.firsts[label]), int(self.sizes[label]), int(self._sums[label]))

    def members(self, label: int) -> Ids:
        """Places of the points of a cluster, in the order of their ids."""
        return self.order[self.starts[label] : self.starts[label + 1]]

    def find(self, handle: Handle) -> int:
        """The cluster that a handle stands for; a 404, 409 or 410 if it stands for none."""
        label = int(self.labels[self.version._living(handle)])
        if self.handle(label) == handle:
            return label
        raise Problem(
            409, f"the cluster {handle} has changed: `now` is the one that its first point is in",
            now=str(self.handle(label)), operation=self.version.operation,
        )  # fmt: skip


class Versions:
    """The version to ask: the newest that there is, or a new one if that is quickly made.

    A new one has to wait for whoever is changing the collection, so it is made by a thread of its
    own, and those who read wait for it a moment at most.
    """

    def __init__(self, collection: Collection, prepare: Callable[[Version], None]) -> None:
        self._collection, self._prepare = collection, prepare
        self._lock = threading.Lock()
        self._making: threading.Event | None = None
        """Set when the version that is being made is there."""
        self._last: Version | None = None
        self._failure: Exception | None = None
        self._made_at = self._cost = 0.0
        self._outdated_at: float | None = None
        """When the newest version was the collection for the last time; None if it still is."""

    def current(self) -> Version:
        """A version to ask; a 409 if the collection is empty. Only for the first one waits."""
        if len(self._collection) == 0:
            raise Problem(409, "the collection is empty: add records first")
        while True:
            found = self._newest(_PATIENCE)
            if found is not None:
                return found
            if self._failure is not None:
                raise self._failure

    @property
    def age(self) -> float:
        """Seconds since the newest version was what the collection is; 0 if it still is."""
        last, outdated_at = self._last, self._outdated_at
        if last is None or last.operation == self._collection.operation or outdated_at is None:
            return 0.0
        return time.monotonic() - outdated_at

    def note_change(self) -> None:
        """The collection has changed."""
        if self._outdated_at is None:
            self._outdated_at = time.monotonic()

    def peek(self) -> Version | None:
        """The newest version, if there is one; another one may be begun."""
        return None if len(self._collection) == 0 else self._newest(_MOMENT)

    def _newest(self, patience: float) -> Version | None:
        """The newest version, if need be after a while; None if there is none by then."""
        deadline = time.monotonic() + patience
        while True:
            last, now = self._last, time.monotonic()
            if last is not None and last.operation == self._collection.operation:
                return last
            if self._cost > _QUICK:
                if now - self._made_at > max(_LEAST, _SHARE * self._cost):
                    self._begin()
                return last
            if now >= deadline or not self._begin().wait(deadline - now):
                return last
            if self._failure is not None:
                return last

    def _begin(self) -> threading.Event:
        """Have a version made, unless one is being made; what is set when it is there."""
        with self._lock:
            if self._making is None:
                self._making = threading.Event()
                name = "perchtree version"
                threading.Thread(target=self._make, name=name, daemon=True).start()
            return self._making

    def _make(self) -> None:
        start, before, failure = time.monotonic(), None, None
        try:
            version, before = Version(self._collection), self._last
            version.handle(version.root)  # makes what names and paths need: nobody waits for it
            self._prepare(version)
            self._last, self._made_at = version, time.monotonic()
            is_new = version.operation == self._collection.operation
            self._outdated_at = None if is_new else start
            self._cost = self._made_at - start
        except Exception as error:  # the last one stays
            failure = error
        with self._lock:
            self._failure, done, self._making = failure, self._making, None
        assert done is not None
        done.set()
        if before is not None and failure is None:
            before.retire()
