"""Compiling ahead all that a tree with given settings may need."""

import numpy as np

from .settings import Settings
from .tree import ClusterTree

_ROWS = 80
"""Enough for every search to search ahead, and for leaves to be collapsed."""


def warm_up(settings: Settings) -> None:
    """Build tiny trees with these settings, in every way in which a large one may be built.

    An automatic search can change its method after many rows: what that needs is compiled now.
    Where compiled code is in the cache already, this takes a fraction of a second.
    """
    rows = np.random.default_rng(0).random((_ROWS, 2))
    searches = ("astar", "scan") if settings.search == "auto" else (settings.search,)
    leaves = None if settings.max_leaves is None else 8
    for search in searches:
        small = settings.changed(search=search, max_leaves=leaves)
        tree = ClusterTree(2, **small.as_dict())
        tree.insert(rows[:1])
        tree.insert(rows[1:])
        tree.nearest(rows)
        tree.cut(2)
        tree.cut(min_cluster_size=2)
