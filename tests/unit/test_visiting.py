"""Opening cells for many rows together, and visiting them."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config

from kernels import callable_from_python
from perchtree import ClusterTree
from perchtree._kernels import opening
from perchtree._kernels.cells import CELL
from perchtree._kernels.schema import DISTANCES, WORK
from perchtree.search import renewing, visiting
from strategies import draw_bytes

move_smallest = callable_from_python(opening.move_smallest)
open_cells = callable_from_python(opening.open_cells)


@given(st.lists(st.integers(0, 50), unique=True), st.integers(0, 60))
def test_the_smallest_keys_come_first(keys, wanted):
    array = np.array([*keys, -1], np.int64)  # what is behind them stays where it is
    move_smallest(array, len(keys), wanted)
    assert sorted(array[:wanted][: len(keys)].tolist()) == sorted(keys)[:wanted]
    assert sorted(array[:-1].tolist()) == sorted(keys)
    assert array[-1] == -1


@pytest.mark.parametrize("order", [1, -1])
def test_sorted_keys_do_not_take_quadratic_time(order):
    keys = np.arange(100_000 if order == 1 else 99_999, dtype=np.int64)[::order].copy()
    move_smallest(keys, len(keys), 10)
    assert sorted(keys[:10].tolist()) == list(range(10))


def made(X, size):
    tree = ClusterTree(X.shape[1], search="astar")
    tree.insert(X)
    with mock.patch.object(renewing, "CELL_SIZE", size):
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
        visiting, TASK_ROWS=data.draw(st.integers(1, 9)), KEYS=data.draw(st.integers(1, 200))
    ):
        for n_jobs in (1, 2):
            for got, wanted in zip(visit(n_jobs), expected, strict=True):
                assert np.array_equal(got, wanted)


@given(st.data())
def test_the_width_needed_is_the_first_at_which_the_cell_is_opened(data):
    X = draw_bytes(data.draw, data.draw(st.integers(3, 30)), 2).astype(np.float32) % 20
    X *= 60  # means of up to six points are whole numbers, and distances from them exact
    tree, cells = made(X, data.draw(st.integers(1, 4)))
    n_cells = len(cells.centres)
    rows = np.arange(tree.n_leaves, dtype=np.int32)
    nearest = rows[::-1].copy()
    widths = np.unique(np.minimum([1, 2, 3, n_cells], n_cells))
    # Compiled code divides by multiplying, which rounds: then ties may come out otherwise.
    without = config.DISABLE_JIT and data.draw(st.booleans())
    own = np.column_stack([cells.lists[rows, CELL], cells.lists[nearest, CELL]])
    own[:, 0] = own[:, 0] if without else -1
    points = tree._tree.points
    needed = np.empty(len(rows), np.int32)
    # Compiled code has the usual one, and must not be compiled while there is another.
    with mock.patch.object(opening, "REACH", 2 if config.DISABLE_JIT else opening.REACH):
        sample = opening.Sample(
            rows, nearest, own, np.empty((len(rows), n_cells), np.float32),
            np.empty(2, np.float32),
        )  # fmt: skip
        memory = visiting.make_opening(cells, n_cells, len(rows))
        opening.find_needed(points, cells, memory, sample, widths, needed)
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
