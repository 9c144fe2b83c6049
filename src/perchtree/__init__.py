"""perchtree: online hierarchical clustering for very many points and very many clusters.

Names are imported when first used: Numba alone takes half a second, and `perch --help` should not.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cuts import Cluster, Suggestion
    from .errors import InvariantError
    from .reading import Depth, TreeStats
    from .tree import ClusterTree

__all__ = [
    "Cluster",
    "ClusterTree",
    "Depth",
    "InvariantError",
    "Suggestion",
    "TreeStats",
    "__version__",
]

__version__ = "0.1.0"

_HOMES = {
    "Cluster": "cuts",
    "ClusterTree": "tree",
    "Depth": "reading",
    "InvariantError": "errors",
    "Suggestion": "cuts",
    "TreeStats": "reading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
