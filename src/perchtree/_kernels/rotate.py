"""RotateRec (Algorithm 2): the walk towards the root that repairs the tree.

The authors' program continues past an unmasked leaf and stops at the first unmasked internal node;
balance is checked up to the root. See docs/how-it-works.md, "As published".
"""

from collections.abc import Callable

from .jit import kernel
from .links import rotate
from .schema import (
    BALANCE_CHECKS,
    BALANCE_ROTATIONS,
    MASKING_CHECKS,
    MASKING_ROTATIONS,
    PARENT,
    SIZE,
    Found,
    Queue,
    Tree,
    Upkeep,
)
from .walk import has_aunt, is_leaf, sibling_of

# Bound by `specialise`: (tree, node, sibling, aunt) -> whether the rule asks for a rotation.
Rule = Callable[[Tree, int, int, int], bool]
is_masked: Rule
improves_balance: Rule
may_overlap: Rule
# Bound as well: told of every node that has other children than before.
note_change: Callable[[Tree, Queue, int], None]
repair_masking: Callable[[Tree, Upkeep, int], None]
repair_balance: Callable[[Tree, Upkeep, int], None]


@kernel
def ignore_change(tree: Tree, queue: Queue, node: int) -> None:
    """Without collapsing, changes need not be noted."""


@kernel
def no_rotations(tree: Tree, upkeep: Upkeep, node: int) -> None:
    """The greedy algorithm of section 3.2."""


@kernel
def ignore_copy(tree: Tree, upkeep: Upkeep, leaf: int) -> None:
    """A copy of a point does not change any box."""


def repair_boxes(tree: Tree, upkeep: Upkeep, found: Found, new_leaf: int) -> None:
    """Both kinds of rotations, one after the other, from the new leaf's sibling upwards."""
    repair_masking(tree, upkeep, sibling_of(tree, new_leaf))
    repair_balance(tree, upkeep, sibling_of(tree, new_leaf))


def heal_boxes(tree: Tree, upkeep: Upkeep, moved_up: int, orphan: int) -> None:
    """After a removal: both kinds of rotations, from the node that has taken its parent's place
    upwards. (The paper does not remove points.)"""
    repair_masking(tree, upkeep, moved_up)
    repair_balance(tree, upkeep, moved_up)


def rotate_masked(tree: Tree, upkeep: Upkeep, node: int) -> None:
    """Masking rotations (section 3.3) from a node upwards."""
    while has_aunt(tree, node):
        parent = tree.nodes[node, PARENT]
        upkeep.done[MASKING_CHECKS] += 1
        if is_masked(tree, node, sibling_of(tree, node), sibling_of(tree, parent)):
            rotate(tree, node)
            note_change(tree, upkeep.queue, parent)
            upkeep.done[MASKING_ROTATIONS] += 1
        elif not is_leaf(tree, node):
            return
        node = parent


def rotate_balanced(tree: Tree, upkeep: Upkeep, node: int) -> None:
    """Balance rotations (section 4.1) from a node to the root.

    At each level the smaller of two siblings is tried first, then the other.
    """
    while has_aunt(tree, node):
        parent = tree.nodes[node, PARENT]
        aunt = sibling_of(tree, parent)
        sibling = sibling_of(tree, node)
        if tree.nodes[sibling, SIZE] < tree.nodes[node, SIZE]:
            node, sibling = sibling, node
        for _ in range(2):
            upkeep.done[BALANCE_CHECKS] += 1
            if improves_balance(tree, node, sibling, aunt) and may_overlap(
                tree, node, sibling, aunt
            ):
                rotate(tree, node)
                note_change(tree, upkeep.queue, parent)
                upkeep.done[BALANCE_ROTATIONS] += 1
                break
            node, sibling = sibling, node
        node = parent
