"""Clustering algorithms behind one interface: (X, number of clusters, seed) -> `Outcome`.

The clock of an algorithm runs for building its tree, not for cutting it or for compiling.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Outcome(NamedTuple):
    """What an algorithm makes of the data."""

    tree: Any
    """Anything that `dendrogram_purity` takes."""
    labels: NDArray[np.integer] | None
    """A clustering into the number of clusters asked for; None if that was out of reach."""
    seconds: float
    depth: int | None = None
    notes: dict[str, Any] | None = None


Algorithm = Callable[[NDArray[np.float32], int, int], Outcome]
