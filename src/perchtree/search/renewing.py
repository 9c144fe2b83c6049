"""Making cells from a tree, and finding out how many of them must be opened."""

import numpy as np
from numpy.typing import NDArray

from .._aligned import aligned
from .._arrays import make_work
from .._kernels.cells import Cells, count_cells, make_cells
from .._kernels.numbering import point_node, row_of
from .._kernels.opening import Sample, find_needed
from .._kernels.schema import BY_ID, FIRST, LEAF, N_LEAVES, NONE, POINT_ROWS, Tree
from .interface import Search
from .visiting import cells_without_points

CELL_SIZE = 16
"""Points of a cell at most when it is made; about half as many on average."""
REGION_SHARE = 0.25
"""Points of a region at most, times the square root of their number: so that a search looks at
about as many regions as cells. Larger ones tell less about the points in them."""
SAMPLE = 512
"""Points by which the number of cells to open is chosen."""
_TOGETHER = 16
"""Of these, so many are compared with all cells at a time."""


def new_cells(tree: Tree) -> Cells:
    """The cells of a tree as it stands; there must be points in it."""
    region_size = max(CELL_SIZE, int(REGION_SHARE * np.sqrt(tree.state[N_LEAVES])))
    counts = np.empty(2, np.int64)
    count_cells(tree, region_size, CELL_SIZE, counts)
    (n_regions, n_cells), d = counts.tolist(), tree.points.shape[1]
    cells = cells_without_points(
        aligned((n_regions, d)), aligned((n_cells, d)),
        np.empty(n_regions + 1, np.int32), len(tree.points),
    )  # fmt: skip
    make_cells(tree, cells, region_size, CELL_SIZE, np.empty((2, d)))
    return cells


def choose_width(tree: Tree, cells: Cells, since: int | None, recall: float, exact: Search) -> int:
    """How many cells to open so that a share `recall` of nearest neighbours is found.

    The points with ids from `since` on came when the cells stood, so they tell what it takes to
    find the neighbours of new points. Where there are none, points of which the cells were made are
    looked for as if they were new, each left out of the centre of its own cell; they are found a
    little too easily.
    """
    (width,) = choose_widths(tree, cells, since, recall, exact, 1)
    return width


def choose_widths(
    tree: Tree, cells: Cells, since: int | None, recall: float, exact: Search, n_samples: int
) -> list[int]:
    """What `choose_width` chooses by each of several samples."""
    rows, nearest = _sample(tree, since or 0, exact, n_samples * SAMPLE)
    n_cells, n_regions = len(cells.centres), len(cells.regions)
    widths = np.unique(np.minimum(np.outer([4, 5, 6, 7], 2 ** np.arange(29)) // 4, n_cells))
    if len(rows) == 0:
        return [1] * n_samples
    needed = np.empty(len(rows), np.int32)
    for first in range(0, len(rows), _TOGETHER):
        part = slice(first, first + _TOGETHER)
        own = np.column_stack([cells.own[rows[part]], cells.own[nearest[part]]])
        if since is not None:
            own[:, 0] = NONE  # the cells were made without these points
        sample = Sample(
            rows[part], nearest[part], own,
            np.empty((len(own), n_regions), np.float32), np.empty((len(own), n_cells), np.float32),
            np.empty(n_regions, np.int64), np.empty(n_regions, np.int32),
            np.empty(tree.points.shape[1], np.float32),
        )  # fmt: skip
        find_needed(tree.points, cells, sample, widths, needed[part])
    return [_enough(widths, needed[place::n_samples], recall) for place in range(n_samples)]


def _enough(widths: NDArray[np.int64], needed: NDArray[np.int32], recall: float) -> int:
    """The smallest width at which the wanted share of neighbours is found."""
    found = np.cumsum(np.bincount(needed, minlength=len(widths) + 1))[: len(widths)]
    enough = np.flatnonzero(found >= recall * len(needed))
    return int(widths[enough[0] if len(enough) else -1])


def _sample(
    tree: Tree, since: int, exact: Search, most: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Rows of some points, spread evenly over the ids, and the rows of their nearest neighbours."""
    n_rows = int(tree.state[POINT_ROWS])
    first_ids = np.sort(tree.nodes[point_node(np.arange(n_rows)), FIRST])
    chosen = first_ids[np.searchsorted(first_ids, max(since, 0)) :]
    chosen = chosen[:: max(1, len(chosen) // most)]
    rows = row_of(tree.ids[chosen, LEAF])
    if tree.state[N_LEAVES] == 1:
        return rows[:0], rows[:0]
    found = exact.nearest(tree, tree.points[rows], 2, make_work()).leaves[:, :, BY_ID]
    ids = np.where(found[:, 0] == chosen, found[:, 1], found[:, 0])
    return rows, row_of(tree.ids[ids, LEAF])
