"""perchtree: online hierarchical clustering for very many points and very many clusters."""

from .errors import InvariantError
from .tree import ClusterTree, Depth, TreeStats

__all__ = ["ClusterTree", "Depth", "InvariantError", "TreeStats", "__version__"]

__version__ = "0.1.0"
