"""From a tree to flat clusters: one engine, several criteria."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import has_moments
from .._kernels.measure import measure_diagonal
from .._kernels.merges import find_smallest_ids, find_tops
from .._kernels.numbering import is_point, row_of
from .._kernels.scatter import Means, add_up, measure_scatter
from .._kernels.schema import (
    FIRST,
    LEAF,
    LEFT,
    MAX_LEAVES,
    NEXT,
    NONE,
    PARENT,
    RIGHT,
    SCATTER,
    SIZE,
    Tree,
)
from ..table import NodeTable, arranged
from .numbering import numbered

Values = NDArray[np.float64]


class Suggestion(NamedTuple):
    """A number of clusters that may fit the data."""

    n_clusters: int
    score: float
    """How many times as much the next collapse costs as the last one carried out."""
    level: float
    """The cost of the last one carried out: cutting at this level gives these clusters."""


class Cluster(NamedTuple):
    """A cluster, found from one of its points. Two are the same exactly if they are equal."""

    node: int
    """The tree's own number for it, until the tree changes."""
    size: int
    """Number of points."""
    height: float
    """Length of the diagonal of its box."""


def find_cluster(tree: Tree, point_id: int, level: float, criterion: str) -> Cluster:
    """Climb from a point's leaf as long as the node above costs at most `level`.

    For costs that never shrink towards the root.
    """
    node = int(tree.ids[point_id, LEAF])
    cluster = _describe(tree, node)
    above = int(tree.nodes[node, PARENT])
    while above != NONE:
        larger = _describe(tree, above)
        costs = {
            "cost": larger.height * larger.size,
            "diameter": larger.height,
            "size": larger.size,
        }
        if costs[criterion] > level:
            break
        cluster = larger
        above = int(tree.nodes[above, PARENT])
    return cluster


def _describe(tree: Tree, node: int) -> Cluster:
    return Cluster(node, int(tree.nodes[node, SIZE]), math.sqrt(measure_diagonal(tree, node)))


def points_below(tree: Tree, top: int) -> NDArray[np.int64]:
    """The ids below a node, in ascending order."""
    ids: list[int] = []
    waiting = [top]
    while waiting:
        node = waiting.pop()
        if tree.nodes[node, LEFT] != NONE:
            waiting += tree.nodes[node, [LEFT, RIGHT]].tolist()
            continue
        point_id = int(tree.nodes[node, FIRST])
        while point_id != NONE:
            ids.append(point_id)
            point_id = int(tree.ids[point_id, NEXT])
    return np.sort(np.array(ids, np.int64))


def cost(tree: Tree, table: NodeTable) -> Values:
    """The paper's cost (section 6.3): diagonal of the box x number of points."""
    return table.heights[table.n_points :] * table.sizes[table.n_points :]


def diameter(tree: Tree, table: NodeTable) -> Values:
    """The diagonal of the box."""
    return table.heights[table.n_points :]


def size(tree: Tree, table: NodeTable) -> Values:
    """The number of points."""
    return table.sizes[table.n_points :].astype(np.float64)


def ward(tree: Tree, table: NodeTable) -> Values:
    """By how much the merge increases the sum of squares within nodes."""
    n_points = table.n_points
    if has_moments(tree):
        within: Values = np.concatenate([np.zeros(n_points), scatter(tree, table)])
        gain: Values = within[n_points:] - within[table.children].sum(axis=1)
        return np.maximum(gain, 0.0)
    if tree.state[MAX_LEAVES] != NONE:
        raise ValueError(
            "the criteria 'scatter' and 'ward' need all features, which collapsing drops, or "
            "a tree with a linkage: use 'cost', 'diameter' or 'size'"
        )
    rows = row_of(tree.ids[table.ids, LEAF].astype(np.int64))
    levels = int(np.log2(n_points)) + 3
    means = Means(np.empty(2 * n_points + 2, np.int64), np.empty((levels, tree.points.shape[1])))
    increase = np.empty(n_points - 1)
    if n_points > 1:
        measure_scatter(table.children, table.sizes, tree.points, rows, means, increase)
    return increase


def scatter(tree: Tree, table: NodeTable) -> Values:
    """The sum of squares within the node."""
    total = np.zeros(table.n_points - 1)
    if has_moments(tree):
        has_box = ~is_point(table.nodes)  # the others are copies of one point
        total[has_box] = tree.moments[row_of(table.nodes[has_box]), SCATTER]
    else:
        add_up(table.children, ward(tree, table), total)
    return total


CRITERIA: dict[str, Callable[[Tree, NodeTable], Values]] = {
    "cost": cost,
    "diameter": diameter,
    "size": size,
    "scatter": scatter,
    "ward": ward,
}


class Cuts:
    """All that can be cut from one tree: collapse sequences are computed once and kept."""

    def __init__(self, tree: Tree, table: NodeTable) -> None:
        self._tree, self.table = tree, table
        self._sequences: dict[str, tuple[NDArray[np.int64], Values]] = {}
        self.n_leaves = table.n_points - int(table.inner.sum())

    def sequence(self, criterion: str) -> tuple[NDArray[np.int64], Values]:
        """Merges in the order in which they are collapsed, and what each costs.

        Of the nodes whose children are leaves by then, the cheapest is next; of equals the one
        with the smallest id. Merges inside leaves come first and cost nothing.
        """
        if criterion not in self._sequences:
            table = self.table
            smallest = np.full(len(table.parents), NONE, np.int64)
            find_smallest_ids(table.n_points, table.parents, smallest)
            costs = np.where(table.inner, -1.0, CRITERIA[criterion](self._tree, table))
            keys = costs, smallest[table.n_points :]
            order = arranged(table.children, table.parents, *keys)
            self._sequences[criterion] = order, costs[order]
        return self._sequences[criterion]

    def into(self, n_clusters: int, criterion: str) -> NDArray[np.int64]:
        """Labels of a clustering into so many clusters."""
        return self._labels(self.sequence(criterion)[0][: self._n_collapses(n_clusters)])

    def at_level(self, level: float, criterion: str) -> NDArray[np.int64]:
        """Labels of the largest nodes that cost at most `level`, with all below them."""
        order, costs = self.sequence(criterion)
        return self._labels(order[np.maximum.accumulate(costs) <= level])

    def level(self, n_clusters: int, criterion: str) -> float:
        """The level at which a cut gives so many clusters (fewer if the next costs the same)."""
        n_collapses = self._n_collapses(n_clusters)
        _, costs = self.sequence(criterion)
        return float(max(0.0, costs[:n_collapses].max(initial=0.0)))

    def suggestions(self, criterion: str, most: int) -> list[Suggestion]:
        """The largest relative gaps in cost along the collapse sequence, largest first.

        Clusters have two leaves or more on average: gaps among the first collapses, of nearest
        neighbours, say nothing of clusters.
        """
        _, costs = self.sequence(criterion)
        costs = np.maximum.accumulate(costs)
        clusters = len(costs) + 1 - np.arange(1, len(costs))  # after each collapse but the last
        before, after = costs[:-1], costs[1:]
        usable = (before > 0) & (clusters >= 2) & (clusters <= max(2, self.n_leaves // 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(usable, after / before, 0.0)
        best = np.argsort(-ratio, kind="stable")[:most]
        return [
            Suggestion(int(clusters[i]), float(ratio[i]), float(before[i]))
            for i in best
            if ratio[i] > 1
        ]

    def _n_collapses(self, n_clusters: int) -> int:
        if n_clusters > self.n_leaves:
            raise ValueError(
                f"{n_clusters} clusters asked of a tree of {self.n_leaves} leaves: "
                "a cluster cannot be finer than a leaf"
            )
        return self.table.n_points - n_clusters

    def _labels(self, collapsed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Labels 0, 1, 2, ... of all points, clusters in the order of their smallest ids."""
        table = self.table
        joined = np.zeros(len(table.parents), bool)
        joined[table.n_points + collapsed] = True
        tops = np.empty(len(table.parents), np.int64)
        find_tops(table.parents, joined, tops)
        return numbered(tops[: table.n_points])[0]
