"""Cells from a file: everything that is used as a place is checked."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.cells import Cells, link_rows
from .._kernels.numbering import point_node
from .._kernels.schema import NONE, POINT_ROWS, SIZE, Tree
from .visiting import cells_without_points, with_room

SHAPES = {"regions": (np.float32, 2), "centres": (np.float32, 2), "starts": (np.int32, 1),
          "cells": (np.int32, 1), "numbers": (np.int64, 1), "hashes": (np.int32, 1)}  # fmt: skip
"""Arrays of a file, with their types and dimensions. Older files have no hashes."""


def restored_cells(tree: Tree, kept: Mapping[str, NDArray[Any]]) -> Cells:
    """Cells with their lists of rows; ValueError if they do not fit the tree."""
    if {*kept, "hashes"} != set(SHAPES) or any(
        (array.dtype.type, array.ndim) != SHAPES[name] for name, array in kept.items()
    ):
        raise ValueError("the arrays of its cells are not those that belong there")
    regions, centres, starts, own = (
        kept[name] for name in ("regions", "centres", "starts", "cells")
    )
    n_rows, d = int(tree.state[POINT_ROWS]), tree.points.shape[1]
    lives = tree.nodes[point_node(np.arange(n_rows)), SIZE] > 0
    if not (
        regions.shape[1:] == centres.shape[1:] == (d,)
        and len(starts) == len(regions) + 1 > 1
        and starts[0] == 0
        and starts[-1] == len(centres)
        and (np.diff(starts) > 0).all()
        and own.shape == (n_rows,)
        and ((own >= 0) == lives).all()
        and (own[~lives] == NONE).all()
        and (own < len(centres)).all()
    ):
        raise ValueError("its cells do not fit its tree")
    rows = np.flatnonzero(lives).astype(np.int32)
    cells = cells_without_points(regions, centres, starts, len(tree.points))
    cells = with_room(cells, len(tree.points), len(rows))
    link_rows(cells, rows, np.ascontiguousarray(own[rows]))
    return cells


def restored_numbers(kept: Mapping[str, NDArray[Any]]) -> list[int]:
    """How many cells are opened, how full one may be, when they were made and will be again."""
    numbers: list[int] = kept["numbers"].tolist()
    if len(numbers) != 4 or not all(0 < number < 2**31 for number in numbers):
        raise ValueError("the numbers of its cells are out of range")
    return [min(numbers[0], len(kept["centres"])), *numbers[1:]]
