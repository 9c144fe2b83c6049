"""Search in cells on workers: those of the tree as it stood when they were made.

A worker holds the vectors of all points. The few that came since are looked at where the tree is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.cells import Cells, link_rows
from .._kernels.numbering import point_node
from .._kernels.schema import DISTANCES, FIRST, NODE_COLUMNS, NONE, Tree
from ..search.visiting import cells_without_points, visit_cells, with_room
from .job import Job
from .parts import load_part, save_part


class HeldRows:
    """Vectors of all rows that were needed so far, by their numbers; and the cells made last."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._is_loaded = np.zeros(job.n_blocks, bool)
        self._has_base = False
        self.vectors: NDArray[np.float32] | None = None
        self.is_row = np.zeros(job.first_number + job.stop_row, bool)
        self._made: tuple[int, Tree, Cells] | None = None

    def load(self, numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """See that the vectors of these rows are there."""
        job = self._job
        rows = numbers[numbers >= job.first_number] - job.first_number - job.first_row
        blocks = np.unique(rows // job.block_rows)
        blocks = blocks[~self._is_loaded[blocks]]
        wanted = blocks.tolist()
        if not self._has_base and (numbers < job.first_number).any():
            wanted += range(-job.n_base, 0)
        for block in wanted:
            _, arrays = load_part(job.rows_path(block), ("rows", "numbers"))
            if self.vectors is None:
                self.vectors = np.empty((len(self.is_row), arrays["rows"].shape[1]), np.float32)
            self.vectors[arrays["numbers"]] = arrays["rows"]
            self.is_row[arrays["numbers"]] = True
        self._is_loaded[blocks] = True
        self._has_base = self._has_base or len(wanted) > len(blocks)
        assert self.vectors is not None
        return self.vectors

    def cells(self, since: int) -> tuple[Tree, Cells]:
        """The cells that were made when the next point was to get this id, in a tree of rows."""
        if self._made is None or self._made[0] != since:
            _, arrays = load_part(self._job.cells_path(since))
            numbers, own = arrays.pop("numbers"), arrays.pop("own")
            vectors = self.load(numbers)
            cells = cells_without_points(**arrays, n_rows=len(vectors))
            cells = with_room(cells, len(vectors), len(numbers))
            link_rows(cells, numbers, own)
            nodes = np.full((2 * len(vectors), NODE_COLUMNS), NONE, np.int32)
            nodes[point_node(np.arange(len(vectors))), FIRST] = np.arange(len(vectors))
            tree = _arrays.empty_tree(vectors.shape[1], None, with_moments=False, listed=0)
            self._made = since, tree._replace(points=vectors, nodes=nodes), cells
        return self._made[1:]


class Range(NamedTuple):
    """Rows of the input that are looked for in cells of one time."""

    since: int
    width: int
    start: int
    stop: int


def look_into_cells(job: Job, held: HeldRows, about: Range) -> None:
    """The nearest points of rows in their nearest cells, and these cells: a part."""
    tree, cells = held.cells(about.since)
    numbers = np.arange(about.start, about.stop, dtype=np.int32) + job.first_number
    vectors = held.load(numbers)
    numbers = numbers[held.is_row[numbers]]
    work = _arrays.make_work()
    found, opened = visit_cells(tree, cells, about.width, vectors[numbers], job.k, 1, work)
    arrays = {"rows": numbers, "near": found.near, "numbers": found.ids, "opened": opened}
    save_part(
        job.looked_path(about.since, about.start, about.stop),
        arrays,
        distances=int(work[DISTANCES]),
    )
