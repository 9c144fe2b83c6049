"""Exact search, best first: section 4.3."""

from .distances import INFINITY, min_to_box, point_distance
from .features import is_small, points_of
from .found import clear, loosen, offer_leaf
from .heap import pop, push
from .jit import inlined, kernel
from .prefetch import prefetch
from .schema import (
    DISTANCES,
    EXPANSIONS,
    FEATURES,
    LEFT,
    NEAR,
    NONE,
    RIGHT,
    ROOT,
    AStar,
    Floats,
    Found,
    Tree,
)
from .walk import is_leaf, is_point, row_of

NO_LIMIT = 2**62

HEAD = 16
"""The number of features compared first of points whose node has no box: most are too far by
these."""


@kernel
def prefetch_children(tree: Tree, node: int) -> None:
    """Fetch what an expansion of `node` will read; nearly every node pushed is expanded.

    A large tree does not fit a cache: without this CoverType took 1.3 times as long.
    """
    for side in range(LEFT, RIGHT + 1):
        child = tree.nodes[node, side]
        if is_point(child):
            prefetch(tree.points, row_of(child))
        elif tree.nodes[child, FEATURES] != NONE:
            prefetch(tree.boxes, tree.nodes[child, FEATURES])
        else:
            for below in range(LEFT, RIGHT + 1):
                grandchild = tree.nodes[child, below]
                if is_point(grandchild):
                    prefetch(tree.points, row_of(grandchild))


@inlined
def offer_point(tree: Tree, found: Found, x: Floats, leaf: int) -> None:
    """Add a leaf to the best, unless a few features show that it is too far away."""
    point, last = tree.points[row_of(leaf)], found.distances.shape[0] - 1
    head = min(HEAD, x.shape[0])
    near = point_distance(x[:head], point[:head])
    if near <= loosen(found.distances[last, NEAR], x.shape[0]):
        near = point_distance(x, point)
        if near <= found.distances[last, NEAR]:
            offer_leaf(tree, found, x, leaf, near)


@inlined
def offer_small(tree: Tree, found: Found, x: Floats, node: int) -> int:
    """Take leaves of a small node among the best; how many distances it takes to expand it.

    (That is two for each internal node below, though no more than the leaves' are computed: a beam
    may use its short cut only if it would have kept all these nodes.)
    """
    count, a, b, c, d = points_of(tree, node)
    offer_point(tree, found, x, a)
    offer_point(tree, found, x, b)
    if count > 2:
        offer_point(tree, found, x, c)
    if count > 3:
        offer_point(tree, found, x, d)
    return 2 * count - 1


@kernel
def astar(tree: Tree, work: AStar, x: Floats) -> None:
    """A* search of section 4.3: put the nearest leaves of x into `work.found`, exactly.

    Expands the internal node of smallest d- until none can hold anything nearer, or as near.
    """
    limited_astar(tree, work, x, NO_LIMIT)


@kernel
def limited_astar(tree: Tree, work: AStar, x: Floats, limit: int) -> bool:
    """A* search that gives up after `limit` distances; whether it was complete by then."""
    found = work.found
    clear(found, INFINITY)
    root = tree.state[ROOT]
    distances, expansions, waiting, ended = 1, 0, 0, True
    last = found.distances.shape[0] - 1
    if is_small(tree, root):
        distances = offer_small(tree, found, x, root)
    elif is_leaf(tree, root):
        offer_leaf(tree, found, x, root, min_to_box(tree, x, root))
    else:
        waiting = push(work.keys, work.nodes, 0, min_to_box(tree, x, root), root)
    while waiting > 0 and work.keys[0] <= loosen(found.distances[last, NEAR], x.shape[0]):
        if distances >= limit:
            ended = False
            break
        node = work.nodes[0]
        waiting = pop(work.keys, work.nodes, waiting)
        expansions += 1
        for side in range(LEFT, RIGHT + 1):
            child = tree.nodes[node, side]
            if is_small(tree, child):
                distances += offer_small(tree, found, x, child)
                continue
            near = min_to_box(tree, x, child)
            distances += 1
            if is_point(child) or is_leaf(tree, child):
                if near <= found.distances[last, NEAR]:
                    offer_leaf(tree, found, x, child, near)
            elif near <= loosen(found.distances[last, NEAR], x.shape[0]):
                waiting = push(work.keys, work.nodes, waiting, near, child)
                prefetch_children(tree, child)
    work.done[DISTANCES] += distances
    work.done[EXPANSIONS] += expansions
    return ended and distances <= limit
