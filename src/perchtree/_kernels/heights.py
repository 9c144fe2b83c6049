"""How far apart the two parts of each node are: the heights of trees with a linkage."""

from .jit import entry_point, kernel
from .moments import scatter, squared_gap
from .schema import LEFT, NONE, RIGHT, ROOT, SIZE, Doubles, Ints, Tree
from .walk import next_node


@kernel
def mean_square(tree: Tree, node: int) -> float:
    """The mean squared distance between the points of one child and those of the other.

    The points of a collapsed leaf cannot be told apart: there it is that between any two of them.
    """
    left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
    if left == NONE:
        return 2 * scatter(tree, node) / max(1, tree.nodes[node, SIZE] - 1)
    within = scatter(tree, left) / tree.nodes[left, SIZE]
    within += scatter(tree, right) / tree.nodes[right, SIZE]
    return squared_gap(tree, left, right) + within


@entry_point
def measure_heights(tree: Tree, waiting: Ints, squared: Doubles, largest: Doubles) -> None:
    """The mean square of each node, and the largest of it and all nodes below: that one grows
    towards the root.

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
        squared[node] = largest[node] = mean_square(tree, node)
        if tree.nodes[node, LEFT] != NONE:
            below = max(largest[tree.nodes[node, LEFT]], largest[tree.nodes[node, RIGHT]])
            largest[node] = max(squared[node], below)
