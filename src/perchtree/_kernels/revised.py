"""Leaves found in advance in collapsed mode, where leaves change with every insert."""

from .astar import astar
from .distances import min_to_box
from .found import copy_answer, offer_leaf
from .jit import kernel
from .schema import NODE, NONE, SIZE, Floats, Revised, Tree
from .walk import is_leaf


@kernel
def revise(tree: Tree, work: Revised, x: Floats) -> None:
    """Take the next answer and compare it with every leaf that has changed since.

    If the leaf itself has changed, another unchanged one may now be the best: search again.
    """
    row = work.cursor[0]
    work.cursor[0] = row + 1
    leaf = work.leaves[row, NODE]
    if leaf == NONE or not stands(tree, work, leaf):
        astar(tree, work.again, x)
        again = work.again.found
        copy_answer(again.distances, again.leaves, 0, work.found.distances, work.found.leaves, 0)
        return
    copy_answer(work.distances, work.leaves, row, work.found.distances, work.found.leaves, 0)
    for place in range(work.cursor[1]):
        other = work.changed[place]
        if tree.nodes[other, SIZE] > 0 and is_leaf(tree, other):
            offer_leaf(tree, work.found, x, other, min_to_box(tree, x, other))


@kernel
def stands(tree: Tree, work: Revised, leaf: int) -> bool:
    """Whether a leaf is what it was when the batch was searched."""
    if work.has_changed[leaf] or tree.nodes[leaf, SIZE] == 0:
        return False
    return is_leaf(tree, leaf)


@kernel
def record_leaves(work: Revised, new_leaf: int, collapsed: int) -> None:
    """Note the leaves that an insert has made or changed."""
    for leaf in (new_leaf, collapsed):
        if leaf != NONE and not work.has_changed[leaf]:
            work.has_changed[leaf] = True
            work.changed[work.cursor[1]] = leaf
            work.cursor[1] += 1
