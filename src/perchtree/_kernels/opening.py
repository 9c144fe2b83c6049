"""Which cells are opened for a row: the nearest ones in the nearest regions.

Regions are taken, the nearest first, until they have `REACH` times as many cells as are opened; of
all their cells the nearest are. Of equal distances the smaller number counts. Rows are processed
together, so that centres are read once for all of them and not once for each: but what is opened
for a row does not depend on the others.
"""

from typing import NamedTuple

import numpy as np

from .cells import Cells, region_of
from .distances import INFINITY, point_distance
from .heap import pop, push, sort_key
from .jit import entry_point, kernel
from .schema import NONE, Bools, Counts, Floats, Ints

REACH = 16
"""So many times as many cells are looked at as are opened."""

TOGETHER = 32
"""Centres that are compared with all rows before the next ones: they stay in the cache."""


class Opening(NamedTuple):
    """Working memory for opening cells for n rows together.

    - `to_regions`: float32 (n, regions), squared distances from the centres of regions;
    - `region_keys`: int64 (regions,), `region_items`: int32 (regions,), a heap of regions;
    - `is_taken`: bool (n, regions), whether a row takes a region;
    - `keys`: int64 (n, cells), for each row the distances from cells in its regions, and their
      numbers, as `sort_key` combines them;
    - `counts`: int32 (n,), how many there are.
    """

    to_regions: Floats
    region_keys: Counts
    region_items: Ints
    is_taken: Bools
    keys: Counts
    counts: Ints


@kernel
def measure_block(rows: Floats, centres: Floats, squared: Floats) -> None:
    """Squared distances between rows and centres, into (rows, centres)."""
    for first in range(0, centres.shape[0], TOGETHER):
        for row in range(rows.shape[0]):
            for centre in range(first, min(first + TOGETHER, centres.shape[0])):
                squared[row, centre] = point_distance(rows[row], centres[centre])


@kernel
def queue_regions(memory: Opening, to_regions: Floats) -> int:
    """Make a heap of all regions, by a row's distances; how many there are."""
    count = 0
    for region in range(to_regions.shape[0]):
        key = sort_key(to_regions[region], region)
        count = push(memory.region_keys, memory.region_items, count, key, region)
    return count


@kernel
def take_regions(cells: Cells, memory: Opening, row: int, width: int) -> None:
    """Note which regions a row takes if `width` cells are opened for it."""
    memory.is_taken[row] = False
    count = queue_regions(memory, memory.to_regions[row])
    seen = 0
    while count > 0 and seen < REACH * width:
        region = memory.region_items[0]
        count = pop(memory.region_keys, memory.region_items, count)
        seen += cells.starts[region + 1] - cells.starts[region]
        memory.is_taken[row, region] = True


@kernel
def measure_cells(cells: Cells, memory: Opening, rows: Floats) -> int:
    """Compare each row with all cells of the regions it takes; how many distances that took."""
    memory.counts[:] = 0
    n_distances = 0
    for region in range(cells.regions.shape[0]):
        first, stop = cells.starts[region], cells.starts[region + 1]
        for row in range(rows.shape[0]):
            if not memory.is_taken[row, region]:
                continue
            count = memory.counts[row]
            for cell in range(first, stop):
                distance = point_distance(rows[row], cells.centres[cell])
                memory.keys[row, count + cell - first] = sort_key(distance, cell)
            memory.counts[row] = count + stop - first
            n_distances += stop - first
    return n_distances


@kernel
def move_smallest(keys: Counts, count: int, wanted: int) -> None:
    """Rearrange `count` different keys so that the smallest `wanted` ones come first (Hoare's
    selection)."""
    low, high = 0, count - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while keys[left] < pivot:
                left += 1
            while keys[right] > pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                left += 1
                right -= 1
        if wanted <= right + 1:
            high = right
        elif wanted > left:
            low = left
        else:
            return


@kernel
def open_cells(cells: Cells, memory: Opening, rows: Floats, opened: Ints) -> int:
    """Find the cells that are opened for rows; how many distances that took.

    `opened` is (rows, 1 + width): the nearest cell, then all that are opened in no useful order,
    and NONE behind them where there are fewer.
    """
    width = opened.shape[1] - 1
    measure_block(rows, cells.regions, memory.to_regions)
    for row in range(rows.shape[0]):
        take_regions(cells, memory, row, width)
    n_distances = rows.shape[0] * cells.regions.shape[0]
    n_distances += measure_cells(cells, memory, rows)
    for row in range(rows.shape[0]):
        keys, count = memory.keys[row], memory.counts[row]
        move_smallest(keys, count, width)
        nearest = keys[0]
        for place in range(width):
            opened[row, 1 + place] = NONE
            if place < count:
                opened[row, 1 + place] = np.int32(keys[place] & 0x7FFFFFFF)
                nearest = min(nearest, keys[place])
        opened[row, 0] = np.int32(nearest & 0x7FFFFFFF)
    return n_distances


# How many cells to open


class Sample(NamedTuple):
    """Points that are looked for as if they were new, to see how many cells must be opened.

    - `rows`: int32 (n,), their rows; `nearest`: int32 (n,), the rows of their nearest neighbours;
    - `cells_of`: int32 (n, 2), the cells that the two are in; NONE in the place of the first if
      the cells were made without it;
    - `to_cells`: float32 (n, cells), working memory: squared distances from their centres;
    - `moved`: float32 (d,), working memory for a centre.
    """

    rows: Ints
    nearest: Ints
    cells_of: Ints
    to_cells: Floats
    moved: Floats


@entry_point
def find_needed(
    points: Floats, cells: Cells, memory: Opening, sample: Sample, widths: Counts, needed: Ints
) -> None:
    """For each point of a sample, the place of the first width at which its neighbour is found.

    A neighbour that is not found even at the largest width has the place after the last one.
    """
    for place in range(sample.rows.shape[0]):
        x = points[sample.rows[place] : sample.rows[place] + 1]
        measure_block(x, cells.regions, memory.to_regions[place : place + 1])
        measure_block(x, cells.centres, sample.to_cells[place : place + 1])
        if sample.cells_of[place, 0] != NONE:
            measure_without(points, cells, memory, sample, place)
        needed[place] = first_width(cells, memory, sample, place, widths)


@kernel
def measure_without(
    points: Floats, cells: Cells, memory: Opening, sample: Sample, place: int
) -> None:
    """Measure how far a point is from the centres of its own cell and region without it."""
    x, cell = points[sample.rows[place]], sample.cells_of[place, 0]
    move_away(cells.centres[cell], x, cells.counts[cell], sample.moved)
    sample.to_cells[place, cell] = point_distance(x, sample.moved)
    region = region_of(cells, cell)
    n_rows = 0
    for other in range(cells.starts[region], cells.starts[region + 1]):
        n_rows += cells.counts[other]
    move_away(cells.regions[region], x, n_rows, sample.moved)
    memory.to_regions[place, region] = point_distance(x, sample.moved)


@kernel
def move_away(centre: Floats, x: Floats, n_rows: int, moved: Floats) -> None:
    """The mean of `n_rows` rows without one of them; that of none is infinitely far away."""
    for j in range(x.shape[0]):
        if n_rows == 1:
            moved[j] = INFINITY
        else:
            moved[j] = centre[j] + (centre[j] - x[j]) / np.float32(n_rows - 1)


@kernel
def first_width(cells: Cells, memory: Opening, sample: Sample, place: int, widths: Counts) -> int:
    """The place of the first width at which the cell of a point's neighbour is opened for it."""
    wanted, to_cells = sample.cells_of[place, 1], sample.to_cells[place]
    key = sort_key(to_cells[wanted], wanted)
    count = queue_regions(memory, memory.to_regions[place])
    seen, nearer, is_seen = 0, 0, False
    for number in range(widths.shape[0]):
        while count > 0 and seen < REACH * widths[number]:
            region = memory.region_items[0]
            count = pop(memory.region_keys, memory.region_items, count)
            first, stop = cells.starts[region], cells.starts[region + 1]
            seen += stop - first
            is_seen = is_seen or first <= wanted < stop
            for cell in range(first, stop):
                if sort_key(to_cells[cell], cell) < key:
                    nearer += 1
        if is_seen and nearer < widths[number]:
            return number
    return widths.shape[0]
