"""What a file is made from and read into."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._kernels.schema import Tree
from ..settings import Settings
from .columns import Column


class StoredTree(NamedTuple):
    """All that a tree is: from this, it goes on as if it had never been saved."""

    settings: Settings
    tree: Tree
    work: dict[str, int]
    """Counters of work, by name. A file may lack some or have others."""


class Contents(NamedTuple):
    """A section beside the tree: small values by name, and columns of any length."""

    meta: dict[str, Any]
    columns: Mapping[str, Column]
    optional: bool = False
    """Whether a version of perchtree that does not know the section may ignore it."""
