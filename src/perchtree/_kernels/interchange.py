"""Rotations by linkage: nearest-neighbour interchanges on the path to the root, and grafts.

Where three subtrees meet, the two with the smallest linkage belong together. Interchanges only
consider nodes that are close in the tree; grafts bring together nodes whose points are close, as in
GRINCH (Monath et al., KDD 2019).
"""

from collections.abc import Callable

from .jit import kernel
from .moments import CLOSER, fit_heights_up, prefetch_mean, stored_linkage
from .nearby import find_nearby
from .prefetch import prefetch
from .schema import (
    GRAFTS,
    INTERCHANGES,
    LEFT,
    LINKAGE_CHECKS,
    NODE,
    NONE,
    PARENT,
    RIGHT,
    Found,
    Ints,
    Queue,
    Tree,
    Upkeep,
)
from .walk import is_leaf, lowest_common, sibling_of

# Bound by `specialise`.
closer_child: Callable[[Tree, int, int, int, float], int]
is_closer: Callable[[Tree, int, int, int, int, float], bool]
linkage_of_union: Callable[[Tree, int, int, int], float]
fit_moments: Callable[[Tree, int], None]
fit_moments_up: Callable[[Tree, int, int], None]
turn: Callable[[Tree, int], None]
"""`links.rotate`, and what else a mode has to keep."""
move: Callable[[Tree, int, int, int], None]
"""`links.graft`, likewise."""
meet_found: Callable[[Tree, Found, int], None]
note_change: Callable[[Tree, Queue, int], None]
# So are, to compiled versions of themselves, the functions below where one calls another.

TO_THE_ROOT = 2**30
"""A patience that never ends."""

PATIENCE = 3
"""After a graft, so many levels without an interchange end the repair of each broken place."""

MOST_GRAFTS = 8
"""Grafts that one point may cause: this bounds the cost of an insert."""

WORTH_A_GRAFT = 0.9799
"""The same for grafts: with less to gain there were three times as many and no purer trees."""


def interchange_once(tree: Tree, upkeep: Upkeep, node: int) -> bool:
    """Of the children of `node` and its sibling, make the closest two siblings; whether that
    changed anything."""
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    aunt = sibling_of(tree, node)
    enough = CLOSER * stored_linkage(tree, node)
    closer = closer_child(tree, left, right, aunt, enough)
    upkeep.done[LINKAGE_CHECKS] += 2
    if closer == NONE:
        return False
    turn(tree, closer)
    fit_moments(tree, node)
    note_change(tree, upkeep.queue, node)
    upkeep.done[INTERCHANGES] += 1
    return True


@kernel
def prefetch_above(tree: Tree, node: int) -> None:
    """Fetch what the next step towards the root will read: the parent's mean, and its sibling's;
    and of the step after that, the links that tell where means are."""
    parent = tree.nodes[node, PARENT]
    prefetch_mean(tree, parent)
    above = tree.nodes[parent, PARENT]
    if above == NONE:
        return
    prefetch_mean(tree, sibling_of(tree, parent))
    if tree.nodes[above, PARENT] != NONE:
        prefetch(tree.nodes, sibling_of(tree, above))


def interchange_up(tree: Tree, upkeep: Upkeep, node: int, patience: int) -> None:
    """Interchange at `node` and its ancestors, whose moments are updated on the way.

    It ends at the root, or after `patience` levels without an interchange: then only heights may
    still have to change.
    """
    quiet = 0
    while node != NONE and quiet < patience:
        if tree.nodes[node, PARENT] == NONE:
            fit_moments(tree, node)
            return
        prefetch_above(tree, node)
        fit_moments(tree, node)
        quiet = 0 if interchange_once(tree, upkeep, node) else quiet + 1
        node = tree.nodes[node, PARENT]
    fit_heights_up(tree, node)


def join(tree: Tree, upkeep: Upkeep, a: int, b: int, top: int) -> tuple[int, int]:
    """Graft two nodes together, `top` being the lowest above both.

    Returns their parent, and the sibling that one of them has left behind.

    They meet beside `a` or beside `b`, wherever their union is closer to what is there. Both places
    that have changed are repaired.
    """
    mover, stays = b, a
    if tree.nodes[b, PARENT] == top:
        mover, stays = a, b
    elif tree.nodes[a, PARENT] != top:
        at_a = linkage_of_union(tree, a, b, sibling_of(tree, a))
        upkeep.done[LINKAGE_CHECKS] += 2
        if linkage_of_union(tree, a, b, sibling_of(tree, b)) < CLOSER * at_a:
            mover, stays = a, b
    left_behind = sibling_of(tree, mover)
    move(tree, mover, stays, top)
    place, parent = tree.nodes[left_behind, PARENT], tree.nodes[mover, PARENT]
    fit_moments_up(tree, place, top)
    fit_moments_up(tree, parent, top)
    fit_heights_up(tree, tree.nodes[top, PARENT])
    note_change(tree, upkeep.queue, place)
    note_change(tree, upkeep.queue, parent)
    interchange_up(tree, upkeep, place, PATIENCE)
    interchange_up(tree, upkeep, parent, PATIENCE)
    upkeep.done[GRAFTS] += 1
    return parent, left_behind


def graft_along(tree: Tree, upkeep: Upkeep, leaf: int, neighbour: int, most: int) -> int:
    """Look for grafts on the paths from two leaves to where they meet; how many were made.

    The paths are climbed in step, by the linkages that their nodes have with their siblings: so two
    nodes are compared if both would exist at the same time in agglomerative clustering. They
    are grafted if they are closer to each other than each is to its sibling.
    """
    made = 0
    a, b = leaf, neighbour
    top = lowest_common(tree, a, b)
    while made < most and top != a and top != b:
        above_a, above_b = tree.nodes[a, PARENT], tree.nodes[b, PARENT]
        if above_a == top and above_b == top:
            break
        own_a, own_b = stored_linkage(tree, above_a), stored_linkage(tree, above_b)
        upkeep.done[LINKAGE_CHECKS] += 1
        if is_closer(tree, leaf, a, b, top, WORTH_A_GRAFT * min(own_a, own_b)):
            a, b = join(tree, upkeep, a, b, top)
            top = lowest_common(tree, a, b)
            made += 1
        elif above_b == top or (above_a != top and CLOSER * own_a <= own_b):
            a = above_a
        else:
            b = above_b
    return made


def repair_linkage(tree: Tree, upkeep: Upkeep, found: Found, new_leaf: int) -> None:
    """Interchange on the whole path from a new leaf to the root."""
    meet_found(tree, found, new_leaf)
    interchange_up(tree, upkeep, tree.nodes[new_leaf, PARENT], TO_THE_ROOT)


def repair_and_graft(tree: Tree, upkeep: Upkeep, found: Found, new_leaf: int) -> None:
    """Interchange up to the root, then look for grafts to the new leaf's nearest neighbours."""
    repair_linkage(tree, upkeep, found, new_leaf)
    made = 0
    for rank in range(min(found.leaves.shape[0], upkeep.nearby.leaves.shape[0])):
        neighbour = found.leaves[rank, NODE]
        if neighbour != NONE:
            made += graft_along(tree, upkeep, new_leaf, neighbour, MOST_GRAFTS - made)


def heal_linkage(tree: Tree, upkeep: Upkeep, moved_up: int, orphan: int) -> None:
    """After a removal: interchange around the node that has taken its parent's place, then on the
    path to the root."""
    parent = tree.nodes[moved_up, PARENT]
    if parent == NONE:
        return
    if not is_leaf(tree, moved_up):
        interchange_once(tree, upkeep, moved_up)
    other = sibling_of(tree, moved_up)
    if not is_leaf(tree, other):
        interchange_once(tree, upkeep, other)
    interchange_up(tree, upkeep, parent, TO_THE_ROOT)


def heal_and_graft(tree: Tree, upkeep: Upkeep, moved_up: int, orphan: int) -> None:
    """After a removal: interchange, then look for grafts to leaves near the orphan, the leaf that
    has lost its neighbour."""
    heal_linkage(tree, upkeep, moved_up, orphan)
    leaves = upkeep.nearby.leaves
    find_nearby(tree, upkeep.nearby, orphan)
    made = 0
    for rank in range(leaves.shape[0]):
        if leaves[rank] != NONE:
            made += graft_along(tree, upkeep, orphan, leaves[rank], MOST_GRAFTS - made)


def settle_copy(tree: Tree, upkeep: Upkeep, leaf: int) -> None:
    """A leaf has gained or lost a copy of its point: the means above it have changed."""
    parent = tree.nodes[leaf, PARENT]
    if parent != NONE:
        fit_moments_up(tree, parent, NONE)
        note_change(tree, upkeep.queue, parent)


def graft_rows(tree: Tree, upkeep: Upkeep, leaves: Ints, neighbours: Ints) -> None:
    """Graft leaves that are in the tree already to their neighbours (leaves, k)."""
    for row in range(leaves.shape[0]):
        made = 0
        for rank in range(neighbours.shape[1]):
            if neighbours[row, rank] != NONE:
                most = MOST_GRAFTS - made
                made += graft_along(tree, upkeep, leaves[row], neighbours[row, rank], most)
