"""Searches for many rows in the current tree."""

from collections.abc import Callable

from .astar import limited_astar
from .found import copy_answer
from .jit import entry_point
from .schema import AStar, Floats, Ints, Tree

# Bound by `specialise`.
search: Callable[[Tree, AStar, Floats], None]


def search_rows(tree: Tree, work: AStar, rows: Floats, distances: Floats, leaves: Ints) -> None:
    """The nearest leaves of each row: `distances` and `leaves` (rows, k, 2) are as in `Found`."""
    for row in range(rows.shape[0]):
        search(tree, work, rows[row])
        for rank in range(leaves.shape[1]):
            copy_answer(
                work.found.distances, work.found.leaves, rank, distances[row], leaves[row], rank
            )


@entry_point
def probe_rows(tree: Tree, work: AStar, rows: Floats, limit: int) -> None:
    """Search for each row, but give up after `limit` distances; `work.done` counts the work."""
    for row in range(rows.shape[0]):
        limited_astar(tree, work, rows[row], limit)
