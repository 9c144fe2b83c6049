"""Approximate search (PERCH-B): a beam through the levels of the tree."""

from collections.abc import Iterator

from .. import _arrays
from .._kernels.beam import beam_with_sample
from .._kernels.schema import Beam, Counts, Tree
from .ahead import first_row
from .copies import Copies
from .interface import Finder, Leaves, Part, Rows, Search


class BeamSearch(Search):
    """Looks at `width` nodes of each level for inserts; answers questions by another search."""

    def __init__(self, k: int, width: int, exact: Search) -> None:
        super().__init__(k)
        self._width, self._exact = width, exact
        self._memory: Beam | None = None
        self._copies = Copies()

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        if self._memory is None:
            self._memory = _arrays.make_beam(self._width, rows.shape[1], self.k, done)
        copies = self._copies.find_before(tree, rows)
        memory = self._memory._replace(copies=copies, cursor=first_row(tree))
        yield Part(rows, Finder(beam_with_sample, memory))

    def added(self, tree: Tree, ids: range) -> None:
        self._copies.note(tree, ids)

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        self._exact.n_jobs = self.n_jobs
        return self._exact.nearest(tree, rows, k, done)
