"""Pictures of trees, with matplotlib (the `plot` extra). Each function returns the axes it drew on.

>>> import matplotlib
>>> matplotlib.use("agg")
>>> import numpy as np
>>> from perchtree import ClusterTree
>>> from perchtree.plot import plot_dendrogram
>>> tree = ClusterTree(2, linkage="average")
>>> ids = tree.insert(np.random.default_rng(0).random((200, 2)))
>>> axes = plot_dendrogram(tree, branches=20)
"""

try:
    import matplotlib.pyplot  # noqa: F401
except ImportError:
    raise ImportError("pictures need matplotlib: pip install 'perchtree[plot]'") from None

from .dendrogram import plot_dendrogram
from .profile import plot_profile

__all__ = ["plot_dendrogram", "plot_profile"]
