"""Opening cells for many rows together, and visiting them."""

from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config

from kernels import callable_from_python
from perchtree import ClusterTree
from perchtree._kernels import opening
from perchtree._kernels.schema import DISTANCES, WORK
from perchtree.search import renewing, visiting
from strategies import draw_bytes

nearest_limit = callable_from_python(opening.nearest_limit)
open_cells = callable_from_python(opening.open_cells)


@given(st.data())
def test_the_nearest_are_taken_until_they_have_enough_weight(data):
    distances = data.draw(st.lists(st.sampled_from([0, 1e-9, 0.5, 1, 1.0000001, 3e9, np.inf])))
    weights = data.draw(
        st.lists(st.integers(1, 9), min_size=len(distances), max_size=len(distances))
    )
    wanted = data.draw(st.integers(1, 60))
    limit = nearest_limit(
        np.array([*distances, 0], np.float32), np.array([*weights, 99], np.int32),
        len(distances), wanted, np.empty(opening.BUCKETS, np.int64),
    )  # fmt: skip
    seen, expected = 0, []
    for place in sorted(range(len(distances)), key=lambda i: (np.float32(distances[i]), i)):
        if seen < wanted:
            expected.append(place)
            seen += weights[place]
    taken, rest = [], limit.rest
    for place, distance in enumerate(distances):
        bits = int(np.float32(distance).view(np.int32))
        if bits < limit.bits or (bits == limit.bits and rest > 0):
            taken.append(place)
        if bits == limit.bits:
            rest -= weights[place]
    assert sorted(expected) == taken


def made(X, size):
    tree = ClusterTree(X.shape[1], search="astar")
    tree.insert(X)
    with mock.patch.multiple(renewing, CELL_SIZE=size, REGION_SHARE=1):
        return tree, renewing.new_cells(tree._tree)


@given(st.data())
def test_rows_do_not_depend_on_those_beside_them(data):
    """Whatever is looked at together: neighbours, cells and counted work are the same."""
    X = draw_bytes(data.draw, data.draw(st.integers(2, 40)), 2).astype(np.float32) % 30
    tree, cells = made(X, data.draw(st.integers(1, 5)))
    width = data.draw(st.integers(1, len(cells.centres)))
    rows = np.ascontiguousarray(X[::-1] + np.float32(0.5))

    def visit(n_jobs, rows=rows):
        done = np.zeros(len(WORK), np.int64)
        found, opened = visiting.visit_cells(tree._tree, cells, width, rows, 3, n_jobs, done)
        return *found, np.sort(opened[:, 1:]), opened[:, 0], done[DISTANCES]

    alone = [visit(1, rows[row : row + 1]) for row in range(len(rows))]
    expected = [*(np.concatenate(parts) for parts in list(zip(*alone, strict=True))[:4]),
                sum(parts[4] for parts in alone)]  # fmt: skip
    with mock.patch.multiple(
        visiting,
        TASK_ROWS=data.draw(st.integers(1, 9)),
        KEPT=data.draw(st.integers(1, 200)),
    ):
        for n_jobs in (1, 2):
            for got, wanted in zip(visit(n_jobs), expected, strict=True):
                assert np.array_equal(got, wanted)


@given(st.data())
def test_the_width_needed_is_the_first_at_which_the_cell_is_opened(data):
    X = draw_bytes(data.draw, data.draw(st.integers(3, 30)), 2).astype(np.float32) % 20
    X *= 60  # means of up to six points are whole numbers, and distances from them exact
    tree, cells = made(X, data.draw(st.integers(1, 4)))
    n_cells, n_regions = len(cells.centres), len(cells.regions)
    rows = np.arange(tree.n_leaves, dtype=np.int32)
    nearest = rows[::-1].copy()
    widths = np.unique(np.minimum([1, 2, 3, n_cells], n_cells))
    # Compiled code divides by multiplying, which rounds: then ties may come out otherwise.
    without = config.DISABLE_JIT and data.draw(st.booleans())
    own = np.column_stack([cells.own[rows], cells.own[nearest]])
    own[:, 0] = own[:, 0] if without else -1
    points = tree._tree.points
    needed = np.empty(len(rows), np.int32)
    # Compiled code has the usual one, and must not be compiled while there is another.
    with mock.patch.object(opening, "REACH", 2 if config.DISABLE_JIT else opening.REACH):
        sample = opening.Sample(
            rows, nearest, own,
            np.empty((len(rows), n_regions), np.float32),
            np.empty((len(rows), n_cells), np.float32),
            np.empty(n_regions, np.int64), np.empty(n_regions, np.int32),
            np.empty(2, np.float32),
        )  # fmt: skip
        opening.find_needed(points, cells, sample, widths, needed)
        for place, row in enumerate(rows):
            there = cells
            if without:
                there = left_out(cells, points[row], int(own[place, 0]))
            is_opened = []
            for width in widths:
                opened = np.empty((1, 1 + width), np.int32)
                open_cells(there, visiting.make_opening(there, width, 1), points[[row]], opened)
                is_opened.append(own[place, 1] in opened[0, 1:])
            assert needed[place] == [*is_opened, True].index(True)


def left_out(cells, x, cell):
    """The cells if a point had not been there when they were made."""

    def moved(centre, n_rows):
        if n_rows == 1:
            return np.full_like(centre, np.inf)
        return (centre * n_rows - x) / np.float32(n_rows - 1)

    region = int(np.searchsorted(cells.starts, cell, side="right")) - 1
    centres, regions = cells.centres.copy(), cells.regions.copy()
    centres[cell] = moved(centres[cell], int(cells.counts[cell]))
    n_rows = int(cells.counts[cells.starts[region] : cells.starts[region + 1]].sum())
    regions[region] = moved(regions[region], n_rows)
    return cells._replace(centres=centres, regions=regions)
