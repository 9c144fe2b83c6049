"""The tree as a linkage matrix, which SciPy reads."""

import numpy as np
from numpy.typing import NDArray

from ..reading import ReadableTree


def to_linkage(self: ReadableTree) -> NDArray[np.float64]:
    """The tree as a SciPy linkage matrix of shape (n_points - 1, 4).

    Each row holds the two parts of a merge (as in `children`), its height and its number of
    points. Heights are those of the tree, which never decrease towards the root, whatever
    the tree's own linkage. Points that share a leaf are joined at the leaf's own height.

    Points are numbered 0 to n_points - 1 in the order of their ids.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import fcluster
    >>> from perchtree import ClusterTree
    >>> tree = ClusterTree(n_features=1, linkage="box")
    >>> _ = tree.insert([[0], [1], [10], [11]])
    >>> fcluster(tree.to_linkage(), 2, "maxclust")
    array([1, 1, 2, 2], dtype=int32)
    """
    table = self.table
    return np.column_stack([
        table.children.astype(np.float64),
        table.heights[table.n_points :],
        table.sizes[table.n_points :].astype(np.float64),
    ])  # fmt: skip
