"""Collapsed mode: section 4.2. A bound on the number of leaves, and so on memory."""

from collections.abc import Callable

import numpy as np

from .heap import pop, push, sort_key
from .jit import kernel
from .links import free_node, replace_child, touch_up
from .moments import fit_heights_up, fit_leaf
from .schema import (
    COLLAPSES,
    FEATURES,
    FIRST,
    LAST,
    LEAF,
    LEFT,
    MAX_LEAVES,
    N_LEAVES,
    NEXT,
    NONE,
    PARENT,
    PREVIOUS,
    RIGHT,
    ROOT,
    SIZE,
    Counts,
    Queue,
    Tree,
    Upkeep,
)
from .walk import is_leaf, is_point, next_node, row_of

# Bound by `specialise`: the tree's own d+ between two siblings, or their linkage.
farthest: Callable[[Tree, int, int], np.float32]


@kernel
def move_ids(tree: Tree, leaf: int, to: int) -> None:
    """Note for every id in a leaf's list that another leaf now holds it."""
    point_id = tree.nodes[leaf, FIRST]
    while point_id != NONE:
        tree.ids[point_id, LEAF] = to
        point_id = tree.ids[point_id, NEXT]


@kernel
def copy_box(tree: Tree, source: int, target: int) -> None:
    """Give a node the box of another, with all that is known of the points in it."""
    old, new = tree.nodes[source, FEATURES], tree.nodes[target, FEATURES]
    for j in range(tree.boxes.shape[2]):
        tree.boxes[new, 0, j] = tree.boxes[old, 0, j]
        tree.boxes[new, 1, j] = tree.boxes[old, 1, j]
    if tree.moments.shape[0] > 0:
        for j in range(tree.means.shape[1]):
            tree.means[new, j] = tree.means[old, j]
        old, new = row_of(source), row_of(target)
        for part in range(tree.moments.shape[1]):
            tree.moments[new, part] = tree.moments[old, part]


@kernel
def collapse(tree: Tree, node: int) -> int:
    """Collapse: the two leaves below `node` become one, with its box; the leaf that stays.

    Ids are kept, the rows of features are freed. The larger leaf stays if it has a box, so that
    only the ids of the smaller one are moved: an id is moved at most log2(N) times.
    """
    larger, smaller = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    if tree.nodes[larger, SIZE] < tree.nodes[smaller, SIZE]:
        larger, smaller = smaller, larger
    stays = node if is_point(larger) else larger
    move_ids(tree, smaller, stays)
    if stays == node:
        move_ids(tree, larger, stays)
    else:
        copy_box(tree, node, larger)
        replace_child(tree, tree.nodes[node, PARENT], node, larger)

    early, late = larger, smaller
    if tree.nodes[early, FIRST] > tree.nodes[late, FIRST]:
        early, late = late, early
    first, last = tree.nodes[early, FIRST], tree.nodes[late, LAST]
    tree.ids[tree.nodes[early, LAST], NEXT] = tree.nodes[late, FIRST]
    tree.ids[tree.nodes[late, FIRST], PREVIOUS] = tree.nodes[early, LAST]
    size = tree.nodes[node, SIZE]

    free_node(tree, smaller)
    free_node(tree, larger if stays == node else node)
    tree.nodes[stays, LEFT] = NONE
    tree.nodes[stays, RIGHT] = NONE
    tree.nodes[stays, SIZE] = size
    tree.nodes[stays, FIRST] = first
    tree.nodes[stays, LAST] = last
    tree.state[N_LEAVES] -= 1
    above = tree.nodes[stays, PARENT]
    touch_up(tree, above)
    if tree.moments.shape[0] > 0:
        fit_leaf(tree, stays)
        fit_heights_up(tree, above)
    return stays


@kernel
def is_collapsible(tree: Tree, node: int) -> bool:
    """Whether `node` is an internal node whose children are both leaves."""
    if node == NONE or is_leaf(tree, node):
        return False
    return is_leaf(tree, tree.nodes[node, LEFT]) and is_leaf(tree, tree.nodes[node, RIGHT])


def collapse_key(tree: Tree, node: int) -> int:
    """What the queue goes by: d+ between the children, then the smallest id below."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    first = min(tree.nodes[left, FIRST], tree.nodes[right, FIRST])
    return sort_key(farthest(tree, left, right), first)


def find_keys(tree: Tree, nodes: Counts, keys: Counts) -> None:
    """The keys that collapsible nodes should be queued under."""
    for place in range(nodes.shape[0]):
        keys[place] = collapse_key(tree, nodes[place])


def note_change(tree: Tree, queue: Queue, node: int) -> None:
    """Queue a node that has become collapsible. A full queue is discarded, to be rebuilt."""
    count = queue.count[0]
    if count == NONE or not is_collapsible(tree, node):
        return
    if count == queue.nodes.shape[0]:
        queue.count[0] = NONE
        return
    queue.count[0] = push(queue.keys, queue.nodes, count, collapse_key(tree, node), node)


def fill_queue(tree: Tree, queue: Queue) -> None:
    """Queue every collapsible node."""
    queue.count[0] = 0
    root = tree.state[ROOT]
    node = root
    while node != NONE:
        note_change(tree, queue, node)
        node = next_node(tree, node, root)


def collapse_surplus(tree: Tree, upkeep: Upkeep) -> int:
    """TryCollapse of Algorithm 1: if there is one leaf too many, collapse the closest pair.

    An entry of the queue holds if its node is still collapsible and still has that key, or if the
    queue was only just made; otherwise the node has changed, and whatever it is now was queued
    in its turn. The leaf that was made is returned, or NONE: an insert adds one leaf at most,
    so there is only one.
    """
    leaf, queue = NONE, upkeep.queue
    while tree.state[N_LEAVES] > tree.state[MAX_LEAVES]:
        is_fresh = queue.count[0] <= 0
        if is_fresh:
            fill_queue(tree, queue)
        key, node = queue.keys[0], queue.nodes[0]
        queue.count[0] = pop(queue.keys, queue.nodes, queue.count[0])
        if is_fresh or (is_collapsible(tree, node) and collapse_key(tree, node) == key):
            leaf = collapse(tree, node)
            upkeep.done[COLLAPSES] += 1
            note_change(tree, queue, tree.nodes[leaf, PARENT])
    return leaf
