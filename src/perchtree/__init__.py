"""perchtree: online hierarchical clustering for very many points and very many clusters.

Names are imported when first used: Numba alone takes half a second, and `perch --help` should not.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agglomerating import agglomerate
    from .client import Client, ServiceError
    from .clusters.calibrating import Calibration, Estimate
    from .clusters.correcting import Corrected
    from .clusters.cuts import Cluster
    from .clusters.overlaps import Event
    from .clusters.scales import Suggestion
    from .collection import ClusterEvent, Collection, Correction, Standing
    from .errors import CorruptFileError, InvariantError, ReadOnlyError
    from .estimator import Perch
    from .files.locking import FileInUseError
    from .reading import Depth, TreeStats
    from .tree import ClusterTree, check_file

__all__ = [
    "Calibration",
    "Client",
    "Cluster",
    "ClusterEvent",
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
    "ServiceError",
    "Standing",
    "Suggestion",
    "TreeStats",
    "__version__",
    "agglomerate",
    "check_file",
]

__version__ = "0.2.0"

_HOMES = {
    "Calibration": "clusters.calibrating",
    "Client": "client",
    "Cluster": "clusters.cuts",
    "ClusterEvent": "collection",
    "ClusterTree": "tree",
    "Collection": "collection",
    "Corrected": "clusters.correcting",
    "Correction": "collection",
    "CorruptFileError": "errors",
    "Depth": "reading",
    "Estimate": "clusters.calibrating",
    "Event": "clusters.overlaps",
    "FileInUseError": "files.locking",
    "InvariantError": "errors",
    "Perch": "estimator",
    "ReadOnlyError": "errors",
    "ServiceError": "client",
    "Standing": "collection",
    "Suggestion": "clusters.scales",
    "TreeStats": "reading",
    "agglomerate": "agglomerating",
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
