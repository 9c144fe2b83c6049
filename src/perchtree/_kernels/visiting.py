"""Comparing rows with the points in the cells that are opened for them.

Cells are visited one after the other, each once for all rows that opened it: points that are
scattered in memory are fetched once, and ahead of time.
"""

from typing import NamedTuple

import numpy as np

from .cells import BLOCK, Cells
from .distances import point_distance
from .jit import entry_point, kernel
from .opening import Opening, open_cells
from .order import offer_point, precedes
from .prefetch import prefetch
from .schema import DISTANCES, FIRST, NONE, SIZE, Bools, Counts, Floats, Ints, Tree
from .walk import point_node

AHEAD = 4
"""So many cells ahead of a visit it is looked up which points are in a cell."""


class Visits(NamedTuple):
    """Working memory: which cells were opened, and which rows opened each of them.

    - `starts`: int32 (cells + 1,), where the rows of a cell start;
    - `rows`: int32 (rows x width,);
    - `cells`: int32 (cells,), the cells that were opened by any row, in ascending order.
    """

    starts: Ints
    rows: Ints
    cells: Ints


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


@entry_point
def list_visits(visits: Visits, opened: Ints) -> int:
    """Turn the cells of rows into the rows of cells; how many cells were opened."""
    starts, n_cells = visits.starts, visits.starts.shape[0] - 1
    starts[:] = 0
    for row in range(opened.shape[0]):
        for place in range(1, opened.shape[1]):
            if opened[row, place] != NONE:
                starts[opened[row, place]] += 1
    total, n_opened = 0, 0
    for cell in range(n_cells):
        if starts[cell] > 0:
            visits.cells[n_opened] = cell
            n_opened += 1
        total += starts[cell]
        starts[cell] = total
    starts[n_cells] = total
    for row in range(opened.shape[0] - 1, -1, -1):
        for place in range(1, opened.shape[1]):
            cell = opened[row, place]
            if cell != NONE:
                starts[cell] -= 1
                visits.rows[starts[cell]] = row
    return n_opened


@entry_point
def open_for(cells: Cells, opening: Opening, rows: Floats, opened: Ints, done: Counts) -> None:
    """Find the cells that are opened for each row, as in `open_cells`."""
    n_together = opening.counts.shape[0]
    for first in range(0, rows.shape[0], n_together):
        stop = min(first + n_together, rows.shape[0])
        done[DISTANCES] += open_cells(cells, opening, rows[first:stop], opened[first:stop])


@entry_point
def search_cells(
    tree: Tree, cells: Cells, visits: Visits, start: int, stop: int, rows: Floats, near: Floats,
    ids: Ints, done: Counts,
) -> None:  # fmt: skip
    """Improve the nearest points of each row by those in some of the cells that it opens.

    These are `visits.cells`, from `start` to before `stop`. `near` and `ids` are (rows, k), at
    first filled with infinity and NONE.
    """
    n_distances = 0
    for place in range(start, stop):
        if place + AHEAD < stop:
            prefetch(cells.blocks, visits.cells[place + AHEAD])
        if place + 1 < stop:
            fetch_points(tree, cells, visits.cells[place + 1])
        cell = visits.cells[place]
        visitors = visits.rows[visits.starts[cell] : visits.starts[cell + 1]]
        visit_cell(tree, cells, cell, visitors, rows, near, ids)
        n_distances += visitors.shape[0] * cells.counts[cell]
    done[DISTANCES] += n_distances


@kernel
def fetch_points(tree: Tree, cells: Cells, cell: int) -> None:
    """Have the points of a cell brought into the cache; those of its first block."""
    for place in range(min(BLOCK, cells.counts[cell])):
        prefetch(tree.points, cells.blocks[cell, place])


@kernel
def visit_cell(
    tree: Tree, cells: Cells, cell: int, visitors: Ints, rows: Floats, near: Floats, ids: Ints
) -> None:
    """Compare some rows with all points of a cell, block by block."""
    block, left = cell, cells.counts[cell]
    while left > 0:
        for visitor in range(visitors.shape[0]):
            row = visitors[visitor]
            for place in range(min(BLOCK, left)):
                point = cells.blocks[block, place]
                distance = point_distance(rows[row], tree.points[point])
                if distance <= near[row, near.shape[1] - 1]:
                    offer(near[row], ids[row], distance, tree.nodes[point_node(point), FIRST])
        left -= BLOCK
        block = cells.following[block]


@entry_point
def search_rows(tree: Tree, first: int, stop: int, x: Floats, near: Floats, ids: Ints) -> None:
    """Improve the nearest points of a row by those in some rows of `Tree.points`."""
    for row in range(first, stop):
        leaf = point_node(row)
        if tree.nodes[leaf, SIZE] > 0:
            offer(near, ids, point_distance(x, tree.points[row]), tree.nodes[leaf, FIRST])


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
