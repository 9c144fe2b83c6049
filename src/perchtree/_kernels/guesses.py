"""Neighbours guessed from the nearest parts of the tree: with them a scan has tight bounds at once.

Points that are close to each other are mostly close in the tree. A guess never decides anything:
distances are those of the points themselves, and the scan that follows finds whatever is nearer.
"""

from typing import NamedTuple

from .distances import INFINITY, point_distance
from .jit import entry_point, kernel
from .order import offer_point, precedes
from .schema import NONE, ROOT, SIZE, Floats, Ints, Tree
from .walk import is_leaf, is_point, next_node, row_of, skip_subtree


class Parts(NamedTuple):
    """Points by part of the tree, as coordinates that are quick to compare.

    - `centres`: float32 (parts, w), the mean of each part's coordinates;
    - `starts`: int32 (parts + 1,), where each part begins in
    - `heads`: float32 (n, w), coordinates of points, part after part;
    - `rows`: int32 (n,), their rows in the tree's `points`.
    """

    centres: Floats
    starts: Ints
    heads: Floats
    rows: Ints


class Shortlist(NamedTuple):
    """The best few so far, best first: float32 distances and int32 items, NONE where fewer."""

    near: Floats
    items: Ints


@entry_point
def divide(tree: Tree, largest: int, rows: Ints, starts: Ints) -> int:
    """Divide the points among the largest nodes of at most `largest` points; how many these are."""
    root = tree.state[ROOT]
    node, n_parts, count = root, 0, 0
    while node != NONE:
        if tree.nodes[node, SIZE] > largest and not is_leaf(tree, node):
            node = next_node(tree, node, root)
            continue
        starts[n_parts] = count
        below = node
        while below != NONE:
            if is_point(below):
                rows[count] = row_of(below)
                count += 1
            below = next_node(tree, below, node)
        n_parts += 1
        node = skip_subtree(tree, node, root)
    starts[n_parts] = count
    return n_parts


@kernel
def clear_list(best: Shortlist) -> None:
    for place in range(best.items.shape[0]):
        best.near[place] = INFINITY
        best.items[place] = NONE


@kernel
def offer_item(near: Floats, items: Ints, distance: float, item: int) -> None:
    """Take an item among the best, if it belongs there."""
    last = items.shape[0] - 1
    if precedes(distance, distance, item, near[last], near[last], items[last]):
        offer_point(near, items, distance, item)


@entry_point
def guess_neighbours(
    parts: Parts,
    queries: Floats,
    rows: Floats,
    points: Floats,
    ids: Ints,
    near: Floats,
    neighbours: Ints,
    nearest_parts: Shortlist,
    candidates: Shortlist,
) -> None:
    """Improve the neighbours (rows, k) of some rows by points of the parts nearest to them.

    `queries` are the rows' coordinates, `ids` the ids that rows of `points` have by now.
    """
    for row in range(rows.shape[0]):
        clear_list(nearest_parts)
        clear_list(candidates)
        for part in range(parts.centres.shape[0]):
            distance = point_distance(queries[row], parts.centres[part])
            offer_item(nearest_parts.near, nearest_parts.items, distance, part)
        for rank in range(nearest_parts.items.shape[0]):
            part = nearest_parts.items[rank]
            if part == NONE:
                break
            for place in range(parts.starts[part], parts.starts[part + 1]):
                distance = point_distance(queries[row], parts.heads[place])
                offer_item(candidates.near, candidates.items, distance, place)
        for rank in range(candidates.items.shape[0]):
            if candidates.items[rank] == NONE:
                break
            place = parts.rows[candidates.items[rank]]
            if ids[place] != NONE:
                distance = point_distance(rows[row], points[place])
                offer_item(near[row], neighbours[row], distance, ids[place])
