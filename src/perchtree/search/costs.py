"""What searches cost, in nanoseconds (measured), and the choice between them by counted work."""

from collections.abc import Callable

import numpy as np

from .. import _arrays
from .._kernels.rows import probe_rows
from .._kernels.schema import DISTANCES, N_LEAVES, Counts, Tree
from .interface import Rows


def product_cost(n_features: int, n_rows: int) -> float:
    """One pair in a scan by products: 0.6 at d = 16, 41 at 2,048.

    Besides, every point is read and centred once for all rows: a small batch pays more for that
    (the last term, estimated from memory bandwidth, not measured).
    """
    return 0.3 + 0.0195 * n_features + n_features / n_rows


def pair_cost(split: int) -> float:
    """One pair in a scan of so many rotated coordinates, if the bound rules it out."""
    return 0.5 + 0.0195 * split


def second_cost(n_coordinates: int) -> float:
    """A pair that is not ruled out, and gets a second bound from so many coordinates more."""
    return 25.0 + 0.1 * n_coordinates


def direct_cost(n_features: int) -> float:
    """One distance computed directly, far from the cache."""
    return 20.0 + 0.12 * n_features


def reduced_cost(split: int, of_pair: float, n_rows: int) -> float:
    """One pair in a scan of rotated coordinates, which are read once for all rows."""
    return of_pair + 0.4 * split / n_rows


def leaf_cost(n_features: int, n_rows: int) -> float:
    """One leaf in a scan of boxes: 9 at d = 256, where most are ruled out by few features."""
    return 3.0 + 0.025 * n_features


def distance_cost(n_features: int) -> float:
    """One distance in an A* search: 66 at d = 54, 285 at 784."""
    return 50.0 + 0.3 * n_features


def cold_distance_cost(n_features: int) -> float:
    """One distance in an A* search for a single row: nothing that it reads is in the cache yet."""
    return 50.0 + 1.5 * n_features


def prefers_scan(
    tree: Tree, rows: Rows, k: int, done: Counts, cost_of_leaf: Callable[[int, int], float]
) -> bool:
    """Whether looking at all leaves is cheaper than A*: from counted work, never clocks.

    A* is tried on a few of the rows, and given up where it needs more distances than a scan
    for that row is worth. So trying costs little even where A* is hopeless.
    """
    n_leaves, n_features = int(tree.state[N_LEAVES]), rows.shape[1]
    worth = n_leaves * cost_of_leaf(n_features, len(rows)) / distance_cost(n_features)
    if worth < 16:  # not even the descent to a leaf
        return True
    sample = np.ascontiguousarray(rows[::32])
    memory = _arrays.make_astar(tree, k, _arrays.make_work())
    probe_rows(tree, memory, sample, int(worth))
    done += memory.done
    return bool(memory.done[DISTANCES] > 0.7 * worth * len(sample))
