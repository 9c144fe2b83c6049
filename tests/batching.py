"""Searches of many rows at once, made to happen with the few rows of a test."""

import contextlib
from unittest import mock

from perchtree import tree
from perchtree.search import ahead, collapsed, exact


@contextlib.contextmanager
def small_batches(rows):
    """Search ahead for every batch, however small, and end batches after so many rows."""
    with (
        mock.patch.object(tree, "LARGEST_ROWS", rows),
        mock.patch.multiple(exact, SMALLEST=1, ASTAR_ROWS=(rows + 1) // 2),
        mock.patch.multiple(collapsed, SMALLEST=1, COLLAPSED_ROWS=rows, WORTH_REVISING=1 / 64),
        mock.patch.multiple(collapsed, SPARE=1, TILE=4, HEAD=2),
        mock.patch.object(ahead, "_TASK_ROWS", 2),
    ):
        yield
