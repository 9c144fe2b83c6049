"""Compiling ahead all that a tree with given settings may need."""

import numpy as np
from numpy.typing import NDArray

from .search.cells import SMALLEST_TREE
from .search.images import SMALLEST_SAMPLED
from .settings import Settings
from .tree import ClusterTree

_ROWS = 80
"""Enough for every search to search ahead, and for leaves to be collapsed."""
_CELLS_ROWS = SMALLEST_TREE + _ROWS
"""Enough for a search in cells."""
_REDUCED_ROWS = SMALLEST_SAMPLED + 1024
_REDUCED_FEATURES = 48
"""Enough for a search by reduced vectors."""


def warm_up(settings: Settings) -> None:
    """Build tiny trees with these settings, in every way in which a large one may be built.

    An automatic search can change its method after many rows: what that needs is compiled now.
    Where compiled code is in the cache already, this takes a fraction of a second.
    """
    searches = ("astar", "scan") if settings.search == "auto" else (settings.search,)
    leaves = None if settings.max_leaves is None else 8
    for search in searches:
        small = settings.changed(search=search, max_leaves=leaves)
        n_rows = _CELLS_ROWS if search == "cells" else _ROWS
        _use(small, np.random.default_rng(0).random((n_rows, 2)))
    if "scan" in searches and leaves is None:
        rows = np.random.default_rng(0).random((_REDUCED_ROWS, _REDUCED_FEATURES))
        spread = rows / np.arange(1, _REDUCED_FEATURES + 1)
        for points in (rows, spread):  # of which reduced vectors are made, or not
            tree = ClusterTree(_REDUCED_FEATURES, **settings.as_dict())
            tree.insert(points)
            tree.insert(points[:3] + 1)


def _use(settings: Settings, rows: NDArray[np.float64]) -> None:
    tree = ClusterTree(rows.shape[1], **settings.as_dict())
    tree.insert(rows[:1])
    tree.insert(rows[1:])
    tree.nearest(rows)
    tree.cut(2)
    tree.cut(min_cluster_size=2)
