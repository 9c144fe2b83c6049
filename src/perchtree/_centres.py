"""Where the points below a node are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kernels.measure import gather_boxes, gather_centres
from ._kernels.schema import Tree


def node_centres(tree: Tree, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """The mean of the points below each node, or the middle of its box in a tree without means."""
    n_features = tree.points.shape[1]
    centres, box = np.empty((len(nodes), n_features)), np.empty((2, n_features), np.float32)
    gather_centres(tree, np.ascontiguousarray(nodes, np.int32), box, centres)
    return centres


def node_boxes(tree: Tree, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
    """The box (2, d) around the points below each node."""
    boxes = np.empty((len(nodes), 2, tree.points.shape[1]), np.float32)
    gather_boxes(tree, np.ascontiguousarray(nodes, np.int32), boxes)
    return boxes
