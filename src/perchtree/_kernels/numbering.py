"""The meaning of a node's number, known only here.

Plain arithmetic on whole numbers or arrays of them; `walk` has the compiled versions.
"""

from typing import Any


def is_point(node: Any) -> Any:
    """Whether the node stands for one point (and its copies)."""
    return node & 1 == 0


def row_of(node: Any) -> Any:
    """The node's row in `points` or `moments`."""
    return node >> 1


def point_node(row: Any) -> Any:
    """The node that stands for a row of `points`."""
    return 2 * row


def point_nodes(n_rows: int) -> slice:
    """The nodes that stand for the first rows of `points`."""
    return slice(0, 2 * n_rows, 2)


def box_node(row: Any) -> Any:
    """The internal node, or collapsed leaf, that has a row of `moments`."""
    return 2 * row + 1


def node_rows(point_rows: int, box_rows: int) -> int:
    """How many rows `nodes` needs for so many points, and nodes that are not points."""
    return 2 * max(point_rows, box_rows)
