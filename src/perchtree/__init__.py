"""perchtree: online hierarchical clustering for very many points and very many clusters.

Names are imported when first used: Numba alone takes half a second, and `perch --help` should not.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clusters.calibrating import Calibration, Estimate
    from .clusters.correcting import Corrected
    from .clusters.cuts import Cluster
    from .clusters.scales import Suggestion
    from .clusters.tracking import Event
    from .collection import Collection, Correction
    from .errors import CorruptFileError, InvariantError, ReadOnlyError
    from .estimator import Perch
    from .files.locking import FileInUseError
    from .reading import Depth, TreeStats
    from .tree import ClusterTree, check_file

__all__ = [
    "Calibration",
    "Cluster",
    "ClusterTree",
    "Collection",
    "Corrected",
    "Correction",
    "CorruptFileError",
    "Depth",
    "Estimate",
    "Event",
    "FileInUseError",
    "InvariantError",
    "Perch",
    "ReadOnlyError",
    "Suggestion",
    "TreeStats",
    "__version__",
    "check_file",
]

__version__ = "0.1.0"

_HOMES = {
    "Calibration": "clusters.calibrating",
    "Cluster": "clusters.cuts",
    "ClusterTree": "tree",
    "Collection": "collection",
    "Corrected": "clusters.correcting",
    "Correction": "collection",
    "CorruptFileError": "errors",
    "Depth": "reading",
    "Estimate": "clusters.calibrating",
    "Event": "clusters.tracking",
    "FileInUseError": "files.locking",
    "InvariantError": "errors",
    "Perch": "estimator",
    "ReadOnlyError": "errors",
    "Suggestion": "clusters.scales",
    "TreeStats": "reading",
    "check_file": "tree",
}


_GONE = {"read_columns": "Collection.open(path) has keys, texts and classes"}
"""Names of earlier versions, and what to use instead."""


def __getattr__(name: str) -> Any:
    if name in _GONE:
        raise AttributeError(f"{name} is gone: {_GONE[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
