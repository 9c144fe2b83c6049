"""The tree in the numbering of scikit-learn and SciPy, for everything that only reads it."""

import functools
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ._arrays import has_moments
from ._kernels.measure import measure_diagonals
from ._kernels.merges import (
    add_sizes,
    arrange,
    find_smallest_ids,
    join_groups,
    order_by_smallest,
)
from ._kernels.numbering import box_node, is_point, row_of
from ._kernels.pooling import Pools, pool_heights
from ._kernels.schema import (
    BOX_ROWS,
    CHANGES,
    HEIGHT,
    LEAF,
    LEFT,
    NEXT_ID,
    NONE,
    RIGHT,
    SIZE,
    SQUARE,
    Tree,
)


@dataclass(frozen=True)
class NodeTable:
    """Numbers 0 .. n-1 are the points, n .. 2n-2 the merges; a merge comes after its parts.

    Points are numbered in the order of their ids: `ids[number]` is the id of a point.

    Merges are ordered by height, then by the smallest id below. Points that share a leaf are
    joined, below it, by a balanced subtree at the leaf's own height; `leaves` tells which
    number stands for the leaf as a whole.

    Attributes
    ----------
    children : int64 (n-1, 2)
        The two parts of each merge, smaller number first.
    parents : int64 (2n-1,)
        The merge that each number is part of; -1 at the root.
    distances : float64 (n-1,)
        How far apart the two parts of a merge are; see `measure_nodes`.
    heights : float64 (2n-1,)
        The same, or a larger one further down, so that they never decrease towards the root. 0 for
        points.
    sizes : int64 (2n-1,)
        Number of points below.
    leaves : int64 (n,)
        The number of the leaf that holds each point: the point itself where it is alone.
    inner : bool (n-1,)
        Whether a merge only joins points inside a leaf.
    nodes : int64 (n-1,)
        The tree's own node that a merge stands for, or lies inside.
    ids : int64 (n,)
        The id of each point, in ascending order.
    changes : int
        The tree's counter of changes when it was numbered.
    """

    children: NDArray[np.int64]
    parents: NDArray[np.int64]
    distances: NDArray[np.float64]
    heights: NDArray[np.float64]
    sizes: NDArray[np.int64]
    leaves: NDArray[np.int64]
    inner: NDArray[np.bool_]
    nodes: NDArray[np.int64]
    ids: NDArray[np.int64]
    changes: int

    @property
    def n_points(self) -> int:
        return len(self.leaves)

    @functools.cached_property
    def pooled(self) -> NDArray[np.float64]:
        """Heights (2n-1,) that never decrease, by pooling: the root mean squared distance over all
        pairs that are brought together by a merge, and by those below it that would be higher."""
        squared, n_merges = self.distances**2, len(self.children)
        means, pairs = np.empty((2, n_merges))
        pools = Pools(means, pairs, *np.empty((4, n_merges), np.int64))
        pool_heights(self.children, self.sizes, squared, pools)
        heights = np.concatenate([np.zeros(self.n_points), np.sqrt(squared)])
        heights.flags.writeable = False
        return heights

    @functools.cached_property
    def smallest(self) -> NDArray[np.int64]:
        """The smallest point below each number (2n-1,)."""
        return smallest_below(self.parents)

    @functools.cached_property
    def by_id(self) -> NDArray[np.int64]:
        """Merges (0 .. n-2) by the smallest point below them, parts before wholes."""
        return by_smallest(self.parents, self.smallest)

    def members(self, number: int) -> NDArray[np.int64]:
        """The numbers of the points below a number, in ascending order."""
        points: list[int] = []
        below = [number]
        while below:
            part = below.pop()
            if part < self.n_points:
                points.append(part)
            else:
                below.extend(self.children[part - self.n_points].tolist())
        return np.sort(np.array(points))

    def lca(self, a: int, b: int) -> int:
        """The lowest number above both; for points that share a leaf, that leaf."""
        point = min(a, b)
        while point >= self.n_points:
            point = int(self.children[point - self.n_points, 0])
        while a != b:  # numbers grow towards the root
            a, b = int(self.parents[min(a, b)]), max(a, b)
        return max(a, int(self.leaves[point]))

    def path(self, number: int) -> NDArray[np.int64]:
        """The numbers from here to the root, both included."""
        numbers = []
        while number != NONE:
            numbers.append(number)
            number = int(self.parents[number])
        return np.array(numbers)


def parents_of(children: NDArray[np.int64]) -> NDArray[np.int64]:
    """The parent of each number, -1 at the root."""
    n_points = len(children) + 1
    parents = np.full(2 * n_points - 1, NONE, np.int64)
    parents[children] = np.arange(n_points, 2 * n_points - 1)[:, np.newaxis]
    return parents


def smallest_below(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest point below each number."""
    smallest = np.full(len(parents), NONE, np.int64)
    find_smallest_ids(len(parents) // 2 + 1, parents, smallest)
    return smallest


def by_smallest(parents: NDArray[np.int64], smallest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Merges (0 .. n-2) by the smallest point below them, parts before wholes."""
    order = np.empty(len(parents) // 2, np.int64)
    order_by_smallest(parents, smallest, order)
    return order


def arranged(
    children: NDArray[np.int64], parents: NDArray[np.int64], by_rank: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Merges (0 .. n-2) in the given order, but parts before wholes."""
    n_points = len(children) + 1
    above = parents[n_points:] - n_points
    above[above < 0] = NONE
    rank = np.empty_like(by_rank)
    rank[by_rank] = np.arange(len(by_rank))
    waiting = (children >= n_points).sum(axis=1)
    order = np.empty_like(by_rank)
    arrange(above, waiting, by_rank, rank, order)
    return order


class NodeHeights(NamedTuple):
    """How far apart the two parts of each of the tree's own nodes are."""

    distances: NDArray[np.float64]
    heights: NDArray[np.float64]
    """These never decrease towards the root."""


class Skeleton(NamedTuple):
    """Which points and nodes are numbered: all, or those that hold some of the points together."""

    ids: NDArray[np.int64]
    """Ascending; whole leaves."""
    internal: NDArray[np.int64]
    """Nodes with two branches."""
    branches: NDArray[np.int64]
    """(n, 2): the nodes, leaves or internal, that hang on each; not always its own children."""

    @classmethod
    def of(cls, tree: Tree) -> Self:
        """All points and nodes of a tree."""
        internal = internal_nodes(tree)
        branches = tree.nodes[internal][:, [LEFT, RIGHT]].astype(np.int64)
        return cls(living_ids(tree), internal, branches)


def build_table(tree: Tree, of_nodes: NodeHeights) -> NodeTable:
    """Number the nodes of a tree that holds at least one point, by the heights of its nodes."""
    return number_nodes(tree, Skeleton.of(tree), of_nodes)


def number_nodes(tree: Tree, skeleton: Skeleton, of_nodes: NodeHeights | None = None) -> NodeTable:
    """Number some nodes of a tree; heights that are not given are found for these nodes alone."""
    ids = skeleton.ids
    raw, leaves, nodes, n_inner = _raw_merges(tree, skeleton)
    if of_nodes is None:
        distances, heights = measure_some(tree, nodes)
    else:
        distances, heights = (values[nodes] for values in of_nodes)
    n_points = len(ids)
    parents = parents_of(raw)
    by_id = by_smallest(parents, smallest_below(parents))
    order = arranged(raw, parents, by_id[np.argsort(heights[by_id], kind="stable")])

    number = np.arange(2 * n_points - 1)
    number[n_points + order] = np.arange(n_points, 2 * n_points - 1)
    children = np.sort(number[raw[order]], axis=1)
    sizes = np.ones(2 * n_points - 1, np.int64)
    add_sizes(children, sizes)
    table = NodeTable(
        children=children,
        parents=parents_of(children),
        distances=distances[order],
        heights=np.concatenate([np.zeros(n_points), heights[order]]),
        sizes=sizes,
        leaves=number[leaves],
        inner=order < n_inner,
        nodes=nodes[order],
        ids=ids,
        changes=int(tree.state[CHANGES]),
    )
    for array in vars(table).values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return table


def living_ids(tree: Tree) -> NDArray[np.int64]:
    """The ids of all points in the tree, in ascending order."""
    return np.flatnonzero(tree.ids[: int(tree.state[NEXT_ID]), LEAF] != NONE)


def are_living(tree: Tree, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each id is that of a point in the tree; any number may be asked for."""
    living: NDArray[np.bool_] = (ids >= 0) & (ids < int(tree.state[NEXT_ID]))
    living[living] = tree.ids[ids[living], LEAF] != NONE
    return living


def internal_nodes(tree: Tree) -> NDArray[np.int64]:
    """All nodes that have children."""
    boxes = box_node(np.arange(int(tree.state[BOX_ROWS])))
    internal: NDArray[np.int64] = boxes[tree.nodes[boxes, LEFT] != NONE]
    return internal


def _raw_merges(
    tree: Tree, skeleton: Skeleton
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Merges in no useful order: pairs; the leaf of each point; merges' nodes.

    The first ones, so many as the last result says, join points inside leaves.
    """
    ids, internal, branches = skeleton
    n_points = len(ids)
    leaf_of = tree.ids[ids, LEAF]
    points_in = np.bincount(leaf_of, minlength=len(tree.nodes))  # sorting would take far longer
    leaf_nodes = np.flatnonzero(points_in)
    counts = points_in[leaf_nodes]
    n_inner = n_points - len(leaf_nodes)
    merges = np.empty((n_points - 1, 2), np.int64)
    number = np.empty(len(tree.nodes), np.int64)  # of which only a part may be used
    if n_inner == 0:
        number[leaf_of] = np.arange(n_points)
    else:
        starts = np.concatenate([[0], np.cumsum(counts)])
        tops = np.empty(len(leaf_nodes), np.int64)
        join_groups(np.argsort(leaf_of, kind="stable"), starts, merges, tops)
        number[leaf_nodes] = tops
    number[internal] = n_points + n_inner + np.arange(len(internal))
    merges[n_inner:] = number[branches]

    holders = np.concatenate([np.repeat(leaf_nodes, counts - 1), internal]).astype(np.int64)
    return merges, number[leaf_of], holders, n_inner


def measure_nodes(tree: Tree) -> NodeHeights:
    """Distances and heights of the tree's own nodes.

    In a tree with a linkage a distance is the root mean squared distance between the points of one
    part and those of the other, and the height the largest of those from there down; in one
    without, both are the diagonal of the box.
    """
    if not has_moments(tree):
        diagonals = node_diagonals(tree)
        return NodeHeights(diagonals, diagonals)
    n_boxes = int(tree.state[BOX_ROWS])
    distances, heights = np.zeros((2, len(tree.nodes)))
    boxes = box_node(np.arange(n_boxes))
    distances[boxes] = np.sqrt(tree.moments[:n_boxes, SQUARE])
    heights[boxes] = np.sqrt(tree.moments[:n_boxes, HEIGHT])
    return NodeHeights(distances, heights)


def measure_some(tree: Tree, nodes: NDArray[np.int64]) -> NodeHeights:
    """Distances and heights of some nodes, as `measure_nodes` has them."""
    distances, heights = np.zeros((2, len(nodes)))
    boxes = ~is_point(nodes)
    rows = row_of(nodes[boxes])
    if has_moments(tree):
        distances[boxes] = np.sqrt(tree.moments[rows, SQUARE])
        heights[boxes] = np.sqrt(tree.moments[rows, HEIGHT])
    else:
        distances[boxes] = heights[boxes] = _diagonals(tree, nodes[boxes])
    return NodeHeights(distances, heights)


def node_diagonals(tree: Tree) -> NDArray[np.float64]:
    """The length of the diagonal of each node's box; 0 for a point."""
    boxes = box_node(np.arange(int(tree.state[BOX_ROWS])))
    used = boxes[tree.nodes[boxes, SIZE] > 0]
    lengths = np.zeros(len(tree.nodes))
    lengths[used] = _diagonals(tree, used)
    return lengths


def _diagonals(tree: Tree, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    squared, box = np.empty(len(nodes)), np.empty((2, tree.points.shape[1]), np.float32)
    measure_diagonals(tree, nodes.astype(np.int32), box, squared)
    return np.sqrt(squared)
