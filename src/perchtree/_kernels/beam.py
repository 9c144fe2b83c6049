"""Approximate search, breadth first: PERCH-B (section 5)."""

import numpy as np

from . import sampling
from .astar import limited_astar
from .copies import equals_point
from .distances import INFINITY, ZERO, box_min, min_to_box
from .features import gather_box, is_small
from .found import clear, loosen, offer_leaf
from .heap import pop, push, sort_key
from .jit import kernel
from .schema import (
    BEAM_CHECKED,
    BEAM_FOUND,
    DISTANCES,
    EXPANSIONS,
    LEAF,
    LEFT,
    NEAR,
    NEXT_ID,
    NODE,
    NONE,
    RIGHT,
    ROOT,
    AStar,
    Beam,
    Floats,
    Found,
    Tree,
)
from .walk import first_leaf, is_leaf, is_point, next_leaf

is_sampled = kernel(sampling.is_sampled)


@kernel
def visit(tree: Tree, work: Beam, x: Floats, node: int, side: int, count: int) -> int:
    """Score a leaf, or queue an internal node for the level on `side`; its new count."""
    if is_small(tree, node):
        gather_box(tree, node, work.corners)
        near = box_min(x, work.corners[0], work.corners[1])
    else:
        near = min_to_box(tree, x, node)
    if is_point(node) or is_leaf(tree, node):
        offer_leaf(tree, work.found, x, node, near)
    elif near <= loosen(work.found.distances[-1, NEAR], x.shape[0]):
        # Farther nodes cannot hold the answer, nor could they oust one that does.
        count = push(work.keys[side], work.nodes[side], count, sort_key(near, count), node)
    return count


@kernel
def sweep(tree: Tree, work: Beam, x: Floats, bound: np.float32) -> None:
    """Go from level to level, through what is not farther than `bound`."""
    clear(work.found, bound)
    width = work.nodes.shape[1] // 2
    distances, expansions = 1, 0
    side = 0
    count = visit(tree, work, x, tree.state[ROOT], side, 0)
    while count > 0:
        below = 0
        for _ in range(min(count, width)):
            node = work.nodes[side, 0]
            count = pop(work.keys[side], work.nodes[side], count)
            below = visit(tree, work, x, tree.nodes[node, LEFT], 1 - side, below)
            below = visit(tree, work, x, tree.nodes[node, RIGHT], 1 - side, below)
            distances += 2
            expansions += 1
        side = 1 - side
        count = below
    work.done[DISTANCES] += distances
    work.done[EXPANSIONS] += expansions


@kernel
def beam(tree: Tree, work: Beam, x: Floats) -> None:
    """Put the nearest leaves that a beam reaches into `work.found`.

    Each level keeps the `width` internal nodes of smallest d-; leaves are scored when met; the
    search ends when there is no next level. Nodes with the same d- keep their order.

    There is a short cut to the same answer. A* expands every node that is not farther than the
    nearest leaf; if these are no more than `width`, a beam would have kept them all. Otherwise
    the nearest leaf that A* has met bounds the beam, unless the beam meets none as near.
    """
    width = work.nodes.shape[1] // 2
    first = AStar(work.keys[0].view(np.float32), work.nodes[0], work.found, work.done)
    if limited_astar(tree, first, x, 2 * width + 1):
        return
    last = work.found.leaves.shape[0] - 1
    bound = work.found.distances[last, NEAR]
    sweep(tree, work, x, bound)
    if bound < INFINITY and work.found.leaves[last, NODE] == NONE:
        sweep(tree, work, x, INFINITY)


@kernel
def take_copy(tree: Tree, found: Found, point_id: int, x: Floats) -> bool:
    """Use the leaf of an id as the answer, if its point is still equal to x."""
    if point_id == NONE or tree.ids[point_id, LEAF] == NONE:
        return False
    leaf = tree.ids[point_id, LEAF]
    if not equals_point(tree, leaf, x):
        return False
    clear(found, INFINITY)
    offer_leaf(tree, found, x, leaf, ZERO)
    return True


@kernel
def beam_with_sample(tree: Tree, work: Beam, x: Floats) -> None:
    """A beam search that, for a sample of inserts, looks at every leaf to see whether the nearest
    was found. If the leaf of an equal point is already known, no search is needed.
    """
    row = work.cursor[0]
    work.cursor[0] = row + 1
    known = take_copy(tree, work.found, work.copies[row], x)
    if not known:
        beam(tree, work, x)
    if not is_sampled(tree.state[NEXT_ID]):
        return
    if known:
        work.done[BEAM_CHECKED] += 1
        work.done[BEAM_FOUND] += 1
        return
    nearest = INFINITY
    root = tree.state[ROOT]
    leaf = first_leaf(tree, root)
    while leaf != NONE:
        nearest = min(nearest, min_to_box(tree, x, leaf))
        leaf = next_leaf(tree, leaf, root)
    work.done[BEAM_CHECKED] += 1
    work.done[BEAM_FOUND] += work.found.distances[0, NEAR] == nearest
