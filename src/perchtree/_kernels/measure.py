"""Numbers read off a whole tree."""

import numpy as np

from .jit import entry_point
from .schema import NONE, PARENT, ROOT, Bools, Doubles, Floats, Ints, Tree
from .walk import next_node


@entry_point
def measure_depths(tree: Tree, depths: Ints) -> None:
    """The number of edges from the root down to each node."""
    root = tree.counts[ROOT]
    depths[root] = 0
    node = next_node(tree, root, root)
    while node != NONE:
        depths[node] = depths[tree.nodes[node, PARENT]] + 1
        node = next_node(tree, node, root)


@entry_point
def mark_reached(tree: Tree, reached: Bools) -> bool:
    """Mark every node that a walk from the root meets; False if it meets one twice."""
    root = tree.counts[ROOT]
    node = root
    while node != NONE:
        if reached[node]:
            return False
        reached[node] = True
        node = next_node(tree, node, root)
    return True


@entry_point
def measure_diagonals(boxes: Floats, squared: Doubles) -> None:
    """Squared length of each box's diagonal. A larger box never has a shorter one."""
    for row in range(boxes.shape[0]):
        total = 0.0
        for j in range(boxes.shape[2]):
            side = np.float64(boxes[row, 1, j]) - np.float64(boxes[row, 0, j])
            total += side * side
        squared[row] = total
