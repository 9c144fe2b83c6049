"""Cells: small nodes of an earlier state of the tree, in which the neighbours of a point are
searched.

Cells are the largest nodes of at most a given size; regions are the same with a larger size. Their
centres are fixed when they are made.
"""

from typing import NamedTuple

import numpy as np

from .distances import INFINITY
from .jit import entry_point, kernel
from .schema import LEFT, NONE, ROOT, SIZE, Counts, Doubles, Floats, Ints, Tree
from .walk import first_leaf, is_leaf, next_leaf, point_node, row_of, skip_subtree


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
