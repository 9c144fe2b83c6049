"""What every search offers: the leaves of rows about to be inserted, and nearest leaves."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.insert import no_record
from .._kernels.modes import Record
from .._kernels.modes import Search as Kernel
from .._kernels.schema import (
    BY_ID,
    LEAF,
    NODE,
    NONE,
    AStar,
    Beam,
    Counts,
    Prepared,
    Revised,
    Tree,
)

Rows = NDArray[np.float32]

SMALLEST = 32
"""Fewer rows are not worth a search ahead: they are searched one by one, in the current tree."""


class Finder(NamedTuple):
    """How an insert finds the leaf of a row: a compiled function and its working memory."""

    search: Kernel
    memory: AStar | Beam | Prepared | Revised
    record: Record = no_record


class Part(NamedTuple):
    """Rows to be inserted next, and how their leaves are found."""

    rows: Rows
    finder: Finder


class Leaves(NamedTuple):
    """The k nearest leaves of each row, nearest first.

    - `distances`: float32 (rows, k, 2), `leaves`: int32 (rows, k, 2), both as in `Found`.
    """

    distances: NDArray[np.float32]
    leaves: NDArray[np.int32]

    @classmethod
    def unknown(cls, n_rows: int, k: int) -> "Leaves":
        """None found yet."""
        return cls(
            np.full((n_rows, k, 2), np.inf, np.float32), np.full((n_rows, k, 2), NONE, np.int32)
        )

    @classmethod
    def of_points(cls, tree: Tree, near: Rows, ids: NDArray[np.int32]) -> "Leaves":
        """From squared distances and ids, both (rows, k); NONE where none is known."""
        leaves = np.full((*ids.shape, 2), NONE, np.int32)
        known = ids != NONE
        leaves[known, BY_ID] = ids[known]
        leaves[known, NODE] = tree.ids[ids[known], LEAF]
        return cls(np.repeat(near[:, :, np.newaxis], 2, axis=2), leaves)


class Search(ABC):
    """Finds nearest leaves, and owns whatever state that needs.

    A search reads the tree and never writes to it: the arrays may be shared by any number of
    threads. Its work is counted in `done`, which belongs to the caller.
    """

    def __init__(self, k: int, n_jobs: int = 1) -> None:
        self.k = k
        """How many neighbours an insert asks for."""
        self.n_jobs = n_jobs

    @abstractmethod
    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        """Split rows about to be inserted into parts, in order, each with its finder.

        A part must be inserted before the next one is asked for.
        """

    def stream(
        self, tree: Tree, batches: Iterable[Rows], done: Counts
    ) -> Generator[Part, None, None]:
        """Do the same for one batch after the other; close it if an insert fails."""
        for rows in batches:
            yield from self.parts(tree, rows, done)

    @abstractmethod
    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        """Find the k nearest leaves of each row in the tree as it is, exactly."""

    def near(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        """Find k leaves near each row, the nearest if the search is exact."""
        return self.nearest(tree, rows, k, done)

    def added(self, tree: Tree, ids: range) -> None:  # noqa: B027
        """Take notice of points that were inserted; for a search that keeps an index."""

    def removed(self, tree: Tree, ids: NDArray[np.int64]) -> None:  # noqa: B027
        """Take notice of points that were removed; for a search that keeps an index."""

    def estimate_bytes(self, tree: Tree, n_points: int) -> int:
        """About what the search will keep in memory of so many points, as far as it is known."""
        return 0

    def kept(self, tree: Tree) -> dict[str, NDArray[Any]]:
        """What must be saved with the tree so that the search goes on as if it had not been."""
        return {}

    def restore(self, tree: Tree, kept: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `kept` gave; ValueError if it does not fit the tree."""
        if kept:
            raise ValueError("it holds the index of another search")
