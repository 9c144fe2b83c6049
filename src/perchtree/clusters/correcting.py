"""Corrections about pairs of points, applied to a flat clustering: labels in, labels out."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..table import NodeTable
from .numbering import numbered
from .spanning import Numbers, Spanned, TreeOrder


class Corrected(NamedTuple):
    """A clustering after corrections."""

    labels: NDArray[np.int64]
    """0, 1, 2, ... in the order of the smallest id in each cluster."""
    n_before: int
    """How many clusters there were."""
    n_after: int
    """How many there are."""


def correct(table: NodeTable, labels: Numbers, together: Numbers, apart: Numbers) -> Corrected:
    """Join and split clusters, as little as possible, until they agree with the corrections.

    Points that belong together, directly or through others, are a group. First the clusters of
    each group are joined. Then every cluster with two groups that are apart is split along the
    tree. Into which parts: groups of one old cluster stay together, from the leaves upwards, where
    they meet first, unless they are apart. Between the parts, as few branches as possible are
    cut. Groups that may be with everything in their cluster stay whole: they go where most of their
    points are.

    Parameters
    ----------
    table : NodeTable
    labels : int64 array of n_points
        The cluster of each point, in the order of `table.ids`.
    together, apart : int64 arrays of shape (n_pairs, 2)
        Ids. Pairs with an id that is not in the tree are ignored.
    """
    old, n_before = numbered(labels)
    together, apart = _living(table, together), _living(table, apart)
    if len(together) == len(apart) == 0:
        return Corrected(old, n_before, n_before)
    clusters = _connected(old[together], n_before)[old]
    seeds = np.unique(np.concatenate([together.ravel(), apart.ravel()]))
    groups = _connected(np.searchsorted(seeds, together), len(seeds))
    pairs = groups[np.searchsorted(seeds, apart)]
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError("the corrections contradict each other: take some of them back")
    clashing = pairs[clusters[apart[:, 0]] == clusters[apart[:, 1]]]
    if len(clashing):
        clusters = _split(TreeOrder(table), old, clusters, _Said(seeds, groups, clashing))
    labels, n_after = numbered(clusters)
    return Corrected(labels, n_before, n_after)


def _living(table: NodeTable, pairs: Numbers) -> Numbers:
    """The numbers of the points of pairs of which both are in the tree."""
    places = np.minimum(np.searchsorted(table.ids, pairs), table.n_points - 1)
    both: Numbers = places[(table.ids[places] == pairs).all(axis=1)]
    return both


def _connected(pairs: Numbers, count: int) -> Numbers:
    """Number by number, up to `count`, the component it is in, by the smallest in each."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), (count, count))
    return numbered(connected_components(edges, directed=False)[1])[0]


class _Said(NamedTuple):
    """The corrections that matter."""

    seeds: Numbers
    """Points with corrections."""
    groups: Numbers
    """The group of each seed, numbered by their smallest seeds."""
    clashing: Numbers
    """Pairs of groups that are apart, but in one cluster."""


def _split(order: TreeOrder, old: Numbers, clusters: Numbers, said: _Said) -> Numbers:
    """Split the clusters in which groups clash, which came of `old` ones by joining."""
    seeds, groups, clashing = said
    sizes = np.bincount(groups)
    clashes = np.isin(np.arange(len(sizes)), clashing)
    chosen = clashes[groups]  # seeds whose part is known
    n_clusters = int(clusters.max()) + 1
    affected = np.isin(np.arange(n_clusters), clusters[seeds[chosen]])
    points = np.flatnonzero(affected[clusters])
    parts = np.full(len(sizes), -1)

    def spread() -> tuple[Numbers, NDArray[np.bool_]]:
        spanned = Spanned(order, seeds[chosen], clusters[seeds[chosen]])
        return spanned.spread(parts[groups[chosen]], points, clusters[points])

    spanned = Spanned(order, seeds[chosen], old[seeds[chosen]])
    parts[clashes] = _pooled(spanned, groups[chosen].tolist(), clashing.tolist())
    found, inside = spread()
    others = affected[clusters[seeds]] & ~chosen & (sizes[groups] > 1)
    if others.any():
        places = np.searchsorted(points, seeds[others])
        # Points above the spanned trees have their part by default: they only decide alone.
        votes = found[places], np.where(inside[places], len(points), 1)
        parts[np.unique(groups[others])] = _majorities(groups[others], *votes)
        chosen |= others
        found, _ = spread()
    clusters = clusters.copy()
    clusters[points] = n_clusters + found
    clusters[seeds[chosen]] = n_clusters + parts[groups[chosen]]  # copies may share a leaf
    return clusters


def _majorities(groups: Numbers, votes: Numbers, weights: Numbers) -> Numbers:
    """For each group, in ascending order, what has most votes, or the smallest such."""
    cast, which = np.unique(np.stack([groups, votes]), axis=1, return_inverse=True)
    total = np.bincount(which.ravel(), weights)
    group, vote = cast[:, np.lexsort((cast[1], -total, cast[0]))]
    _, first = np.unique(group, return_index=True)
    most: Numbers = vote[first]
    return most


def _pooled(spanned: Spanned, groups: list[int], clashing: list[list[int]]) -> list[int]:
    """The part of each group that clashes, in ascending order: the smallest group in the part.

    `groups` has the group of each seed.
    """
    pools = _Pools(clashing)
    met: list[list[int]] = [[] for _ in range(spanned.n_leaves)]
    for leaf, group in sorted(set(zip(spanned.leaf_of, groups, strict=True))):
        met[leaf] = pools.meet(met[leaf], [group])
    for left, right in spanned.children:
        met.append(pools.meet(met[left], met[right]))
        met[left] = met[right] = []
    return [pools.smallest[pools.find(group)] for group in sorted(pools.smallest)]


class _Pools:
    """Groups that are pooled where they meet, unless they are apart."""

    def __init__(self, apart: list[list[int]]) -> None:
        self._foes: dict[int, set[int]] = defaultdict(set)
        for one, other in apart:
            self._foes[one].add(other)
            self._foes[other].add(one)
        self._pool = {group: group for group in self._foes}
        self.smallest = {group: group for group in self._foes}
        """The smallest group in each pool."""

    def find(self, group: int) -> int:
        """The pool that a group is in, by the name of one of its groups."""
        pool = self._pool
        while pool[group] != group:
            pool[group] = group = pool[pool[group]]
        return group

    def meet(self, here: list[int], there: list[int]) -> list[int]:
        """Pool what can be pooled of two lists of pools; what is left, all of it apart.

        In each list all pools are apart, so each is pooled with one of the other list at most.
        """
        few, known = sorted(map(self._in_order, (here, there)), key=self._by_length)
        more = []
        for pool in few:
            for place, other in enumerate(known):
                if pool == other:
                    break
                if other not in self._foes[pool]:
                    known[place] = self._unite(pool, other)
                    break
            else:
                more.append(pool)
        return known + more

    def _by_length(self, pools: list[int]) -> tuple[int, int]:
        """The longer list counts more; of two, that which begins with the smaller group."""
        return len(pools), -self.smallest[pools[0]] if pools else 0

    def _in_order(self, pools: list[int]) -> list[int]:
        return sorted(map(self.find, pools), key=self.smallest.__getitem__)

    def _unite(self, one: int, other: int) -> int:
        """Make one pool of two; the shorter list of what is apart is updated."""
        foes = self._foes
        if len(foes[one]) < len(foes[other]):
            one, other = other, one
        for foe in foes.pop(other):
            foes[foe].remove(other)
            foes[foe].add(one)
            foes[one].add(foe)
        self._pool[other] = one
        self.smallest[one] = min(self.smallest[one], self.smallest[other])
        return one
