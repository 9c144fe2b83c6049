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

BLOCK = 16
"""Rows in a block: 64 bytes, which are fetched at once."""


class Cells(NamedTuple):
    """Regions, the cells in them, and the points in each cell, in blocks of rows.

    - `regions`: float32 (regions, d), `centres`: float32 (cells, d): means of their points when
      they were made, or when one of these was removed;
    - `starts`: int32 (regions + 1,), cells `starts[r]` to `starts[r + 1]` are in region r;
    - `counts`: int32 (cells,), how many rows are in each cell;
    - `blocks`: int32 (blocks, BLOCK), these rows of `Tree.points`, in ascending order. A cell
      begins with the block of its own number; behind its last row there is nothing of meaning;
    - `following`: int32 (blocks,), the block in which it goes on; NONE for none;
    - `n_blocks`: int32 (1,), how many are in use;
    - `own`: int32 (rows,), the cell that a row is in; NONE for none.
    """

    regions: Floats
    centres: Floats
    starts: Ints
    counts: Ints
    blocks: Ints
    following: Ints
    n_blocks: Ints
    own: Ints


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
    """Put a row into a cell. Its rows are in ascending order, whatever happened before: so that
    sums over them are always the same. There must be room for another block."""
    block, carried = cell, row
    for place in range(cells.counts[cell]):
        if place > 0 and place % BLOCK == 0:
            block = cells.following[block]
        other = cells.blocks[block, place % BLOCK]
        if other > carried:
            cells.blocks[block, place % BLOCK] = carried
            carried = other
    place = cells.counts[cell] % BLOCK
    if place == 0 and cells.counts[cell] > 0:
        block = block_after(cells, block)
    cells.blocks[block, place] = carried
    cells.counts[cell] += 1
    cells.own[row] = cell


@kernel
def block_after(cells: Cells, block: int) -> int:
    """The block that follows another one; a new one if there is none yet."""
    if cells.following[block] == NONE:
        cells.following[block] = cells.n_blocks[0]
        cells.n_blocks[0] += 1
    return cells.following[block]


@kernel
def unlink_row(cells: Cells, row: int) -> None:
    cell = cells.own[row]
    block, to_block, to = cell, cell, 0
    for place in range(cells.counts[cell]):
        if place > 0 and place % BLOCK == 0:
            block = cells.following[block]
        other = cells.blocks[block, place % BLOCK]
        if other != row:
            if to > 0 and to % BLOCK == 0:
                to_block = cells.following[to_block]
            cells.blocks[to_block, to % BLOCK] = other
            to += 1
    cells.counts[cell] = to
    cells.own[row] = NONE


@entry_point
def link_rows(cells: Cells, rows: Ints, into: Ints) -> None:
    """Put rows that are in no cell into cells; copies, whose row is in one, stay."""
    for place in range(rows.shape[0]):
        if cells.own[rows[place]] == NONE:
            link_row(cells, rows[place], into[place])


@entry_point
def unlink_free(tree: Tree, cells: Cells, rows: Ints, sums: Doubles) -> None:
    """Take rows that hold no point any more out of their cells, and out of their centres.

    (A centre could give away the point that was removed: it may have been the only one.)
    """
    for place in range(rows.shape[0]):
        row = rows[place]
        cell = cells.own[row]
        if tree.nodes[point_node(row), SIZE] == 0 and cell != NONE:
            unlink_row(cells, row)
            centre_cell(tree, cells, cell, sums)
            centre_region(cells, region_of(cells, cell), sums)


@kernel
def centre_cell(tree: Tree, cells: Cells, cell: int, sums: Doubles) -> None:
    """Make the centre of a cell the mean of the points in it; without any it is nowhere."""
    sums[0] = 0.0
    block = cell
    for place in range(cells.counts[cell]):
        if place > 0 and place % BLOCK == 0:
            block = cells.following[block]
        row = cells.blocks[block, place % BLOCK]
        for j in range(sums.shape[1]):
            sums[0, j] += tree.points[row, j]
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
