"""Cells: small nodes of a tree as it once stood, in which the neighbours of a point are looked for.

Cells are the largest nodes of at most so many points, regions the same with more. Their centres are
fixed when they are made. A row is compared with the centres of all regions, then with those of the
cells in the nearest regions, then with the points of the nearest cells.
"""

from typing import NamedTuple

import numpy as np

from .distances import INFINITY, point_distance
from .heap import pop, push, sort_key
from .jit import entry_point, kernel
from .order import offer_point, precedes
from .schema import (
    DISTANCES,
    FIRST,
    LEFT,
    NONE,
    ROOT,
    SIZE,
    Bools,
    Counts,
    Doubles,
    Floats,
    Ints,
    Tree,
)
from .walk import first_leaf, is_leaf, next_leaf, point_node, row_of, skip_subtree

REACH = 16
"""So many times as many cells are looked at as are opened."""


class Cells(NamedTuple):
    """Regions, the cells in them, and the points in each cell, as lists of rows.

    - `regions`: float32 (regions, d), `centres`: float32 (cells, d): means of their points when
      they were made, or when one of these was removed;
    - `starts`: int32 (regions + 1,), cells `starts[r]` to `starts[r + 1]` are in region r;
    - `heads`: int32 (cells,), the first row of `Tree.points` in each cell; NONE in an empty one;
    - `counts`: int32 (cells,), how many rows are in each;
    - `lists`: int32 (rows, 3): the CELL that a row is in, and the rows AFTER and BEFORE it there;
      NONE for none.
    """

    regions: Floats
    centres: Floats
    starts: Ints
    heads: Ints
    counts: Ints
    lists: Ints


# Columns of `Cells.lists`.
CELL = 0
AFTER = 1
BEFORE = 2


class Opening(NamedTuple):
    """Working memory for opening cells: a heap of regions, and one of cells.

    - `region_keys`: int64 (regions,), `region_items`: int32 (regions,);
    - `cell_keys`: int64 (width,), `cell_items`: int32 (width,): as negative keys, farthest first.
    """

    region_keys: Counts
    region_items: Ints
    cell_keys: Counts
    cell_items: Ints


class Batch(NamedTuple):
    """Rows that are about to be inserted, in lists by the cells they will be in.

    - `rows`: float32 (n, d); the first of them gets the id `first_id`;
    - `opened`: int32 (n, 1 + width), as `search_cells` leaves it;
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


# Making cells


@entry_point
def count_cells(tree: Tree, region_size: int, cell_size: int, counts: Counts) -> None:
    """How many regions and cells there will be, into `counts`."""
    counts[:] = 0
    root = tree.state[ROOT]
    region = next_small(tree, root, root, region_size)
    while region != NONE:
        counts[0] += 1
        cell = next_small(tree, region, region, cell_size)
        while cell != NONE:
            counts[1] += 1
            cell = next_small(tree, skip_subtree(tree, cell, region), region, cell_size)
        region = next_small(tree, skip_subtree(tree, region, root), root, region_size)


@kernel
def next_small(tree: Tree, node: int, top: int, size: int) -> int:
    """From `node` on, in a preorder walk of `top`, the first with at most `size` points; a leaf
    counts whatever its size."""
    while node != NONE and tree.nodes[node, SIZE] > size and not is_leaf(tree, node):
        node = tree.nodes[node, LEFT]
    return node


@entry_point
def make_cells(tree: Tree, cells: Cells, region_size: int, cell_size: int, sums: Doubles) -> None:
    """Fill arrays that have room for what `count_cells` has counted. `sums` is (2, d)."""
    cells.lists[:] = NONE
    cells.heads[:] = NONE
    cells.counts[:] = 0
    root = tree.state[ROOT]
    n_regions, n_cells = 0, 0
    region = next_small(tree, root, root, region_size)
    while region != NONE:
        cells.starts[n_regions] = n_cells
        sums[0] = 0.0
        n_leaves = 0
        cell = next_small(tree, region, region, cell_size)
        while cell != NONE:
            n_leaves += fill_cell(tree, cells, n_cells, cell, sums)
            n_cells += 1
            cell = next_small(tree, skip_subtree(tree, cell, region), region, cell_size)
        divide(sums[0], n_leaves, cells.regions[n_regions])
        n_regions += 1
        region = next_small(tree, skip_subtree(tree, region, root), root, region_size)
    cells.starts[n_regions] = n_cells


@kernel
def fill_cell(tree: Tree, cells: Cells, cell: int, node: int, sums: Doubles) -> int:
    """Make a cell of the leaves below a node; add their sum to `sums[0]`; how many there are."""
    sums[1] = 0.0
    n_leaves = 0
    leaf = first_leaf(tree, node)
    while leaf != NONE:
        row = row_of(leaf)
        link_row(cells, row, cell)
        for j in range(sums.shape[1]):
            sums[1, j] += tree.points[row, j]
        n_leaves += 1
        leaf = next_leaf(tree, leaf, node)
    for j in range(sums.shape[1]):
        sums[0, j] += sums[1, j]
    divide(sums[1], n_leaves, cells.centres[cell])
    return n_leaves


@kernel
def link_row(cells: Cells, row: int, cell: int) -> None:
    """Put a row into a cell. Lists are in descending order, whatever happened before: so that sums
    over them are."""
    before, after = NONE, cells.heads[cell]
    while after > row:
        before, after = after, cells.lists[after, AFTER]
    cells.lists[row, CELL] = cell
    cells.lists[row, AFTER] = after
    cells.lists[row, BEFORE] = before
    if after != NONE:
        cells.lists[after, BEFORE] = row
    if before == NONE:
        cells.heads[cell] = row
    else:
        cells.lists[before, AFTER] = row
    cells.counts[cell] += 1


@kernel
def unlink_row(cells: Cells, row: int) -> None:
    cell, after, before = cells.lists[row, CELL], cells.lists[row, AFTER], cells.lists[row, BEFORE]
    cells.counts[cell] -= 1
    if before == NONE:
        cells.heads[cell] = after
    else:
        cells.lists[before, AFTER] = after
    if after != NONE:
        cells.lists[after, BEFORE] = before
    for column in (CELL, AFTER, BEFORE):
        cells.lists[row, column] = NONE


@entry_point
def link_rows(cells: Cells, rows: Ints, into: Ints) -> None:
    """Put rows that are in no cell into cells; copies, whose row is in one, stay."""
    for place in range(rows.shape[0]):
        if cells.lists[rows[place], CELL] == NONE:
            link_row(cells, rows[place], into[place])


@entry_point
def unlink_free(tree: Tree, cells: Cells, rows: Ints, sums: Doubles) -> None:
    """Take rows that hold no point any more out of their cells, and out of their centres.

    (A centre could give away the point that was removed: it may have been the only one.)
    """
    for place in range(rows.shape[0]):
        row = rows[place]
        cell = cells.lists[row, CELL]
        if tree.nodes[point_node(row), SIZE] == 0 and cell != NONE:
            unlink_row(cells, row)
            centre_cell(tree, cells, cell, sums)
            centre_region(cells, region_of(cells, cell), sums)


@kernel
def centre_cell(tree: Tree, cells: Cells, cell: int, sums: Doubles) -> None:
    """Make the centre of a cell the mean of the points in it; without any it is nowhere."""
    sums[0] = 0.0
    row = cells.heads[cell]
    while row != NONE:
        for j in range(sums.shape[1]):
            sums[0, j] += tree.points[row, j]
        row = cells.lists[row, AFTER]
    divide(sums[0], cells.counts[cell], cells.centres[cell])


@kernel
def centre_region(cells: Cells, region: int, sums: Doubles) -> None:
    """Make the centre of a region the mean of its cells' centres, by their points."""
    sums[0] = 0.0
    count = 0
    for cell in range(cells.starts[region], cells.starts[region + 1]):
        if cells.counts[cell] > 0:
            count += cells.counts[cell]
            for j in range(sums.shape[1]):
                sums[0, j] += cells.counts[cell] * np.float64(cells.centres[cell, j])
    divide(sums[0], count, cells.regions[region])


@kernel
def divide(total: Doubles, count: int, mean: Floats) -> None:
    for j in range(mean.shape[0]):
        mean[j] = total[j] / count if count > 0 else INFINITY


# Searching


@kernel
def open_cells(cells: Cells, memory: Opening, x: Floats, width: int) -> int:
    """Put the `width` cells nearest to x, in the nearest regions, into the heap of `memory`.

    Regions are taken, the nearest first, until they have `REACH` times as many cells. Of equal
    distances the smaller number counts. The result is how many cells were opened.
    """
    n_regions = cells.regions.shape[0]
    count = 0
    for region in range(n_regions):
        key = sort_key(point_distance(x, cells.regions[region]), region)
        count = push(memory.region_keys, memory.region_items, count, key, region)
    opened, seen = 0, 0
    while count > 0 and seen < REACH * width:
        region = memory.region_items[0]
        count = pop(memory.region_keys, memory.region_items, count)
        seen += cells.starts[region + 1] - cells.starts[region]
        for cell in range(cells.starts[region], cells.starts[region + 1]):
            key = -sort_key(point_distance(x, cells.centres[cell]), cell)
            if opened == width:
                if key < memory.cell_keys[0]:
                    continue
                opened = pop(memory.cell_keys, memory.cell_items, opened)
            opened = push(memory.cell_keys, memory.cell_items, opened, key, cell)
    return opened


@kernel
def nearest_opened(memory: Opening, opened: int) -> int:
    """The nearest of the cells that were opened."""
    best = 0
    for place in range(1, opened):
        if memory.cell_keys[place] > memory.cell_keys[best]:
            best = place
    return memory.cell_items[best]


@kernel
def offer(near: Floats, ids: Ints, distance: np.float32, point_id: int) -> None:
    """Take a point among a row's best if it belongs there."""
    last = near.shape[0] - 1
    if precedes(distance, distance, point_id, near[last], near[last], ids[last]):
        offer_point(near, ids, distance, point_id)


@entry_point
def search_cells(
    tree: Tree, cells: Cells, memory: Opening, rows: Floats, near: Floats, ids: Ints,
    opened: Ints, done: Counts,
) -> None:  # fmt: skip
    """The nearest points of each row among those in its nearest cells.

    `near` and `ids` are (rows, k), filled with infinity and NONE. `opened` is (rows, 1 + width):
    the nearest cell, in which a row will be, then all that were opened, and NONE behind them.
    """
    n_distances = 0
    for row in range(rows.shape[0]):
        x = rows[row]
        count = open_cells(cells, memory, x, opened.shape[1] - 1)
        opened[row, 0] = nearest_opened(memory, count)
        for place in range(opened.shape[1] - 1):
            opened[row, 1 + place] = memory.cell_items[place] if place < count else NONE
        for place in range(count):
            point = cells.heads[memory.cell_items[place]]
            while point != NONE:
                distance = point_distance(x, tree.points[point])
                n_distances += 1
                if distance <= near[row, near.shape[1] - 1]:
                    offer(near[row], ids[row], distance, tree.nodes[point_node(point), FIRST])
                point = cells.lists[point, AFTER]
        n_distances += cells.regions.shape[0] + REACH * count
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


# How many cells to open


class Sample(NamedTuple):
    """Points that are looked for as if they were new, to see how many cells must be opened.

    - `rows`: int32 (n,), their rows; `nearest`: int32 (n,), the rows of their nearest neighbours;
    - `kept`: float32 (2, d), working memory for the centres of a point's own cell and region.
    """

    rows: Ints
    nearest: Ints
    kept: Floats


@entry_point
def find_needed(
    points: Floats, cells: Cells, memory: Opening, sample: Sample, widths: Counts, needed: Ints
) -> None:
    """For each point of a sample, the place of the first width at which its neighbour is found.

    A neighbour that is not found even at the largest width has the place after the last one.
    """
    for place in range(sample.rows.shape[0]):
        wanted = cells.lists[sample.nearest[place], CELL]
        needed[place] = first_width(cells, memory, points[sample.rows[place]], wanted, widths)


@entry_point
def find_needed_without(
    points: Floats, cells: Cells, memory: Opening, sample: Sample, widths: Counts, needed: Ints
) -> None:
    """Find the same of points of which cells were made, each left out of its cell and region."""
    for place in range(sample.rows.shape[0]):
        row = sample.rows[place]
        cell = cells.lists[row, CELL]
        region = region_of(cells, cell)
        x = points[row]
        copy_row(cells.centres[cell], sample.kept[0])
        copy_row(cells.regions[region], sample.kept[1])
        leave_out(cells.centres[cell], x, cells.counts[cell])
        n_rows = 0
        for other in range(cells.starts[region], cells.starts[region + 1]):
            n_rows += cells.counts[other]
        leave_out(cells.regions[region], x, n_rows)
        wanted = cells.lists[sample.nearest[place], CELL]
        needed[place] = first_width(cells, memory, x, wanted, widths)
        copy_row(sample.kept[0], cells.centres[cell])
        copy_row(sample.kept[1], cells.regions[region])


@kernel
def copy_row(row: Floats, to: Floats) -> None:
    for j in range(row.shape[0]):
        to[j] = row[j]


@kernel
def region_of(cells: Cells, cell: int) -> int:
    """The region that a cell is in, by bisection."""
    low, high = 0, cells.regions.shape[0]
    while high - low > 1:
        middle = (low + high) // 2
        if cells.starts[middle] <= cell:
            low = middle
        else:
            high = middle
    return low


@kernel
def leave_out(centre: Floats, x: Floats, n_rows: int) -> None:
    """Make the mean of `n_rows` rows that of the others; that of none is infinitely far away."""
    for j in range(x.shape[0]):
        if n_rows == 1:
            centre[j] = INFINITY
        else:
            centre[j] += (centre[j] - x[j]) / np.float32(n_rows - 1)


@kernel
def first_width(cells: Cells, memory: Opening, x: Floats, wanted: int, widths: Counts) -> int:
    """The place of the first width at which a cell is among those opened for x."""
    for place in range(widths.shape[0]):
        opened = open_cells(cells, memory, x, widths[place])
        for other in range(opened):
            if memory.cell_items[other] == wanted:
                return place
    return widths.shape[0]
