"""What a file is made from and read into."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from numpy.typing import NDArray

from .._kernels.schema import Tree
from ..settings import Settings
from .columns import Column

OF_SEARCHES = frozenset({"distances", "expansions", "products", "scanned"})
"""Counters that depend on batches and threads; all others follow from the operations."""


class StoredTree(NamedTuple):
    """All that a tree is: from this, it continues as if it had never been saved."""

    settings: Settings
    tree: Tree
    work: dict[str, int]
    """Counters of work, by name. A file may lack some or have others."""
    search_index: Mapping[str, NDArray[Any]] = MappingProxyType({})
    """What its search keeps beside it; most keep nothing."""

    @property
    def lasting_work(self) -> dict[str, int]:
        """The counters that are saved: equal operations make equal files, whatever the batches."""
        return {name: count for name, count in self.work.items() if name not in OF_SEARCHES}


class Contents(NamedTuple):
    """A section beside the tree: small values by name, and columns of any length."""

    meta: dict[str, Any]
    columns: Mapping[str, Column]
    optional: bool = False
    """Whether a version of perchtree that does not know the section may ignore it."""
