"""Trees of formats 1 and 2, in which every internal node had a box and a mean of its own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import small_size
from .._kernels.numbering import box_node, row_of
from .._kernels.schema import (
    BOX_ROWS,
    FEATURE_ROWS,
    FEATURES,
    FREE_FEATURES,
    MAX_LEAVES,
    NODE_COLUMNS,
    NONE,
    SIZE,
    SMALL,
    STATE,
    Tree,
)

N_STATE = SMALL
"""Entries that the state of such a tree had."""


def is_old(tree: Tree) -> bool:
    """Whether nodes do not say which features are theirs: row r of `boxes` is of node 2r + 1."""
    return tree.nodes.ndim == 2 and tree.nodes.shape[1] == FEATURES


def with_features(tree: Tree) -> Tree:
    """Make it a tree of the present format, in which small nodes keep no box and no mean.

    The shapes of its arrays must fit each other; nothing else is taken for granted. Of arrays that
    are mapped, only the rows that stay are read.
    """
    nodes = np.zeros((len(tree.nodes), NODE_COLUMNS), np.int32)
    nodes[:, :FEATURES] = tree.nodes
    state = np.zeros(len(STATE), np.int64)
    state[:N_STATE] = tree.state[:N_STATE]
    max_leaves = None if tree.state[MAX_LEAVES] == NONE else int(tree.state[MAX_LEAVES])
    state[SMALL] = small_size(tree.points.shape[1], max_leaves)
    boxes = box_node(np.arange(int(tree.state[BOX_ROWS])))
    nodes[boxes, FEATURES] = NONE
    large = boxes[nodes[boxes, SIZE] > state[SMALL]]
    nodes[large, FEATURES] = np.arange(len(large))
    state[FEATURE_ROWS], state[FREE_FEATURES] = len(large), NONE
    rows = row_of(large)
    return tree._replace(
        nodes=nodes, state=state, boxes=_rows(tree.boxes, rows), means=_rows(tree.means, rows)
    )


def _rows(array: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    return np.ascontiguousarray(array[rows]) if len(array) else array
