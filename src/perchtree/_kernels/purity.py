"""Dendrogram purity, exactly: sparse class counts merged small into large along heavy paths."""

from typing import NamedTuple

import numpy as np

from .jit import entry_point, kernel
from .schema import NONE, Counts, Doubles


class Forest(NamedTuple):
    """A rooted tree in which a node may have any number of children. All int64.

    Points that are left out are in nobody's list of children.

    - `parents`: the node above each node; NONE at the root. Points come first.
    - `starts`, `children`: the children of node v are `children[starts[v]:starts[v + 1]]`.
    - `order`: all nodes, parents before children.
    - `sizes`: points below each node.
    - `offsets`: where the points below each node begin in `points`.
    - `points`: the points, those below any node side by side.
    - `heavy`: the child of each node with the most points; NONE without children.
    """

    parents: Counts
    starts: Counts
    children: Counts
    order: Counts
    sizes: Counts
    offsets: Counts
    points: Counts
    heavy: Counts


@entry_point
def lay_out(forest: Forest, root: int, n_points: int) -> int:
    """Fill all but the links; the number of nodes reached. `sizes` is 0, `heavy` NONE before."""
    order = forest.order
    order[0] = root
    reached = 1
    visited = 0
    while visited < reached:
        node = order[visited]
        visited += 1
        for place in range(forest.starts[node], forest.starts[node + 1]):
            order[reached] = forest.children[place]
            reached += 1
    for place in range(reached - 1, -1, -1):
        node = order[place]
        if node < n_points:
            forest.sizes[node] += 1
        above = forest.parents[node]
        if above != NONE:
            forest.sizes[above] += forest.sizes[node]
            heaviest = forest.heavy[above]
            if heaviest == NONE or forest.sizes[node] > forest.sizes[heaviest]:
                forest.heavy[above] = node
    forest.offsets[root] = 0
    for place in range(reached):
        node = order[place]
        offset = forest.offsets[node]
        if node < n_points:
            forest.points[offset] = node
            offset += 1
        for child_place in range(forest.starts[node], forest.starts[node + 1]):
            child = forest.children[child_place]
            forest.offsets[child] = offset
            offset += forest.sizes[child]
    return reached


@kernel
def add_child(forest: Forest, labels: Counts, tallies: Counts, child: int) -> None:
    """Add a light child's classes; note how many pairs of each class meet because of it.

    Columns of `tallies`, one row per class: points so far, points of this child, pairs met here.
    """
    first = forest.offsets[child]
    last = first + forest.sizes[child]
    for place in range(first, last):
        tallies[labels[forest.points[place]], 1] += 1
    for place in range(first, last):
        label = labels[forest.points[place]]
        tallies[label, 2] += tallies[label, 0] * tallies[label, 1]
        tallies[label, 0] += tallies[label, 1]
        tallies[label, 1] = 0


@kernel
def meet_at(forest: Forest, labels: Counts, tallies: Counts, node: int, heavy: int) -> float:
    """Add all children but the heavy one; the summed purity of the pairs that meet at `node`."""
    for place in range(forest.starts[node], forest.starts[node + 1]):
        child = forest.children[place]
        if child != heavy:
            add_child(forest, labels, tallies, child)
    purity = 0.0
    for place in range(forest.starts[node], forest.starts[node + 1]):
        child = forest.children[place]
        if child != heavy:
            first = forest.offsets[child]
            for position in range(first, first + forest.sizes[child]):
                label = labels[forest.points[position]]
                if tallies[label, 2] > 0:
                    purity += np.float64(tallies[label, 2]) * tallies[label, 0]
                    tallies[label, 2] = 0
    return purity / forest.sizes[node]


@entry_point
def sum_purity(forest: Forest, labels: Counts, tallies: Counts, total: Doubles) -> None:
    """Sum the purity of the meeting node over all pairs of one class, into `total[0]`.

    A heavy path is followed from its lowest node up, its counts kept; light children are counted
    again. Each point is in at most log2(N) light children: O(N log N).
    """
    for top_place in range(forest.order.shape[0]):
        top = forest.order[top_place]
        above = forest.parents[top]
        if forest.sizes[top] == 0 or (above != NONE and forest.heavy[above] == top):
            continue
        heavy = top
        while forest.heavy[heavy] != NONE:
            heavy = forest.heavy[heavy]
        tallies[labels[heavy], 0] += 1
        while heavy != top:
            node = forest.parents[heavy]
            total[0] += meet_at(forest, labels, tallies, node, heavy)
            heavy = node
        first = forest.offsets[top]
        for place in range(first, first + forest.sizes[top]):
            tallies[labels[forest.points[place]], 0] = 0


@kernel
def count_below(sorted_keys: Counts, key: int) -> int:
    """How many entries of a sorted array are below `key`."""
    low, high = 0, sorted_keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if sorted_keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@entry_point
def sample_purity(
    forest: Forest, pairs: Counts, places: Counts, labels: Counts, keys: Counts, values: Doubles
) -> None:
    """The purity of the node where each pair meets.

    `places` inverts `forest.points`; `keys` are the points' places plus label x number of
    points, sorted: those of one class below a node are side by side.
    """
    n_points = places.shape[0]
    for pair in range(pairs.shape[0]):
        node, other = pairs[pair, 0], places[pairs[pair, 1]]
        base = labels[node] * n_points
        while not forest.offsets[node] <= other < forest.offsets[node] + forest.sizes[node]:
            node = forest.parents[node]
        first = base + forest.offsets[node]
        of_class = count_below(keys, first + forest.sizes[node]) - count_below(keys, first)
        values[pair] = of_class / forest.sizes[node]
