"""Removing points by their ids: Insert (Algorithm 1) undone, and the tree repaired around it."""

from collections.abc import Callable

from .features import resize
from .jit import kernel
from .links import splice, touch
from .moments import fit_leaf
from .schema import (
    CHANGES,
    FIRST,
    LAST,
    LEAF,
    N_POINTS,
    NEXT,
    NONE,
    PARENT,
    PREVIOUS,
    SCATTER,
    SIZE,
    Bools,
    Counts,
    Queue,
    Tree,
    Upkeep,
)
from .walk import is_point, row_of

# Bound by `specialise`.
settle_copy: Callable[[Tree, Upkeep, int], None]
heal: Callable[[Tree, Upkeep, int, int], None]
find_orphan: Callable[[Tree, int], int]
leave_lists: Callable[[Tree, int], None]
note_change: Callable[[Tree, Queue, int], None]


def remove_ids(tree: Tree, upkeep: Upkeep, ids: Counts, is_sorted: Bools) -> None:
    """Remove points in the order given; all of them must be in the tree.

    `is_sorted` is working memory, False for every node at the beginning; without collapsed
    leaves it is not used.
    """
    for place in range(ids.shape[0]):
        point_id = ids[place]
        leaf = tree.ids[point_id, LEAF]
        was_first = tree.nodes[leaf, FIRST] == point_id
        if was_first and not is_point(leaf) and not is_sorted[leaf]:
            sort_ids(tree, leaf)
            is_sorted[leaf] = True
        take_out(tree, point_id)
        if tree.nodes[leaf, FIRST] != NONE:
            thin_leaf(tree, leaf)
            settle_copy(tree, upkeep, leaf)
            if was_first:  # by which collapsing breaks ties
                note_change(tree, upkeep.queue, tree.nodes[leaf, PARENT])
            continue
        leave_lists(tree, leaf)
        orphan = NONE if tree.nodes[leaf, PARENT] == NONE else find_orphan(tree, leaf)
        moved_up = splice(tree, leaf)
        if moved_up != NONE:
            parent = tree.nodes[moved_up, PARENT]
            heal(tree, upkeep, moved_up, orphan)
            note_change(tree, upkeep.queue, parent)


@kernel
def take_out(tree: Tree, point_id: int) -> None:
    """Take an id out of its leaf's list; nothing else of the leaf changes."""
    leaf = tree.ids[point_id, LEAF]
    before, after = tree.ids[point_id, PREVIOUS], tree.ids[point_id, NEXT]
    if before == NONE:
        tree.nodes[leaf, FIRST] = after
    else:
        tree.ids[before, NEXT] = after
    if after == NONE:
        tree.nodes[leaf, LAST] = before
    else:
        tree.ids[after, PREVIOUS] = before
    for column in (LEAF, NEXT, PREVIOUS):
        tree.ids[point_id, column] = NONE
    tree.state[N_POINTS] -= 1
    tree.state[CHANGES] += 1


@kernel
def thin_leaf(tree: Tree, leaf: int) -> None:
    """Count one point less in a leaf that has others, and above it.

    The position of a point in a collapsed leaf is not known. If it could have been any of the n,
    the expected mean of the others is the mean of all, and the expected scatter (n - 2) / (n - 1)
    of it: their sample variance stays, and a single point has none. The box stays as it was.
    """
    if not is_point(leaf) and tree.moments.shape[0] > 0:
        size = tree.nodes[leaf, SIZE]
        tree.moments[row_of(leaf), SCATTER] *= (size - 2) / (size - 1)
    tree.nodes[leaf, SIZE] -= 1
    if not is_point(leaf) and tree.moments.shape[0] > 0:
        fit_leaf(tree, leaf)
    node = tree.nodes[leaf, PARENT]
    while node != NONE:
        resize(tree, node, tree.nodes[node, SIZE] - 1)
        touch(tree, node)
        node = tree.nodes[node, PARENT]


@kernel
def sort_ids(tree: Tree, leaf: int) -> None:
    """Sort a collapsed leaf's list of ids in ascending order.

    A merge sort of ever longer runs, by links alone: O(n log n) in no memory. (A list that was
    joined from others begins with its smallest id, but the rest is in no order.)
    """
    run = 1
    while True:
        n_merges, rest, last = 0, tree.nodes[leaf, FIRST], NONE
        while rest != NONE:
            n_merges += 1
            left, n_left = rest, 0
            while n_left < run and rest != NONE:
                n_left += 1
                rest = tree.ids[rest, NEXT]
            n_right = run
            while n_left > 0 or (n_right > 0 and rest != NONE):
                if n_left > 0 and (n_right == 0 or rest == NONE or left < rest):
                    smallest, left, n_left = left, tree.ids[left, NEXT], n_left - 1
                else:
                    smallest, rest, n_right = rest, tree.ids[rest, NEXT], n_right - 1
                tree.ids[smallest, PREVIOUS] = last
                if last == NONE:
                    tree.nodes[leaf, FIRST] = smallest
                else:
                    tree.ids[last, NEXT] = smallest
                last = smallest
        tree.ids[last, NEXT] = NONE
        tree.nodes[leaf, LAST] = last
        if n_merges <= 1:
            return
        run *= 2
