"""perchtree: online hierarchical clustering for very many points and very many clusters.

Names are imported when first used: Numba alone takes half a second, and `perch --help` should not.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cuts import Cluster, Suggestion
    from .errors import CorruptFileError, InvariantError
    from .estimator import Perch
    from .files.trees import read_columns
    from .reading import Depth, TreeStats
    from .tracking import Event
    from .tree import ClusterTree, check_file

__all__ = [
    "Cluster",
    "ClusterTree",
    "CorruptFileError",
    "Depth",
    "Event",
    "InvariantError",
    "Perch",
    "Suggestion",
    "TreeStats",
    "__version__",
    "check_file",
    "read_columns",
]

__version__ = "0.1.0"

_HOMES = {
    "Cluster": "cuts",
    "ClusterTree": "tree",
    "CorruptFileError": "errors",
    "Depth": "reading",
    "Event": "tracking",
    "InvariantError": "errors",
    "Perch": "estimator",
    "Suggestion": "cuts",
    "TreeStats": "reading",
    "check_file": "tree",
    "read_columns": "files.trees",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
