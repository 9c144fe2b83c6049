"""Numbers read off a whole tree."""

import numpy as np

from .distances import lower_corner, upper_corner
from .jit import entry_point
from .moments import mean_at
from .schema import NONE, PARENT, ROOT, Bools, Doubles, Floats, Ints, Tree
from .walk import is_point, next_node, row_of


@entry_point
def measure_depths(tree: Tree, depths: Ints) -> None:
    """The number of edges from the root down to each node."""
    root = tree.state[ROOT]
    depths[root] = 0
    node = next_node(tree, root, root)
    while node != NONE:
        depths[node] = depths[tree.nodes[node, PARENT]] + 1
        node = next_node(tree, node, root)


@entry_point
def mark_reached(tree: Tree, reached: Bools) -> bool:
    """Mark every node that a walk from the root meets; False if it meets one twice."""
    root = tree.state[ROOT]
    node = root
    while node != NONE:
        if reached[node]:
            return False
        reached[node] = True
        node = next_node(tree, node, root)
    return True


@entry_point
def measure_bounds(tree: Tree, bounds: Floats) -> None:
    """The lower and the upper corner (2, d) of a box around all points."""
    root = tree.state[ROOT]
    lower, upper = lower_corner(tree, root), upper_corner(tree, root)
    for j in range(bounds.shape[1]):
        bounds[0, j] = lower[j]
        bounds[1, j] = upper[j]


@entry_point
def measure_diagonals(boxes: Floats, squared: Doubles) -> None:
    """Squared length of each box's diagonal. A larger box never has a shorter one."""
    for row in range(boxes.shape[0]):
        total = 0.0
        for j in range(boxes.shape[2]):
            side = np.float64(boxes[row, 1, j]) - np.float64(boxes[row, 0, j])
            total += side * side
        squared[row] = total


@entry_point
def measure_diagonal(tree: Tree, node: int) -> float:
    """Squared length of the diagonal of one node's box; 0 for a point."""
    total = 0.0
    if is_point(node):
        return total
    box = tree.boxes[row_of(node)]
    for j in range(box.shape[1]):
        side = np.float64(box[1, j]) - np.float64(box[0, j])
        total += side * side
    return total


@entry_point
def gather_centres(tree: Tree, nodes: Ints, centres: Doubles) -> None:
    """The mean of each node's points; where no means are kept, the middle of its box."""
    has_means = tree.means.shape[1] > 0
    for place in range(nodes.shape[0]):
        node = nodes[place]
        if has_means or is_point(node):
            for j in range(centres.shape[1]):
                centres[place, j] = mean_at(tree, node, j)
        else:
            row = row_of(node)
            for j in range(centres.shape[1]):
                lower, upper = np.float64(tree.boxes[row, 0, j]), np.float64(tree.boxes[row, 1, j])
                centres[place, j] = (lower + upper) / 2
