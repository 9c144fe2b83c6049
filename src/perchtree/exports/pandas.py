"""The tree as a pandas data frame."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..reading import ReadableTree
from ..table import NodeTable


def to_pandas(self: ReadableTree) -> Any:
    """A pandas DataFrame with one row per node: parent, size, depth, height, is_leaf, id.

    The index is the number of the node, as in `children`: points are 0 to n_points - 1, and `id`
    is a point's id, -1 for other nodes. Points that share a leaf are below the node that is
    their leaf.

    Examples
    --------
    >>> from perchtree import ClusterTree
    >>> tree = ClusterTree(n_features=1, linkage="box")
    >>> _ = tree.insert([[0], [1], [5]])
    >>> print(tree.to_pandas().to_string(index_names=False))
       parent  size  depth  height  is_leaf  id
    0       3     1      2     0.0     True   0
    1       3     1      2     0.0     True   1
    2       4     1      1     0.0     True   2
    3       4     2      1     1.0    False  -1
    4      -1     3      0     5.0    False  -1
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_pandas needs pandas: pip install 'perchtree[pandas]'") from None
    table = self.table
    is_leaf = np.zeros(len(table.parents), bool)
    is_leaf[table.leaves] = True
    columns = {
        "parent": table.parents,
        "size": table.sizes,
        "depth": _depths(table),
        "height": table.heights,
        "is_leaf": is_leaf,
        "id": np.append(table.ids, np.full(table.n_points - 1, -1)),
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(table.parents), name="node"))


def _depths(table: NodeTable) -> NDArray[np.int64]:
    """The number of edges from the root to each number, by doubling paths until all arrive."""
    above = np.where(table.parents < 0, len(table.parents) - 1, table.parents)
    steps = (table.parents >= 0).astype(np.int64)
    while (above != len(above) - 1).any():
        steps += steps[above]
        above = above[above]
    return steps
