"""Heights of trees from files that were written before nodes kept them."""

from .jit import entry_point
from .moments import fit_height, fit_leaf, scatter, squared_gap
from .schema import LEFT, NONE, RIGHT, ROOT, SIZE, SQUARE, Ints, Tree
from .walk import is_point, next_node, row_of


@entry_point
def derive_heights(tree: Tree, waiting: Ints) -> None:
    """Fill in SQUARE and HEIGHT of all nodes from the other moments.

    `waiting` is working memory, with room for all nodes.
    """
    root = tree.state[ROOT]
    node, count = root, 0
    while node != NONE:
        waiting[count] = node
        count += 1
        node = next_node(tree, node, root)
    for place in range(count - 1, -1, -1):
        node = waiting[place]
        left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
        if left != NONE:
            within = scatter(tree, left) / tree.nodes[left, SIZE]
            within += scatter(tree, right) / tree.nodes[right, SIZE]
            tree.moments[row_of(node), SQUARE] = squared_gap(tree, left, right) + within
            fit_height(tree, node)
        elif not is_point(node):
            fit_leaf(tree, node)
