"""How firmly each point belongs to its cluster: its silhouette, in distances along the tree.

Two points are as far apart as the merge at which they meet is high. For a point, let a be its mean
distance to the other points of its cluster, and b that to the nearest points that are not in it:
the height of the node above the cluster. Its confidence is

    1 - a / b,

1 for a point with nothing but copies of itself, or nothing at all, in its cluster, and 0 for one
that is as far from the others as the nearest cluster is.
"""

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from .._kernels.silhouettes import find_pure, measure_silhouettes
from ..table import NodeTable


def find_confidence(table: NodeTable, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The confidence of each point in its cluster, given by labels from 0 on; in linear time.

    A corrected cluster, which is no node of the tree, consists of several: each counts by itself. A
    cluster of everything has its own height in place of the node above.
    """
    clusters = np.empty(len(table.parents), np.int64)
    clusters[: table.n_points] = labels
    find_pure(table.children, clusters)
    tops = np.empty(len(clusters), np.int64)
    found = np.empty(len(clusters))
    pure = clusters != NONE
    measure_silhouettes(table.parents, table.heights, table.sizes, pure, tops, found)
    return found[: table.n_points]
