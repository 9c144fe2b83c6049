"""Numbers read off a whole tree."""

import numpy as np

from .features import gather_box, gather_mean, is_small
from .jit import entry_point, kernel
from .schema import FEATURES, NONE, PARENT, ROOT, Bools, Doubles, Floats, Ints, Tree
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


@kernel
def copy_box(tree: Tree, node: int, box: Floats) -> None:
    """The box (2, d) of any node."""
    if is_small(tree, node):
        gather_box(tree, node, box)
        return
    row = row_of(node) if is_point(node) else tree.nodes[node, FEATURES]
    for j in range(box.shape[1]):
        box[0, j] = tree.points[row, j] if is_point(node) else tree.boxes[row, 0, j]
        box[1, j] = tree.points[row, j] if is_point(node) else tree.boxes[row, 1, j]


@entry_point
def measure_bounds(tree: Tree, bounds: Floats) -> None:
    """The lower and the upper corner (2, d) of a box around all points."""
    copy_box(tree, tree.state[ROOT], bounds)


@entry_point
def gather_boxes(tree: Tree, nodes: Ints, boxes: Floats) -> None:
    """The box of each node (nodes, 2, d)."""
    for place in range(nodes.shape[0]):
        copy_box(tree, nodes[place], boxes[place])


@entry_point
def measure_diagonal(tree: Tree, node: int, box: Floats) -> float:
    """Squared length of the diagonal of one node's box; 0 for a point.

    `box` (2, d) is working memory. A larger box never has a shorter diagonal.
    """
    total = 0.0
    if is_point(node):
        return total
    copy_box(tree, node, box)
    for j in range(box.shape[1]):
        side = np.float64(box[1, j]) - np.float64(box[0, j])
        total += side * side
    return total


@entry_point
def measure_diagonals(tree: Tree, nodes: Ints, box: Floats, squared: Doubles) -> None:
    """The same for many nodes."""
    for place in range(nodes.shape[0]):
        squared[place] = measure_diagonal(tree, nodes[place], box)


@entry_point
def gather_centres(tree: Tree, nodes: Ints, box: Floats, centres: Doubles) -> None:
    """The mean of each node's points; where no means are kept, the middle of its box.

    `box` (2, d) is working memory.
    """
    has_means = tree.means.shape[1] > 0
    for place in range(nodes.shape[0]):
        node, centre = nodes[place], centres[place]
        if is_point(node):
            for j in range(centre.shape[0]):
                centre[j] = np.float64(tree.points[row_of(node), j])
        elif has_means and is_small(tree, node):
            gather_mean(tree, node, centre)
        elif has_means:
            row = tree.nodes[node, FEATURES]
            for j in range(centre.shape[0]):
                centre[j] = tree.means[row, j]
        else:
            copy_box(tree, node, box)
            for j in range(centre.shape[0]):
                centre[j] = (np.float64(box[0, j]) + np.float64(box[1, j])) / 2
