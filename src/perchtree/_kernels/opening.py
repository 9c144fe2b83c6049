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

REACH = 12
"""So many times as many cells are looked at as are opened."""

TOGETHER = 32
"""Centres that are compared with all rows before the next ones: they stay in the cache."""

LARGEST_BITS = 2**31 - 1

BUCKETS = 2**11


class Opening(NamedTuple):
    """Working memory for opening cells for n rows together.

    - `to_regions`: float32 (n, regions), squared distances from the centres of regions;
    - `is_taken`: bool (n, regions), whether a row takes a region;
    - `to_cells`: float32 (n, cells), for each row the squared distances from the centres of all
      cells in its regions; `counts`: int32 (n,), how many there are;
    - `sizes`: int32 (regions,), how many cells are in each; `ones`: int32 (cells,), all one;
    - `histogram`: int64 (BUCKETS,).
    """

    to_regions: Floats
    is_taken: Bools
    to_cells: Floats
    counts: Ints
    sizes: Ints
    ones: Ints
    histogram: Counts


@kernel
def measure_block(rows: Floats, centres: Floats, squared: Floats) -> None:
    """Squared distances between rows and centres, into (rows, centres)."""
    for first in range(0, centres.shape[0], TOGETHER):
        for row in range(rows.shape[0]):
            for centre in range(first, min(first + TOGETHER, centres.shape[0])):
                squared[row, centre] = point_distance(rows[row], centres[centre])


# Taking the nearest


class Limit(NamedTuple):
    """What is nearer is taken, and of what is as near so much that it is enough."""

    bits: int
    rest: int


@kernel
def as_bits(distance: np.float32) -> int:
    """A whole number that sorts like a distance, which is not negative."""
    return np.int64(np.float32(distance).view(np.int32))


@kernel
def nearest_limit(
    distances: Floats, weights: Ints, count: int, wanted: int, histogram: Counts
) -> Limit:
    """How near the first of `count` distances must be to have the wanted weight together.

    Where that is, is narrowed down to a bucket of a histogram, again and again. Selecting by
    comparisons, which are unpredictable, takes several times as long.
    """
    low, high = LARGEST_BITS, 0
    for place in range(count):
        bits = as_bits(distances[place])
        low, high = min(low, bits), max(high, bits)
    rest = wanted
    while low < high:
        shift = 0
        while (high - low) >> shift >= histogram.shape[0]:
            shift += 1
        histogram[:] = 0
        for place in range(count):
            bits = as_bits(distances[place])
            if low <= bits <= high:
                histogram[(bits - low) >> shift] += weights[place]
        bucket, last = 0, (high - low) >> shift
        while bucket < last and histogram[bucket] < rest:
            rest -= histogram[bucket]
            bucket += 1
        low += bucket << shift
        high = min(high, low + (1 << shift) - 1)
    return Limit(low, rest)


@kernel
def take_regions(memory: Opening, row: int, wanted: int) -> None:
    """Note which regions a row takes to have so many cells."""
    distances, n_regions = memory.to_regions[row], memory.sizes.shape[0]
    limit = nearest_limit(distances, memory.sizes, n_regions, wanted, memory.histogram)
    rest = limit.rest
    for region in range(n_regions):
        bits = as_bits(distances[region])
        memory.is_taken[row, region] = bits < limit.bits or (bits == limit.bits and rest > 0)
        if bits == limit.bits:
            rest -= memory.sizes[region]


@kernel
def measure_cells(cells: Cells, memory: Opening, rows: Floats) -> int:
    """Compare each row with all cells of the regions it takes; how many distances that took."""
    memory.counts[:] = 0
    n_distances = 0
    for region in range(cells.regions.shape[0]):
        stop = cells.starts[region + 1]
        for first in range(cells.starts[region], stop, TOGETHER):
            last = min(first + TOGETHER, stop)
            for row in range(rows.shape[0]):
                if not memory.is_taken[row, region]:
                    continue
                count = memory.counts[row] - first
                for cell in range(first, last):
                    distance = point_distance(rows[row], cells.centres[cell])
                    memory.to_cells[row, count + cell] = distance
                memory.counts[row] += last - first
                n_distances += last - first
    return n_distances


@kernel
def take_cells(cells: Cells, memory: Opening, row: int, opened: Ints) -> None:
    """Find the nearest of the cells that a row was compared with."""
    width, distances, count = opened.shape[0] - 1, memory.to_cells[row], memory.counts[row]
    opened[:] = NONE
    limit = nearest_limit(distances, memory.ones, count, width, memory.histogram)
    rest, n_opened, place, best = limit.rest, 0, 0, INFINITY
    for region in range(cells.regions.shape[0]):
        if not memory.is_taken[row, region]:
            continue
        for cell in range(cells.starts[region], cells.starts[region + 1]):
            distance = distances[place]
            bits = as_bits(distance)
            place += 1
            if bits < limit.bits or (bits == limit.bits and rest > 0):
                rest -= bits == limit.bits
                n_opened += 1
                opened[n_opened] = cell
                if n_opened == 1 or distance < best:
                    best = distance
                    opened[0] = cell


@kernel
def open_cells(cells: Cells, memory: Opening, rows: Floats, opened: Ints) -> int:
    """Find the cells that are opened for rows; how many distances that took.

    `opened` is (rows, 1 + width): the nearest cell, then all that are opened in ascending order,
    and NONE behind them where there are fewer.
    """
    measure_block(rows, cells.regions, memory.to_regions)
    for row in range(rows.shape[0]):
        take_regions(memory, row, REACH * (opened.shape[1] - 1))
    n_distances = rows.shape[0] * cells.regions.shape[0] + measure_cells(cells, memory, rows)
    for row in range(rows.shape[0]):
        take_cells(cells, memory, row, opened[row])
    return n_distances


# How many cells to open


class Sample(NamedTuple):
    """Points that are looked for as if they were new, to see how many cells must be opened.

    - `rows`: int32 (n,), their rows; `nearest`: int32 (n,), the rows of their nearest neighbours;
    - `cells_of`: int32 (n, 2), the cells that the two are in; NONE in the place of the first if
      the cells were made without it;
    - `to_regions`: float32 (n, regions), `to_cells`: float32 (n, cells), working memory: squared
      distances from their centres;
    - `keys`: int64 (regions,), `regions`: int32 (regions,), working memory: a heap of regions;
    - `moved`: float32 (d,), working memory for a centre.
    """

    rows: Ints
    nearest: Ints
    cells_of: Ints
    to_regions: Floats
    to_cells: Floats
    keys: Counts
    regions: Ints
    moved: Floats


@entry_point
def find_needed(points: Floats, cells: Cells, sample: Sample, widths: Counts, needed: Ints) -> None:
    """For each point of a sample, the place of the first width at which its neighbour is found.

    A neighbour that is not found even at the largest width has the place after the last one.
    """
    for place in range(sample.rows.shape[0]):
        x = points[sample.rows[place] : sample.rows[place] + 1]
        measure_block(x, cells.regions, sample.to_regions[place : place + 1])
        measure_block(x, cells.centres, sample.to_cells[place : place + 1])
        if sample.cells_of[place, 0] != NONE:
            measure_without(points, cells, sample, place)
        needed[place] = first_width(cells, sample, place, widths)


@kernel
def measure_without(points: Floats, cells: Cells, sample: Sample, place: int) -> None:
    """Measure how far a point is from the centres of its own cell and region without it."""
    x, cell = points[sample.rows[place]], sample.cells_of[place, 0]
    move_away(cells.centres[cell], x, cells.counts[cell], sample.moved)
    sample.to_cells[place, cell] = point_distance(x, sample.moved)
    region = region_of(cells, cell)
    n_rows = 0
    for other in range(cells.starts[region], cells.starts[region + 1]):
        n_rows += cells.counts[other]
    move_away(cells.regions[region], x, n_rows, sample.moved)
    sample.to_regions[place, region] = point_distance(x, sample.moved)


@kernel
def move_away(centre: Floats, x: Floats, n_rows: int, moved: Floats) -> None:
    """The mean of `n_rows` rows without one of them; that of none is infinitely far away."""
    for j in range(x.shape[0]):
        if n_rows == 1:
            moved[j] = INFINITY
        else:
            moved[j] = centre[j] + (centre[j] - x[j]) / np.float32(n_rows - 1)


@kernel
def first_width(cells: Cells, sample: Sample, place: int, widths: Counts) -> int:
    """The place of the first width at which the cell of a point's neighbour is opened for it."""
    wanted, to_cells = sample.cells_of[place, 1], sample.to_cells[place]
    key = sort_key(to_cells[wanted], wanted)
    count = 0
    for region in range(cells.regions.shape[0]):
        region_key = sort_key(sample.to_regions[place, region], region)
        count = push(sample.keys, sample.regions, count, region_key, region)
    seen, nearer, is_seen = 0, 0, False
    for number in range(widths.shape[0]):
        while count > 0 and seen < REACH * widths[number]:
            region = sample.regions[0]
            count = pop(sample.keys, sample.regions, count)
            first, stop = cells.starts[region], cells.starts[region + 1]
            seen += stop - first
            is_seen = is_seen or first <= wanted < stop
            for cell in range(first, stop):
                if sort_key(to_cells[cell], cell) < key:
                    nearer += 1
        if is_seen and nearer < widths[number]:
            return number
    return widths.shape[0]
