"""From a tree to flat clusters: one engine, several criteria."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import has_moments
from .._kernels.measure import measure_diagonal
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
from ..table import NodeTable, arranged, node_diagonals
from .extraction import extract, find_all_tops, label, logarithms

Values = NDArray[np.float64]


class Cluster(NamedTuple):
    """A cluster, found from one of its points. Two are the same exactly if they are equal."""

    node: int
    """The tree's own number for it, until the tree changes."""
    size: int
    """Number of points."""
    diameter: float
    """Length of the diagonal of its box."""


def find_cluster(
    tree: Tree, point_id: int, level: float, price: Callable[[Cluster], float]
) -> Cluster:
    """Climb from a point's leaf as long as the node above costs at most `level`.

    For costs that never decrease towards the root, such as those in `PRICES`.
    """
    node = int(tree.ids[point_id, LEAF])
    cluster = _describe(tree, node)
    above = int(tree.nodes[node, PARENT])
    while above != NONE:
        larger = _describe(tree, above)
        if price(larger) > level:
            break
        cluster = larger
        above = int(tree.nodes[above, PARENT])
    return cluster


def _describe(tree: Tree, node: int) -> Cluster:
    box = np.empty((2, tree.points.shape[1]), np.float32)
    diameter = math.sqrt(measure_diagonal(tree, node, box))
    return Cluster(node, int(tree.nodes[node, SIZE]), diameter)


PRICES: dict[str, Callable[[Cluster], float]] = {
    "cost": lambda cluster: cluster.diameter * cluster.size,
    "diameter": lambda cluster: cluster.diameter,
    "size": lambda cluster: cluster.size,
}
"""The cost of a node, by those criteria that need no other node."""


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
    return diameter(tree, table) * table.sizes[table.n_points :]


def diameter(tree: Tree, table: NodeTable) -> Values:
    """The diagonal of the box."""
    return node_diagonals(tree)[table.nodes]


def height(tree: Tree, table: NodeTable) -> Values:
    """How far apart the two parts are."""
    return table.heights[table.n_points :]


def pooled(tree: Tree, table: NodeTable) -> Values:
    """How far apart the two parts are, pooled where that is less than further down."""
    return table.pooled[table.n_points :]


def size(tree: Tree, table: NodeTable) -> Values:
    """The number of points."""
    return table.sizes[table.n_points :].astype(np.float64)


def blend(tree: Tree, table: NodeTable) -> Values:
    """The number of points x the cube root of the height: almost as even as by size alone."""
    return size(tree, table) * np.cbrt(height(tree, table))


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
            "a tree with a linkage: use 'cost', 'diameter', 'height' or 'size'"
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
    "blend": blend,
    "cost": cost,
    "diameter": diameter,
    "height": height,
    "pooled": pooled,
    "size": size,
    "scatter": scatter,
    "ward": ward,
}


_FAR, _FARTHER = math.log(1.5), 2.2
"""To be chosen, clusters by height must stand out this much, and this many times as much as
others."""


class Cuts:
    """All cuts of one tree: what takes time is computed once and kept."""

    def __init__(self, tree: Tree, table: NodeTable) -> None:
        self._tree, self.table = tree, table
        self._sequences: dict[str, tuple[NDArray[np.int64], Values]] = {}
        self.n_leaves = table.n_points - int(table.inner.sum())

    def usable_criteria(self) -> list[str]:
        """The criteria that this tree has: two need features, or a linkage."""
        features = has_moments(self._tree) or self._tree.state[MAX_LEAVES] == NONE
        return [name for name in CRITERIA if features or name not in ("scatter", "ward")]

    def sequence(self, criterion: str) -> tuple[NDArray[np.int64], Values]:
        """Merges in the order in which they are collapsed, and their costs.

        Of the nodes whose children are leaves by then, the cheapest is next; of equals the one
        with the smallest id. Merges inside leaves come first and cost nothing.
        """
        if criterion not in self._sequences:
            table, by_id = self.table, self.table.by_id
            costs = np.where(table.inner, -1.0, CRITERIA[criterion](self._tree, table))
            by_rank = by_id[np.argsort(costs[by_id], kind="stable")]
            order = arranged(table.children, table.parents, by_rank)
            self._sequences[criterion] = order, costs[order]
        return self._sequences[criterion]

    def into(self, n_clusters: int, criterion: str) -> NDArray[np.int64]:
        """Labels of a clustering into this many clusters."""
        return self._labels(self.sequence(criterion)[0][: self._n_collapses(n_clusters)])

    def pick(self, numbers: Sequence[int]) -> str:
        """The criterion that suits so many clusters: "blend", or "pooled" where sizes are skewed.

        Clusters by height are of any size. In most data they are a few huge ones and many
        outliers; but where clusters are compact and some of them huge, they stand out far more.
        Nested clusterings need one criterion: it is "pooled" if that suits each number, apart
        from those for which there is only one clustering.
        """
        telling = [number for number in numbers if 1 < number < self.n_leaves]
        return "pooled" if telling and all(map(self._heights_suit, telling)) else "blend"

    def _heights_suit(self, n_clusters: int) -> bool:
        if not has_moments(self._tree):  # diagonals of boxes grow with the number of points
            return False
        by_height, by_blend = (
            self._standing_out(n_clusters, criterion) for criterion in ("pooled", "blend")
        )
        return by_height >= max(_FAR, _FARTHER * by_blend)

    def _standing_out(self, n_clusters: int, criterion: str) -> float:
        """The mean, over points, of how much higher than its cluster the node above it is (log).

        Points that are clusters by themselves do not count.
        """
        table = self.table
        joined = self._joined(self.sequence(criterion)[0][: self._n_collapses(n_clusters)])
        is_top = np.zeros(len(joined), bool)
        is_top[find_all_tops(table, joined)] = True
        tops = np.flatnonzero(is_top & (table.sizes > 1) & (table.parents != NONE))
        levels = self._levels
        gaps = table.sizes[tops] * (levels[table.parents[tops]] - levels[tops])
        return float(gaps.sum()) / table.n_points

    @functools.cached_property
    def _levels(self) -> Values:
        return logarithms(self.table.pooled)

    def at_level(self, level: float, criterion: str) -> NDArray[np.int64]:
        """Labels of the largest nodes that cost at most `level`, with all below them."""
        order, costs = self.sequence(criterion)
        return self._labels(order[np.maximum.accumulate(costs) <= level])

    def level(self, n_clusters: int, criterion: str) -> float:
        """The level at which a cut gives this many clusters (fewer if the next merge costs the
        same)."""
        n_collapses = self._n_collapses(n_clusters)
        _, costs = self.sequence(criterion)
        return float(max(0.0, costs[:n_collapses].max(initial=0.0)))

    def persistent(self, least: int) -> NDArray[np.int64]:
        """Labels of the clusters that persist, of at least this many points; see `extraction`."""
        return label(self.table, extract(self.table, least))

    def _n_collapses(self, n_clusters: int) -> int:
        if n_clusters > self.n_leaves:
            raise ValueError(
                f"{n_clusters} clusters asked of a tree of {self.n_leaves} leaves: "
                "a cluster cannot be finer than a leaf"
            )
        return self.table.n_points - n_clusters

    def _labels(self, collapsed: NDArray[np.int64]) -> NDArray[np.int64]:
        return label(self.table, self._joined(collapsed))

    def _joined(self, collapsed: NDArray[np.int64]) -> NDArray[np.bool_]:
        joined = np.zeros(len(self.table.parents), bool)
        joined[self.table.n_points + collapsed] = True
        return joined
