"""Leaves found in advance in collapsed mode, where leaves change with every insert."""

from .boxscan import scan_leaves
from .distances import INFINITY, min_to_box
from .found import belongs_before, clear, copy_answer, offer_answer, offer_leaf
from .jit import kernel
from .schema import BY_ID, FAR, NEAR, NODE, NONE, SIZE, Floats, Revised, Tree
from .walk import is_leaf


@kernel
def revise(tree: Tree, work: Revised, x: Floats) -> None:
    """Take the next answers that are still valid, and compare them with the leaves that have
    changed.

    More answers than are asked for were found. No other unchanged leaf comes before the last of
    them; if the answers now go beyond it, one may belong between them: search again.
    """
    row = work.cursor[0]
    work.cursor[0] = row + 1
    clear(work.found, INFINITY)
    for rank in range(work.leaves.shape[1]):
        leaf = work.leaves[row, rank, NODE]
        if leaf != NONE and stands(tree, work, leaf):
            near, far = work.distances[row, rank, NEAR], work.distances[row, rank, FAR]
            offer_answer(work.found, near, far, work.leaves[row, rank, BY_ID], leaf)
    for place in range(work.cursor[1]):
        leaf = work.changed[place]
        if tree.nodes[leaf, SIZE] > 0 and is_leaf(tree, leaf):
            offer_leaf(tree, work.found, x, leaf, min_to_box(tree, x, leaf))
    if not are_certain(work, row):
        scan_leaves(tree, work.again, x)
        again = work.again.found
        for rank in range(again.leaves.shape[0]):
            copy_answer(
                again.distances, again.leaves, rank, work.found.distances, work.found.leaves, rank
            )


@kernel
def stands(tree: Tree, work: Revised, leaf: int) -> bool:
    """Whether a leaf is what it was when the batch was searched."""
    if work.has_changed[leaf] or tree.nodes[leaf, SIZE] == 0:
        return False
    return is_leaf(tree, leaf)


@kernel
def are_certain(work: Revised, row: int) -> bool:
    """Whether no leaf that was not found for this row could be among its answers."""
    last, kept = work.found.leaves.shape[0] - 1, work.leaves.shape[1] - 1
    if work.leaves[row, kept, NODE] == NONE:  # every leaf there was is among those found
        return True
    if work.found.leaves[last, NODE] == NONE:
        return False
    near, far = work.distances[row, kept, NEAR], work.distances[row, kept, FAR]
    return not belongs_before(work.found, last, near, far, work.leaves[row, kept, BY_ID])


@kernel
def record_leaves(work: Revised, new_leaf: int, collapsed: int) -> None:
    """Note the leaves that an insert has made or changed."""
    for leaf in (new_leaf, collapsed):
        if leaf != NONE and not work.has_changed[leaf]:
            work.has_changed[leaf] = True
            work.changed[work.cursor[1]] = leaf
            work.cursor[1] += 1
