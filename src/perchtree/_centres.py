"""Where the points below a node are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kernels.measure import gather_centres
from ._kernels.schema import Tree


def node_centres(tree: Tree, nodes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """The mean of the points below each node, or the middle of its box in a tree without means."""
    centres = np.empty((len(nodes), tree.points.shape[1]))
    gather_centres(tree, np.ascontiguousarray(nodes, np.int32), centres)
    return centres
