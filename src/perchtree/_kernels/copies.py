"""Finding the leaf that already holds a point."""

from .jit import entry_point, kernel
from .schema import FEATURES, LEFT, NONE, ROOT, Floats, Tree
from .walk import is_leaf, is_point, row_of, skip_subtree


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
    root = tree.state[ROOT]
    node = root
    while node != NONE:
        if is_leaf(tree, node):
            if equals_point(tree, node, x):
                return node
        elif tree.nodes[node, FEATURES] == NONE or box_holds(
            tree.boxes[tree.nodes[node, FEATURES]], x
        ):
            node = tree.nodes[node, LEFT]
            continue
        node = skip_subtree(tree, node, root)
    return NONE


@entry_point
def holds_copy(tree: Tree, x: Floats) -> bool:
    """Whether some leaf's point equals x."""
    return find_copy(tree, x, tree.state[ROOT]) != NONE
