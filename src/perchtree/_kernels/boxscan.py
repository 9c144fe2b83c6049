"""Exact search in collapsed mode by looking at every leaf."""

from .distances import INFINITY, ZERO, box_min, min_to_box
from .found import clear, loosen, offer_leaf
from .jit import kernel
from .schema import (
    BOX_ROWS,
    DISTANCES,
    LEFT,
    NEAR,
    NONE,
    POINT_ROWS,
    RIGHT,
    ROOT,
    SCANNED,
    SIZE,
    AStar,
    Floats,
    Found,
    Tree,
)
from .walk import box_node, is_leaf, point_node

STRIDE = 64
"""Features summed before asking whether a leaf is out of the question."""


@kernel
def exceeds(x: Floats, lower: Floats, upper: Floats, bound: float) -> bool:
    """Whether d- to a box is surely above `bound`: in high dimension a part often tells."""
    total = ZERO
    for first in range(0, x.shape[0], STRIDE):
        last = min(first + STRIDE, x.shape[0])
        total += box_min(x[first:last], lower[first:last], upper[first:last])
        if total > bound:
            return True
    return False


@kernel
def offer_some_leaf(tree: Tree, found: Found, x: Floats) -> int:
    """Begin with the leaf at the end of a greedy descent: a bound to measure others by."""
    node = tree.state[ROOT]
    while not is_leaf(tree, node):
        left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
        node = left if min_to_box(tree, x, left) <= min_to_box(tree, x, right) else right
    offer_leaf(tree, found, x, node, min_to_box(tree, x, node))
    return node


@kernel
def scan_leaves(tree: Tree, work: AStar, x: Floats) -> None:
    """Put the nearest leaves of x into `work.found`, exactly, by looking at all of them."""
    found = work.found
    clear(found, INFINITY)
    known = offer_some_leaf(tree, found, x)
    computed = 0
    last = found.distances.shape[0] - 1
    for row in range(tree.state[POINT_ROWS]):
        leaf = point_node(row)
        if tree.nodes[leaf, SIZE] == 0 or leaf == known:
            continue
        bound = loosen(found.distances[last, NEAR], x.shape[0])
        point = tree.points[row]
        if not exceeds(x, point, point, bound):
            offer_leaf(tree, found, x, leaf, min_to_box(tree, x, leaf))
            computed += 1
    for row in range(tree.state[BOX_ROWS]):
        leaf = box_node(row)
        if tree.nodes[leaf, LEFT] != NONE or tree.nodes[leaf, SIZE] == 0 or leaf == known:
            continue
        bound = loosen(found.distances[last, NEAR], x.shape[0])
        if not exceeds(x, tree.boxes[row, 0], tree.boxes[row, 1], bound):
            offer_leaf(tree, found, x, leaf, min_to_box(tree, x, leaf))
            computed += 1
    work.done[DISTANCES] += computed
    work.done[SCANNED] += 1
