"""Finding the nearest leaves of a point."""

import numpy as np

from .distances import INFINITY, max_to_box, min_to_box
from .heap import pop, push
from .jit import kernel
from .prefetch import prefetch
from .schema import (
    BY_ID,
    DISTANCES,
    EXPANSIONS,
    FAR,
    FIRST,
    LEFT,
    NEAR,
    NODE,
    NONE,
    RIGHT,
    ROOT,
    Floats,
    Found,
    Scratch,
    Tree,
)
from .walk import is_leaf, is_point, row_of, skip_subtree

_ROUNDING = np.float32(4 * np.finfo(np.float32).eps)
_SMALLEST = np.finfo(np.float32).tiny


@kernel
def loosen(bound: np.float32, n_features: int) -> np.float32:
    """A little more than `bound`.

    Sums of the same numbers in another order differ by a few roundings a term; a search that
    prunes above this never loses a tie.
    """
    return bound * (np.float32(1) + _ROUNDING * np.float32(n_features)) + _SMALLEST


@kernel
def clear(found: Found) -> None:
    for rank in range(found.leaves.shape[0]):
        found.distances[rank, NEAR] = INFINITY
        found.distances[rank, FAR] = INFINITY
        found.leaves[rank, BY_ID] = NONE
        found.leaves[rank, NODE] = NONE


@kernel
def is_nearer(found: Found, rank: int, near: np.float32, far: np.float32, first: int) -> bool:
    """The order of leaves: d-, then d+ (the tighter box wins), then the smallest id."""
    if found.leaves[rank, NODE] == NONE:
        return True
    if near != found.distances[rank, NEAR]:
        return bool(near < found.distances[rank, NEAR])
    if far != found.distances[rank, FAR]:
        return bool(far < found.distances[rank, FAR])
    return bool(first < found.leaves[rank, BY_ID])


@kernel
def offer_leaf(tree: Tree, found: Found, x: Floats, leaf: int, near: np.float32) -> None:
    """Take a leaf among the best if it belongs there."""
    rank = found.leaves.shape[0] - 1
    if near > found.distances[rank, NEAR]:
        return
    far = near if is_point(leaf) else max_to_box(tree, x, leaf)
    first = tree.nodes[leaf, FIRST]
    if not is_nearer(found, rank, near, far, first):
        return
    while rank > 0 and is_nearer(found, rank - 1, near, far, first):
        found.distances[rank, NEAR] = found.distances[rank - 1, NEAR]
        found.distances[rank, FAR] = found.distances[rank - 1, FAR]
        found.leaves[rank, BY_ID] = found.leaves[rank - 1, BY_ID]
        found.leaves[rank, NODE] = found.leaves[rank - 1, NODE]
        rank -= 1
    found.distances[rank, NEAR] = near
    found.distances[rank, FAR] = far
    found.leaves[rank, BY_ID] = first
    found.leaves[rank, NODE] = leaf


@kernel
def prefetch_children(tree: Tree, node: int) -> None:
    """Fetch what an expansion of `node` will read; nearly every node pushed is expanded.

    A large tree does not fit a cache: without this CoverType took 1.3 times as long.
    """
    for side in range(LEFT, RIGHT + 1):
        child = tree.nodes[node, side]
        if is_point(child):
            prefetch(tree.points, row_of(child))
        else:
            prefetch(tree.boxes, row_of(child))
            prefetch(tree.nodes, child)


@kernel
def astar(tree: Tree, scratch: Scratch, x: Floats) -> None:
    """A* search of section 4.3: put the nearest leaves of x into `scratch.found`, exactly.

    Expands the internal node of smallest d- until none can hold anything nearer, or as near.
    """
    found = scratch.found
    clear(found)
    root = tree.counts[ROOT]
    near = min_to_box(tree, x, root)
    distances, expansions, waiting = 1, 0, 0
    if is_leaf(tree, root):
        offer_leaf(tree, found, x, root, near)
    else:
        waiting = push(scratch.keys, scratch.nodes, 0, near, root)
    last = found.distances.shape[0] - 1
    while waiting > 0 and scratch.keys[0] <= loosen(found.distances[last, NEAR], x.shape[0]):
        node = scratch.nodes[0]
        waiting = pop(scratch.keys, scratch.nodes, waiting)
        expansions += 1
        for side in range(LEFT, RIGHT + 1):
            child = tree.nodes[node, side]
            near = min_to_box(tree, x, child)
            distances += 1
            if is_point(child) or is_leaf(tree, child):
                offer_leaf(tree, found, x, child, near)
            elif near <= loosen(found.distances[last, NEAR], x.shape[0]):
                waiting = push(scratch.keys, scratch.nodes, waiting, near, child)
                prefetch_children(tree, child)
    tree.counts[DISTANCES] += distances
    tree.counts[EXPANSIONS] += expansions


@kernel
def equals_point(tree: Tree, leaf: int, x: Floats) -> bool:
    if not is_point(leaf):
        return False
    row = row_of(leaf)
    for j in range(x.shape[0]):
        if tree.points[row, j] != x[j]:
            return False
    return True


@kernel
def box_holds(box: Floats, x: Floats) -> bool:
    for j in range(x.shape[0]):
        if x[j] < box[0, j] or x[j] > box[1, j]:
            return False
    return True


@kernel
def find_copy(tree: Tree, x: Floats, nearest: int) -> int:
    """The leaf whose point equals x, or NONE, given the nearest leaf, at distance 0.

    Nearly always that is the nearest leaf itself. But squares of tiny differences underflow,
    and then some other point, with a smaller id, can be at distance 0 as well.
    """
    if equals_point(tree, nearest, x):
        return nearest
    root = tree.counts[ROOT]
    node = root
    while node != NONE:
        if is_leaf(tree, node):
            if equals_point(tree, node, x):
                return node
        elif box_holds(tree.boxes[row_of(node)], x):
            node = tree.nodes[node, LEFT]
            continue
        node = skip_subtree(tree, node, root)
    return NONE
