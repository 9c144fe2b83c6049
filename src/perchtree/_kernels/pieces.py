"""What clusters by height consist of where the tree has changed: whole subtrees, by the clusters
that they were in before."""

import math
from typing import NamedTuple

from .jit import entry_point, kernel
from .measure import measure_diagonal
from .moments import squared_height
from .schema import (
    FIRST,
    LAST,
    LEFT,
    NEXT,
    NONE,
    PREVIOUS,
    ROOT,
    SIZE,
    TOUCHED,
    Counts,
    Floats,
    Ints,
    Tree,
)
from .walk import first_leaf, is_leaf, is_point, next_leaf, skip_subtree


class Pieces(NamedTuple):
    """Parts of clusters: points below a node that were in the same cluster before.

    - `places`: int32 (pieces, 2), the node of the cluster as it is now, and the node whose points
      these are;
    - `counts`: int64 (pieces, 2), the number of the cluster that they were in (NONE for points
      that are new), and how many they are.
    """

    places: Ints
    counts: Counts


class Before(NamedTuple):
    """The clustering as it was.

    - `labels`: int64 (ids,), the number of each point's cluster; NONE for points that are new;
    - `sizes`: int64, how many points each number had;
    - `seen`: int64 (1,), the tree's counter of changes then, as far as TOUCHED has it;
    - `box`: float32 (2, d), working memory for one of the tree's boxes.
    """

    labels: Counts
    sizes: Counts
    seen: Counts
    box: Floats


@kernel
def is_higher(tree: Tree, node: int, distance: float, box: Floats) -> bool:
    """Whether a node is too high for a cluster; a leaf never is."""
    if is_leaf(tree, node):
        return False
    has_moments = tree.moments.shape[0] > 0
    squared = squared_height(tree, node) if has_moments else measure_diagonal(tree, node, box)
    return math.sqrt(squared) > distance


@kernel
def is_touched(tree: Tree, node: int, before: Before) -> bool:
    """Whether an internal node may have changed."""
    return bool(not is_leaf(tree, node) and tree.nodes[node, TOUCHED] > before.seen[0])


@kernel
def add_piece(pieces: Pieces, count: int, top: int, node: int, label: int, size: int) -> int:
    """Note a piece, if there is room for it; how many there are."""
    if count < pieces.places.shape[0]:
        pieces.places[count, 0] = top
        pieces.places[count, 1] = node
        pieces.counts[count, 0] = label
        pieces.counts[count, 1] = size
    return count + 1


@kernel
def split_leaf(tree: Tree, before: Before, pieces: Pieces, count: int, top: int, leaf: int) -> int:
    """The pieces of a leaf, in which copies may be new; a collapsed one may join several."""
    labels = before.labels
    if not is_point(leaf):
        point_id = tree.nodes[leaf, FIRST]
        while point_id != NONE:
            label, size = labels[point_id], 0
            while point_id != NONE and labels[point_id] == label:
                size += 1
                point_id = tree.ids[point_id, NEXT]
            count = add_piece(pieces, count, top, leaf, label, size)
        return count
    n_new, point_id = 0, tree.nodes[leaf, LAST]
    while point_id != NONE and labels[point_id] == NONE:  # those that came last
        n_new += 1
        point_id = tree.ids[point_id, PREVIOUS]
    if n_new > 0:
        count = add_piece(pieces, count, top, leaf, NONE, n_new)
    if point_id != NONE:
        size = tree.nodes[leaf, SIZE] - n_new
        count = add_piece(pieces, count, top, leaf, labels[point_id], size)
    return count


@kernel
def split_cluster(tree: Tree, before: Before, pieces: Pieces, count: int, top: int) -> int:
    """The pieces of a cluster: a subtree without changes is where it was, as a whole."""
    node = top
    while node != NONE:
        if is_touched(tree, node, before):
            node = tree.nodes[node, LEFT]
            continue
        if is_leaf(tree, node):
            count = split_leaf(tree, before, pieces, count, top, node)
        else:
            first = tree.nodes[first_leaf(tree, node), FIRST]
            size = tree.nodes[node, SIZE]
            count = add_piece(pieces, count, top, node, before.labels[first], size)
        node = skip_subtree(tree, node, top)
    return count


@kernel
def is_as_before(tree: Tree, before: Before, pieces: Pieces, start: int, stop: int) -> bool:
    """Whether these pieces of a cluster are all of one that was there before."""
    label, size = pieces.counts[start, 0], 0
    for place in range(start, stop):
        if pieces.counts[place, 0] != label:
            return False
        size += pieces.counts[place, 1]
    return bool(label != NONE and before.sizes[label] == size)


@entry_point
def find_pieces(tree: Tree, distance: float, before: Before, pieces: Pieces) -> int:
    """The pieces of all clusters that are not as they were; how many there are.

    If that is more than there is room for, call it again with more room.
    """
    root, count = tree.state[ROOT], 0
    node = root
    while node != NONE:
        if not is_higher(tree, node, distance, before.box):
            start = count
            count = split_cluster(tree, before, pieces, count, node)
            fits = count <= pieces.places.shape[0]
            if fits and is_as_before(tree, before, pieces, start, count):
                count = start
        elif is_touched(tree, node, before):
            node = tree.nodes[node, LEFT]
            continue
        node = skip_subtree(tree, node, root)
    return count


@entry_point
def relabel(
    tree: Tree, nodes: Counts, was: Counts, now: Counts, labels: Counts, moved: Counts
) -> int:
    """Give the points of pieces another number; how many points those are.

    `moved` (points, 2) gets their ids, and the piece that each was in.
    """
    count = 0
    for piece in range(nodes.shape[0]):
        leaf = first_leaf(tree, nodes[piece])
        while leaf != NONE:
            point_id = tree.nodes[leaf, FIRST]
            while point_id != NONE:
                if labels[point_id] == was[piece]:
                    labels[point_id] = now[piece]
                    moved[count, 0] = point_id
                    moved[count, 1] = piece
                    count += 1
                point_id = tree.ids[point_id, NEXT]
            leaf = next_leaf(tree, leaf, nodes[piece])
    return count


@entry_point
def list_ids(tree: Tree, top: int, ids: Counts) -> int:
    """The ids below a node, in the order of its leaves, as far as there is room; how many."""
    count, leaf = 0, first_leaf(tree, top)
    while leaf != NONE:
        point_id = tree.nodes[leaf, FIRST]
        while point_id != NONE and count < ids.shape[0]:
            ids[count] = point_id
            count += 1
            point_id = tree.ids[point_id, NEXT]
        if count == ids.shape[0]:
            return count
        leaf = next_leaf(tree, leaf, top)
    return count
