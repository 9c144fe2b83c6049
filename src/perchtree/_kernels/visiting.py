"""Comparing rows with the points in the cells that are opened for them.

Cells are visited one after the other, each once for all rows that opened it: points that are
scattered in memory are fetched once, and ahead of time.
"""

from typing import NamedTuple

import numpy as np

from .cells import AFTER, Cells
from .distances import point_distance
from .jit import entry_point, kernel
from .opening import Opening, open_cells
from .order import offer_point, precedes
from .prefetch import prefetch
from .schema import DISTANCES, FIRST, NONE, Bools, Counts, Floats, Ints, Tree
from .walk import point_node


class Visits(NamedTuple):
    """Working memory: which rows opened each cell.

    - `starts`: int32 (cells + 1,), where the rows of a cell start;
    - `rows`: int32 (rows x width,).
    """

    starts: Ints
    rows: Ints


class Batch(NamedTuple):
    """Rows that are about to be inserted, in lists by the cells they will be in.

    - `rows`: float32 (n, d); the first of them gets the id `first_id`;
    - `opened`: int32 (n, 1 + width), as `open_cells` leaves it;
    - `heads`: int32 (cells,), the last row of each cell; `after`: int32 (n,), the one before it;
    - `counts`: int32 (cells,), how many rows each cell will have.

    Lists are empty at first, and counts those of the cells as they are.
    """

    rows: Floats
    first_id: int
    opened: Ints
    heads: Ints
    after: Ints
    counts: Ints


@kernel
def offer(near: Floats, ids: Ints, distance: np.float32, point_id: int) -> None:
    """Add a point to a row's best if it belongs there."""
    last = near.shape[0] - 1
    if precedes(distance, distance, point_id, near[last], near[last], ids[last]):
        offer_point(near, ids, distance, point_id)


@kernel
def list_visits(visits: Visits, opened: Ints) -> None:
    """Turn the cells of rows into the rows of cells."""
    starts, n_cells = visits.starts, visits.starts.shape[0] - 1
    starts[:] = 0
    for row in range(opened.shape[0]):
        for place in range(1, opened.shape[1]):
            if opened[row, place] != NONE:
                starts[opened[row, place]] += 1
    total = 0
    for cell in range(n_cells + 1):
        total += starts[cell]
        starts[cell] = total
    for row in range(opened.shape[0] - 1, -1, -1):
        for place in range(1, opened.shape[1]):
            cell = opened[row, place]
            if cell != NONE:
                starts[cell] -= 1
                visits.rows[starts[cell]] = row


@entry_point
def search_cells(
    tree: Tree, cells: Cells, opening: Opening, visits: Visits, rows: Floats, near: Floats,
    ids: Ints, opened: Ints, done: Counts,
) -> None:  # fmt: skip
    """The nearest points of each row among those in its nearest cells.

    `near` and `ids` are (rows, k), filled with infinity and NONE; `opened` as in `open_cells`.
    """
    n_distances = 0
    n_together = opening.counts.shape[0]
    for first in range(0, rows.shape[0], n_together):
        stop = min(first + n_together, rows.shape[0])
        n_distances += open_cells(cells, opening, rows[first:stop], opened[first:stop])
    list_visits(visits, opened)
    for cell in range(cells.heads.shape[0]):
        first, stop = visits.starts[cell], visits.starts[cell + 1]
        point = cells.heads[cell] if first < stop else NONE
        while point != NONE:
            after = cells.lists[point, AFTER]
            if after != NONE:
                prefetch(tree.points, after)
            point_id = tree.nodes[point_node(point), FIRST]
            for visit in range(first, stop):
                row = visits.rows[visit]
                distance = point_distance(rows[row], tree.points[point])
                if distance <= near[row, near.shape[1] - 1]:
                    offer(near[row], ids[row], distance, point_id)
            n_distances += stop - first
            point = after
    done[DISTANCES] += n_distances


@entry_point
def list_batch(batch: Batch, is_new: Bools, fullest: int) -> int:
    """Make lists of the rows of a batch by the cells they will be in, the last row first.

    Only rows that will have a leaf of their own (`is_new`) are listed. The result is how many rows
    there are before one whose cell would have more than `fullest`.
    """
    for row in range(batch.rows.shape[0]):
        batch.after[row] = NONE
        if is_new[row]:
            cell = batch.opened[row, 0]
            if batch.counts[cell] >= fullest:
                return row
            batch.counts[cell] += 1
            batch.after[row] = batch.heads[cell]
            batch.heads[cell] = row
    return batch.rows.shape[0]


@entry_point
def search_batch(batch: Batch, first: int, stop: int, near: Floats, ids: Ints) -> int:
    """Compare rows `first` to `stop` of a batch with those before them in their cells; how many
    distances that took."""
    n_distances = 0
    for row in range(first, stop):
        for place in range(1, batch.opened.shape[1]):
            cell = batch.opened[row, place]
            if cell == NONE:
                break
            other = batch.heads[cell]
            while other >= row:  # later rows come first
                other = batch.after[other]
            while other != NONE:
                distance = point_distance(batch.rows[row], batch.rows[other])
                n_distances += 1
                if distance <= near[row, near.shape[1] - 1]:
                    offer(near[row], ids[row], distance, batch.first_id + other)
                other = batch.after[other]
    return n_distances


@entry_point
def search_all_before(batch: Batch, row: int, is_new: Bools, near: Floats, ids: Ints) -> None:
    """Compare a row of a batch with all new ones before it."""
    for other in range(row):
        if is_new[other]:
            distance = point_distance(batch.rows[row], batch.rows[other])
            offer(near, ids, distance, batch.first_id + other)
