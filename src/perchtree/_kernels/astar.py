"""Exact search, best first: section 4.3."""

from .distances import INFINITY, min_to_box
from .found import clear, loosen, offer_leaf
from .heap import pop, push
from .jit import kernel
from .prefetch import prefetch
from .schema import DISTANCES, EXPANSIONS, LEFT, NEAR, RIGHT, ROOT, AStar, Floats, Tree
from .walk import is_leaf, is_point, row_of

NO_LIMIT = 2**62


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
def astar(tree: Tree, work: AStar, x: Floats) -> None:
    """A* search of section 4.3: put the nearest leaves of x into `work.found`, exactly.

    Expands the internal node of smallest d- until none can hold anything nearer, or as near.
    """
    limited_astar(tree, work, x, NO_LIMIT)


@kernel
def limited_astar(tree: Tree, work: AStar, x: Floats, limit: int) -> bool:
    """A* search that gives up once `limit` distances are computed; whether it came to its end."""
    found = work.found
    clear(found, INFINITY)
    root = tree.state[ROOT]
    near = min_to_box(tree, x, root)
    distances, expansions, waiting, ended = 1, 0, 0, True
    if is_leaf(tree, root):
        offer_leaf(tree, found, x, root, near)
    else:
        waiting = push(work.keys, work.nodes, 0, near, root)
    last = found.distances.shape[0] - 1
    while waiting > 0 and work.keys[0] <= loosen(found.distances[last, NEAR], x.shape[0]):
        if distances >= limit:
            ended = False
            break
        node = work.nodes[0]
        waiting = pop(work.keys, work.nodes, waiting)
        expansions += 1
        for side in range(LEFT, RIGHT + 1):
            child = tree.nodes[node, side]
            near = min_to_box(tree, x, child)
            distances += 1
            if is_point(child) or is_leaf(tree, child):
                offer_leaf(tree, found, x, child, near)
            elif near <= loosen(found.distances[last, NEAR], x.shape[0]):
                waiting = push(work.keys, work.nodes, waiting, near, child)
                prefetch_children(tree, child)
    work.done[DISTANCES] += distances
    work.done[EXPANSIONS] += expansions
    return ended
