"""Approximate search (PERCH-B): a beam through the levels of the tree."""

from collections.abc import Iterator

from .. import _arrays
from .._kernels.beam import beam_with_sample
from .._kernels.schema import Beam, Counts, Tree
from .interface import Finder, Leaves, Part, Rows, Search


class BeamSearch(Search):
    """Looks at `width` nodes of each level for inserts; answers questions by another search."""

    def __init__(self, k: int, width: int, exact: Search) -> None:
        super().__init__(k)
        self._width, self._exact = width, exact
        self._memory: Beam | None = None

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        if self._memory is None:
            self._memory = _arrays.make_beam(self._width, self.k, done)
        yield Part(rows, Finder(beam_with_sample, self._memory))

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        self._exact.n_jobs = self.n_jobs
        return self._exact.nearest(tree, rows, k, done)
