"""Which cluster continues as which: the one rule for stable numbers, and for events."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]


class Event(NamedTuple):
    """A change of clusters between two readings."""

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


class Overlaps:
    """How many points each old cluster shares with each new one.

    Clusters that neither lose nor gain points may be left out: they keep their ids, and do not
    affect those of others.

    Parameters
    ----------
    old_ids, old_sizes : int64 arrays
        The ids of old clusters, ascending, and the points that they had.
    new_sizes : int64 array
        The points in each new cluster.
    of_old, of_new, shared : int64 arrays
        One entry for each old and new cluster that share points: places in the arrays above, and
        how many points.
    """

    def __init__(
        self,
        old_ids: Labels,
        old_sizes: Labels,
        new_sizes: Labels,
        of_old: Labels,
        of_new: Labels,
        shared: Labels,
    ) -> None:
        self.old_ids, self.old_sizes, self.new_sizes = old_ids, old_sizes, new_sizes
        self.of_old, self.of_new, self.shared = of_old, of_new, shared
        # Points that were removed since say nothing about where a cluster went.
        self.surviving, self.earlier = (
            np.zeros(n, np.int64) for n in map(len, (old_ids, new_sizes))
        )
        np.add.at(self.surviving, of_old, shared)
        np.add.at(self.earlier, of_new, shared)

    def inherited_ids(self, next_id: int, first: Callable[[int], int] = int) -> Labels:
        """The id of each new cluster: the largest overlaps first, each id given once.

        Of equal overlaps, that of the smallest id comes first, then that of the new cluster which
        `first` puts first. Clusters that inherit none get the next unused ids.
        """
        ids = np.full(len(self.new_sizes), -1, np.int64)
        taken: set[int] = set()
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        rows = zip(self.of_old.tolist(), self.of_new.tolist(), self.shared.tolist(), strict=True)
        for old, new, shared in rows:
            groups[-shared, old].append(new)
        for (_, old), news in sorted(groups.items()):
            free = [new for new in news if ids[new] < 0]
            if free and old not in taken:
                ids[free[0] if len(free) == 1 else min(free, key=first)] = self.old_ids[old]
                taken.add(old)
        fresh = np.flatnonzero(ids < 0).tolist()
        if len(fresh) > 1:
            fresh.sort(key=first)
        ids[fresh] = next_id + np.arange(len(fresh))
        return ids

    def events(self, ids: Labels, tree_size: int) -> list[Event]:
        """Births, merges, splits and ends. A few points that move between clusters are no event.

        A cluster is merged into the one that has more than half of its points; it is split
        into those that have more than half of their earlier points from it.
        """
        into, out_of = defaultdict(list), defaultdict(list)
        most_of_old = 2 * self.shared > self.surviving[self.of_old]
        most_of_new = 2 * self.shared > self.earlier[self.of_new]
        for place in np.flatnonzero(most_of_old).tolist():
            into[int(self.of_new[place])].append(int(self.of_old[place]))
        for place in np.flatnonzero(most_of_new).tolist():
            out_of[int(self.of_old[place])].append(int(self.of_new[place]))

        def event(kind: str, before: list[int], after: list[int]) -> Event:
            points = self.new_sizes[after] if after else self.old_sizes[before]
            return Event(
                kind,
                tuple(sorted(self.old_ids[before].tolist())),
                tuple(sorted(ids[after].tolist())),
                int(points.sum()),
                tree_size,
            )

        births = [event("birth", [], [new]) for new in np.flatnonzero(self.earlier == 0).tolist()]
        merges = [event("merge", old, [new]) for new, old in into.items() if len(old) > 1]
        splits = [event("split", [old], new) for old, new in out_of.items() if len(new) > 1]
        told = {i for e in merges + splits for i in e.before} | set(ids.tolist())
        gone = [old for old, i in enumerate(self.old_ids.tolist()) if i not in told]
        return births + merges + splits + [event("end", [old], []) for old in gone]


def explained(events: Iterable[Event]) -> set[tuple[int, int]]:
    """From which to which cluster points went by a merge or a split."""
    return {(old, new) for event in events for old in event.before for new in event.after}
