"""The tree as a data frame."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..table import NodeTable


def as_frame(table: NodeTable) -> Any:
    """One row a node (points first): parent, size, depth, height, is_leaf."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_pandas needs pandas: pip install 'perchtree[pandas]'") from None
    is_leaf = np.zeros(len(table.parents), bool)
    is_leaf[table.leaves] = True
    columns = {
        "parent": table.parents,
        "size": table.sizes,
        "depth": depths(table),
        "height": table.heights,
        "is_leaf": is_leaf,
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(table.parents), name="node"))


def depths(table: NodeTable) -> NDArray[np.int64]:
    """Edges from the root to each number: ways up are doubled until all have arrived."""
    above = np.where(table.parents < 0, len(table.parents) - 1, table.parents)
    steps = (table.parents >= 0).astype(np.int64)
    while (above != len(above) - 1).any():
        steps += steps[above]
        above = above[above]
    return steps
