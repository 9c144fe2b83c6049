"""The tree as SciPy knows trees."""

import numpy as np
from numpy.typing import NDArray

from ..table import NodeTable


def as_linkage(table: NodeTable) -> NDArray[np.float64]:
    """A linkage matrix (n - 1, 4): two parts, height, size. Heights never shrink."""
    n_points = table.n_points
    return np.column_stack([
        table.children.astype(np.float64),
        table.heights[n_points:],
        table.sizes[n_points:].astype(np.float64),
    ])  # fmt: skip
