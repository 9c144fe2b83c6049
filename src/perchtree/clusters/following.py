"""A clustering by height that follows its tree: only parts of the tree that changed are visited."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.pieces import Before, Pieces, find_pieces, list_ids, relabel
from .._kernels.schema import CHANGES, COUNTED, LEAF, N_POINTS, NEXT_ID, NONE, ROOT, SIZE, Tree
from ..table import are_living
from .correcting import correct
from .holding import find_tops, holding, ids_below
from .overlaps import Event, Labels, Overlaps, explained

_EVERYTHING = NONE - 1
"""A count of changes that every node was touched after."""

JOIN, MOVE, LEAVE = "join", "move", "leave"

Alone = AbstractContextManager[None]
"""While it lasts, nobody else reads."""
_UNSHARED: Alone = nullcontext()
"""For a clustering that nobody else reads anyway."""


class Change(NamedTuple):
    """A change of clusters, or of some points of one, caused by one operation."""

    number: int
    """1, 2, 3, ... as they come."""
    kind: str
    """"birth", "merge", "split", "end" (see `Event`); "join": new points in a cluster that was
    there; "move": points that changed clusters alone; "leave": points that were removed."""
    before: tuple[int, ...]
    """Numbers of the clusters it concerns, as they were."""
    after: tuple[int, ...]
    """Numbers of the clusters that are there now."""
    points: int
    """Points in the clusters `after`; for an end those it had, for a departure those that left."""
    ids: Labels
    """The points that were born, joined or moved, ascending; of merges and splits none."""


class Followed(NamedTuple):
    """What has changed, and which clusters have another anchor, a point that identifies them."""

    changes: list[Change]
    anchors: dict[int, int]
    """By the numbers of clusters that are new, or whose anchor has gone elsewhere."""
    ended: list[int]
    """Numbers that no longer belong to a cluster."""


class Said(NamedTuple):
    """Corrections about pairs of points."""

    together: Labels
    apart: Labels
    """Ids, in arrays of shape (n, 2)."""
    changes: int
    """A counter that grows when corrections change."""


NOTHING = Said(np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), 0)


class _Split(NamedTuple):
    """The pieces of clusters that are not as they were."""

    tops: NDArray[np.int64]
    """The node of each new cluster that is one."""
    of_new: NDArray[np.int64]
    """Which of the new clusters each piece is in; those of `groups` come after those of `tops`."""
    nodes: NDArray[np.int64]
    """The node whose points a piece has; of those of groups none."""
    labels: Labels
    sizes: NDArray[np.int64]
    groups: tuple[Labels, ...] = ()
    """The points of clusters that were corrected."""
    loose: tuple[Labels, ...] = ()
    """The points of each piece of a group; these pieces come after all others."""
    special: tuple[bool, ...] | None = None
    """Whether something is said about each group; None if corrections were not looked at."""

    def new_sizes(self, tree: Tree) -> Labels:
        """How many points each new cluster has."""
        grouped = np.array([len(group) for group in self.groups], np.int64)
        return np.concatenate([tree.nodes[self.tops, SIZE].astype(np.int64), grouped])

    def some_id(self, tree: Tree, new: int) -> int:
        """A point of a new cluster."""
        if new >= len(self.tops):
            return int(self.groups[new - len(self.tops)][0])
        one = np.empty(1, np.int64)
        list_ids(tree, int(self.tops[new]), one)
        return int(one[0])

    def smallest_id(self, tree: Tree, new: int) -> int:
        if new >= len(self.tops):
            return int(self.groups[new - len(self.tops)].min())
        return int(ids_below(tree, int(self.tops[new])).min())


class Following:
    """Numbers of clusters for all points of a tree, kept up to date with it.

    A cluster is a largest node of at most a height; those with points of which something was said
    are corrected (`correct`). Numbers stay by the rule of `Overlaps`, from one call of `follow` to
    the next, exactly as if the whole clustering were matched with the one before. That costs a look
    at the nodes that were touched, and at points whose number changes; if one of the clusters
    with corrections was touched, at the points of all these.
    """

    def __init__(self, distance: float, next_number: int = 0, last_event: int = 0) -> None:
        self.distance = distance
        self.next_number = next_number
        self.last_event = last_event
        """The number of the last change that was told."""
        self.labels = np.empty(0, np.int64)
        """The number of each point's cluster, by the point's id; NONE if it is in none."""
        self.sizes = np.zeros(next_number, np.int64)
        """The points of each number that was ever given; 0 if it is gone."""
        self.anchors: dict[int, int] = {}
        """A point of each cluster."""
        self.changes = 0
        """The tree's counter of changes when it was last followed."""
        self.n_points = 0
        """How many points have a number."""
        self.corrected: dict[int, Labels] = {}
        """The points of clusters about which something was said, by their numbers."""
        self._inside = np.empty(0, np.int64)
        """A point of each node that these are made of."""
        self._said = NOTHING
        self._seen = _EVERYTHING
        self._pieces = _room(256)

    # Beginning

    def begin(self, tree: Tree, said: Said = NOTHING, settling: Alone = _UNSHARED) -> Followed:
        """Number the clusters of a tree 0, 1, 2, ... by their smallest ids, without events."""
        told = self.last_event
        followed = self.follow(tree, np.empty(0, np.int64), said, settling)
        self.last_event = told
        return followed._replace(changes=[])

    def restore(self, tree: Tree, anchors: dict[int, int], said: Said = NOTHING) -> bool:
        """Give clusters the numbers that they had, by their anchors; whether each has one."""
        self._make_room(tree)
        whole = self._split(tree)
        split = self._with_groups(tree, whole, said)
        if len(split.tops) + len(split.groups) != len(anchors):
            return False
        if anchors:
            # Leaves come in the same order, whether below the root or in one cluster after another.
            ids = ids_below(tree, int(tree.state[ROOT]))
            cluster_of = np.full(len(self.labels), NONE, np.int64)
            places = np.searchsorted(split.tops, whole.tops)  # both ascend; others are in groups
            cluster_of[ids] = np.repeat(places[whole.of_new], whole.sizes)
            for place, group in enumerate(split.groups, len(split.tops)):
                cluster_of[group] = place
            numbers, points = np.array([*anchors.items()]).T
            if numbers.max() >= self.next_number or points.max() >= len(cluster_of):
                return False
            places = cluster_of[points]
            if len(np.unique(places)) != len(places) or (places == NONE).any():
                return False
            number_of = np.empty(len(places), np.int64)
            number_of[places] = numbers
            self.labels[ids] = number_of[cluster_of[ids]]
            self.sizes[numbers] = split.new_sizes(tree)[places]
            self._note_corrected(split, number_of)
        self.anchors = dict(anchors)
        self.n_points = int(tree.state[N_POINTS])
        self._saw(tree)
        return True

    def look_everywhere(self, distance: float) -> None:
        """Let the next call of `follow` look at everything, and cut at another distance."""
        self.distance, self._seen = distance, _EVERYTHING

    def end(self, numbers: Iterable[int]) -> list[Change]:
        """Report the end of clusters of which nothing else is known."""
        nobody = np.empty(0, np.int64)
        return [self._change("end", (number,), (), 0, nobody) for number in numbers]

    # Following

    def follow(
        self, tree: Tree, gone: Labels, said: Said = NOTHING, settling: Alone = _UNSHARED
    ) -> Followed:
        """Catch up with a tree, which nobody is changing; `gone` are the ids of points removed
        since.

        Others can still read what is known, except while it is replaced, within `settling`.
        """
        self._make_room(tree)
        if int(tree.state[CHANGES]) // (COUNTED + 1) != self.changes // (COUNTED + 1):
            self._seen = _EVERYTHING
        left = self.labels[gone]
        gone, left = gone[left != NONE], left[left != NONE]
        split = self._split(tree)
        touched = np.concatenate([split.labels, left])
        if said.changes != self._said.changes or (
            self.corrected and np.isin(touched, [*self.corrected]).any()
        ):
            split = self._with_groups(tree, split, said)
        numbers, old_ids, events = self._match(tree, split, left)
        with settling:
            changes = self._told(events, tree, split, numbers)
            changes += self._left(left, events)
            self.labels[gone] = NONE
            self.n_points -= len(gone)
            followed = self._settle(tree, split, old_ids, numbers, changes)
            self._saw(tree)
        return followed

    def missed(self, tree: Tree) -> Labels:
        """The ids of points that have a number but are no longer in the tree: a scan of all."""
        known = np.flatnonzero(self.labels != NONE)
        self.n_points = len(known)  # an interruption may have kept us from counting
        missed: Labels = known[tree.ids[known, LEAF] == NONE]
        return missed

    def _saw(self, tree: Tree) -> None:
        self.changes = int(tree.state[CHANGES])
        self._seen = self.changes & COUNTED

    def _make_room(self, tree: Tree) -> None:
        self.labels = _longer(self.labels, int(tree.state[NEXT_ID]), NONE)

    def _split(self, tree: Tree) -> _Split:
        sizes = self.sizes
        if self.corrected:  # their pieces say nothing: a node may have points of several
            sizes = sizes.copy()
            sizes[[*self.corrected]] = NONE
        box = np.empty((2, tree.points.shape[1]), np.float32)
        before = Before(self.labels, sizes, np.array([self._seen]), box)
        while (n := find_pieces(tree, self.distance, before, self._pieces)) > len(
            self._pieces.places
        ):
            self._pieces = _room(2 * n)
        places = self._pieces.places[:n].astype(np.int64)
        tops, of_new = np.unique(places[:, 0], return_inverse=True)
        labels, sizes = self._pieces.counts[:n].T.copy()
        return _Split(tops, of_new, places[:, 1], labels, sizes)

    def _with_groups(self, tree: Tree, split: _Split, said: Said) -> _Split:
        """The split, with all clusters that have or had corrections corrected anew."""
        seeds = np.unique(np.concatenate([said.together.ravel(), said.apart.ravel()]))
        seeds = seeds[are_living(tree, seeds)]
        known = self._inside[are_living(tree, self._inside)]
        mixed = split.tops[split.of_new[np.isin(split.labels, [*self.corrected])]]
        ours = np.unique(find_tops(tree, seeds, self.distance))
        before = np.concatenate([find_tops(tree, known, self.distance), mixed])
        others = np.setdiff1d(before, ours)
        self._said = said
        self._inside = np.array([ids_below(tree, top)[0] for top in ours.tolist()], np.int64)
        groups = _corrected_groups(tree, ours, said) if len(ours) else []
        special = (*[True] * len(groups), *[False] * len(others))
        groups += [np.sort(ids_below(tree, top)) for top in others.tolist()]
        return self._joined(split, np.concatenate([ours, others]), groups, special)

    def _joined(
        self, split: _Split, grouped: Labels, groups: list[Labels], special: tuple[bool, ...]
    ) -> _Split:
        """A split in which groups take the place of the clusters that they are made of."""
        tops = np.setdiff1d(split.tops, grouped)
        kept = np.isin(split.tops[split.of_new], tops)
        of_new, labels, loose = [], [], []
        for place, group in enumerate(groups, len(tops)):
            known = self.labels[group]
            for label in np.unique(known).tolist():
                of_new.append(place)
                labels.append(label)
                loose.append(group[known == label])
        return _Split(
            tops,
            np.concatenate(
                [np.searchsorted(tops, split.tops[split.of_new[kept]]), np.array(of_new, np.int64)]
            ),
            split.nodes[kept],
            np.concatenate([split.labels[kept], np.array(labels, np.int64)]),
            np.concatenate([split.sizes[kept], np.array([len(ids) for ids in loose], np.int64)]),
            tuple(groups),
            tuple(loose),
            special,
        )

    def _note_corrected(self, split: _Split, numbers: Labels) -> None:
        """Remember the clusters with corrections, if they were visited."""
        if split.special is not None:
            groups = zip(
                numbers[len(split.tops) :].tolist(), split.groups, split.special, strict=True
            )
            self.corrected = {number: group for number, group, special in groups if special}

    def _match(self, tree: Tree, split: _Split, left: Labels) -> tuple[Labels, Labels, list[Event]]:
        """The numbers of the new clusters, those of the old ones, and what has become of these."""
        old = split.labels != NONE
        old_ids = np.unique(np.concatenate([split.labels[old], left]))
        of_old, of_new = np.searchsorted(old_ids, split.labels[old]), split.of_new[old]
        new_sizes = split.new_sizes(tree)
        width = max(1, len(new_sizes))
        pairs, inverse = np.unique(of_old * width + of_new, return_inverse=True)
        shared = np.zeros(len(pairs), np.int64)
        np.add.at(shared, inverse, split.sizes[old])
        overlaps = Overlaps(
            old_ids, self.sizes[old_ids], new_sizes, *np.divmod(pairs, width), shared
        )
        smallest: dict[int, int] = {}

        def first(new: int) -> int:
            """The smallest id of a new cluster; most need not be looked at for it."""
            if new not in smallest:
                smallest[new] = split.smallest_id(tree, new)
            return smallest[new]

        numbers = overlaps.inherited_ids(self.next_number, first)
        return numbers, old_ids, overlaps.events(numbers, int(tree.state[N_POINTS]))

    def _told(
        self, events: list[Event], tree: Tree, split: _Split, numbers: Labels
    ) -> list[Change]:
        """Events as changes, with the points that joined or moved, whose labels are changed."""
        now = numbers[split.of_new]
        by_pair = self._relabelled(tree, split, now)
        nobody = np.empty(0, np.int64)
        born = {event.after[0] for event in events if event.kind == "birth"}
        changes = [
            self._change(
                event.kind, event.before, event.after, event.points,
                by_pair[NONE, event.after[0]] if event.kind == "birth" else nobody,
            )
            for event in events
        ]  # fmt: skip
        sizes = dict(zip(numbers.tolist(), split.new_sizes(tree).tolist(), strict=True))
        told = explained(events)
        for (was, number), ids in sorted(by_pair.items(), key=lambda item: item[0]):
            if was == NONE and number not in born:
                changes.append(self._change(JOIN, (), (number,), sizes[number], ids))
            elif was != NONE and (was, number) not in told:
                changes.append(self._change(MOVE, (was,), (number,), sizes[number], ids))
        return changes

    def _change(
        self, kind: str, before: tuple[int, ...], after: tuple[int, ...], points: int, ids: Labels
    ) -> Change:
        self.last_event += 1
        return Change(self.last_event, kind, before, after, points, ids)

    def _relabelled(self, tree: Tree, split: _Split, now: Labels) -> dict[tuple[int, int], Labels]:
        """Points whose number is another one now, by the old number and the new."""
        at = np.flatnonzero(split.labels != now)
        was, now = split.labels[at], now[at]
        n_nodes = int(np.searchsorted(at, len(split.nodes)))
        moved = np.empty((int(split.sizes[at].sum()), 2), np.int64)
        nodes = split.nodes[at[:n_nodes]]
        n_moved = relabel(tree, nodes, was[:n_nodes], now[:n_nodes], self.labels, moved)
        for piece, place in enumerate(at[n_nodes:].tolist(), n_nodes):
            ids = split.loose[place - len(split.nodes)]
            self.labels[ids] = now[piece]
            moved[n_moved : n_moved + len(ids)] = np.column_stack([ids, np.full(len(ids), piece)])
            n_moved += len(ids)
        if n_moved == 0:
            return {}
        ids, piece = moved[:n_moved].T
        self.n_points += int((was[piece] == NONE).sum())
        order = np.lexsort((ids, now[piece], was[piece]))
        ids, was, now = ids[order], was[piece][order], now[piece][order]
        starts = np.flatnonzero((was[1:] != was[:-1]) | (now[1:] != now[:-1])) + 1
        pairs = [(int(was[start]), int(now[start])) for start in (0, *starts.tolist())]
        return dict(zip(pairs, np.split(ids, starts), strict=True))

    def _left(self, left: Labels, events: list[Event]) -> list[Change]:
        """Departures from clusters that have not ended."""
        if len(left) == 0:
            return []
        ended = {event.before[0] for event in events if event.kind == "end"}
        numbers, counts = np.unique(left, return_counts=True)
        nobody = np.empty(0, np.int64)
        return [
            self._change(LEAVE, (number,), (), count, nobody)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
            if number not in ended
        ]

    def _settle(
        self,
        tree: Tree,
        split: _Split,
        old_ids: Labels,
        numbers: Labels,
        changes: list[Change],
    ) -> Followed:
        self.next_number = max(self.next_number, int(numbers.max(initial=NONE)) + 1)
        self.sizes = _longer(self.sizes, self.next_number, 0)
        self.sizes[old_ids] = 0
        self.sizes[numbers] = split.new_sizes(tree)
        self._note_corrected(split, numbers)
        there = set(numbers.tolist())
        ended = [number for number in old_ids.tolist() if number not in there]
        for number in ended:
            self.anchors.pop(number, None)
        anchors = {}
        for new, number in enumerate(numbers.tolist()):
            anchor = self.anchors.get(number, NONE)
            if anchor == NONE or self.labels[anchor] != number:
                anchors[number] = split.some_id(tree, new)
        self.anchors |= anchors
        return Followed(changes, anchors, ended)


def _corrected_groups(tree: Tree, tops: Labels, said: Said) -> list[Labels]:
    """The points of clusters, given by their nodes, as corrections join and split them."""
    table = holding(tree, tops)
    clusters = np.empty(len(table.ids), np.int64)
    for place, top in enumerate(tops.tolist()):
        clusters[np.searchsorted(table.ids, ids_below(tree, top))] = place
    labels = correct(table, clusters, said.together, said.apart).labels
    order = np.argsort(labels, kind="stable")
    return np.split(table.ids[order], np.cumsum(np.bincount(labels))[:-1])


def _room(n: int) -> Pieces:
    return Pieces(np.empty((n, 2), np.int32), np.empty((n, 2), np.int64))


def _longer(array: Labels, length: int, fill: int) -> Labels:
    """An array of at least this length; it grows by doubling, so that small steps cost little."""
    if length <= len(array):
        return array
    longer = np.full(max(length, 2 * len(array)), fill, np.int64)
    longer[: len(array)] = array
    return longer
