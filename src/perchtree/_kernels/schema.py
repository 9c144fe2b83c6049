"""The tree as flat arrays: names, types and constants shared by every kernel."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Counts = NDArray[np.int64]
Bools = NDArray[np.bool_]
Doubles = NDArray[np.float64]

NONE = -1
"""No such node, row or id."""

MAX_POINTS = 2**30
"""Node numbers are 32-bit and a tree of n points has 2n - 1 nodes."""

# Columns of `Tree.nodes`.
PARENT = 0
LEFT = 1
RIGHT = 2
SIZE = 3
FIRST = 4
LAST = 5
TOUCHED = LAST
FEATURES = 6
NODE_COLUMNS = 7

COUNTED = 2**31 - 1
"""TOUCHED has as many bits of the counter of changes."""

# Columns of `Tree.ids`.
LEAF = 0
NEXT = 1
PREVIOUS = 2
ID_COLUMNS = 3

STATE = (
    "root", "next_id", "n_points", "n_leaves", "changes", "max_leaves",
    "point_rows", "box_rows", "free_point", "free_box",
    "small", "feature_rows", "free_features",
)  # fmt: skip
"""Entries of `Tree.state`: what the tree is."""
ROOT, NEXT_ID, N_POINTS, N_LEAVES, CHANGES = range(5)
MAX_LEAVES, POINT_ROWS, BOX_ROWS, FREE_POINT, FREE_BOX = range(5, 10)
SMALL, FEATURE_ROWS, FREE_FEATURES = range(10, 13)

WORK = (
    "distances", "expansions", "masking_checks", "masking_rotations", "balance_checks",
    "balance_rotations", "collapses", "beam_checked", "beam_found", "products", "scanned",
    "linkages", "interchanges", "grafts", "cells_checked", "cells_found", "renewals",
)  # fmt: skip
"""Counters of work: what was done so far. They belong to whoever counts, not to the tree."""
DISTANCES, EXPANSIONS, MASKING_CHECKS, MASKING_ROTATIONS, BALANCE_CHECKS = range(5)
BALANCE_ROTATIONS, COLLAPSES, BEAM_CHECKED, BEAM_FOUND, PRODUCTS, SCANNED = range(5, 11)
LINKAGE_CHECKS, INTERCHANGES, GRAFTS, CELLS_CHECKED, CELLS_FOUND, RENEWALS = range(11, 17)

# Columns of `Tree.moments`.
SCATTER = 0
LINKAGE = 1
SQUARE = 2
HEIGHT = 3
MOMENTS = 4
EDGES = 4

# Columns of an entry of `Tree.lists`.
NEIGHBOUR = 0
LENGTH = 1
WEIGHT = 2
ENTRY = 3

# Columns of `Found.distances` and `Found.leaves`.
NEAR = 0
FAR = 1
BY_ID = 0
NODE = 1


class Tree(NamedTuple):
    """A cluster tree. All arrays have spare capacity.

    A node's number tells what it is: node 2r is a leaf that stands for one point, row r of
    `points`; node 2r + 1 is an internal node or a collapsed leaf, and has row r of `moments`. So
    a search goes from a leaf's number straight to its point.

    `nodes`: int32 (nodes, 7), one row per node, with the columns

    - PARENT: the node above; NONE at the root.
    - LEFT, RIGHT: the children; NONE at a leaf. Their order breaks ties in a beam search.
    - SIZE: number of points below (copies count).
    - FIRST, LAST: the ends of a leaf's list of ids, FIRST the smallest. An internal node has NONE
      as FIRST, and in the place of LAST
    - TOUCHED: the counter of changes (its lower 31 bits) when its children, its height or the
      points below it last changed. A node that was touched later than some count has a parent
      that was, so what has changed since is found from the root. NONE in old files.
    - FEATURES: the node's row of `boxes` and `means`. NONE if it is small, that is, holds no more
      than SMALL points: what is needed of its box and mean is computed from its points. These are
      few, and most internal nodes are small. In node 2r, if row r of `boxes` and `means` is free,
      the next free row; otherwise nothing.

    A freed node has SIZE 0, no children, and as PARENT the next free one of its kind.

    `points`: float32 (rows, d), the features of leaves, stored once.

    `boxes`: float32 (rows, 2, d), what bounds the points below a node that is not small: lower
    corner `[row, 0]`, upper corner `[row, 1]`.

    `means`: float64 (rows, d), the means of those points, in a tree with a linkage; otherwise
    without rows. (In float32 they would be too coarse for data far from zero.)

    `moments`: float64 (rows, 4), likewise:

    - SCATTER: the sum of squared distances of the points below from their mean;
    - LINKAGE: between the two children;
    - SQUARE: the mean squared distance between the points of one child and those of the other; in a
      collapsed leaf, whose points cannot be told apart, that between any two of them;
    - HEIGHT: the largest SQUARE of the node and all nodes below it;
    - EDGES, one more column in a tree with edges: the weight of those between the two children.

    `ids`: int32 (ids, 3), one row per id ever given, with the columns

    - LEAF: the leaf that holds the id; NONE if the point is not in the tree any more.
    - NEXT, PREVIOUS: the ids after and before this one in its leaf's list; NONE at the ends.

    `state`: int64, the numbers that change with every insert, indexed by the constants above.
    They live in an array, so that a kernel leaves the tree whole wherever Python is interrupted.

    - ROOT: the root's node; NONE in an empty tree.
    - NEXT_ID: the id that the next point gets. Ids are never used again.
    - N_POINTS, N_LEAVES: points and leaves in the tree.
    - CHANGES: grows with every change; what was made from the tree holds while it stays.
    - MAX_LEAVES: the bound of collapsed mode; NONE without it.
    - POINT_ROWS, BOX_ROWS: nodes of each kind ever used; FREE_POINT, FREE_BOX: the first free one.
    - SMALL: so many points a small node may hold, as long as the tree lives: fewer if rows are
      short. 0 in collapsed mode, where leaves need boxes and the bound on leaves bounds memory.
    - FEATURE_ROWS: rows of `boxes` and `means` ever used; FREE_FEATURES: the first free one.

    `lists`: int32 (rows, k, 3), in a tree with edges the neighbours of each leaf, the nearest
    first; otherwise without rows. Columns of an entry, all 0 where there are fewer:

    - NEIGHBOUR: the leaf, plus one;
    - LENGTH, WEIGHT: float32 numbers as bits: the squared distance; the weight of the edge, 0 if
      that leaf does not list this one.

    `spare`: float64 (rows, d), no part of the tree: where kernels that change it put the means and
    boxes of small nodes, while they need them. Searches run beside each other, and may not use it.

    (Few arrays, because Numba passes each as seven or more arguments: with one array per column
    the same code ran at half the speed and took twice as long to compile.)
    """

    nodes: Ints
    points: Floats
    boxes: Floats
    means: Doubles
    moments: Doubles
    ids: Ints
    state: Counts
    lists: Ints = np.zeros((0, 0, ENTRY), np.int32)
    spare: Doubles = np.zeros((0, 0))


class Found(NamedTuple):
    """The best leaves of a search so far, best first: by d-, then d+, then smallest id.

    - `distances`: float32 (k, 2), squared d- (NEAR) and d+ (FAR); infinite where none is known.
    - `leaves`: int32 (k, 2), the leaf's smallest id (BY_ID) and its NODE; NONE likewise.
    """

    distances: Floats
    leaves: Ints


class AStar(NamedTuple):
    """Working memory of an A* search: the frontier as a heap, the result, and counters of work.

    The frontier holds disjoint internal nodes, so half as many as there are leaves suffice.
    """

    keys: Floats
    nodes: Ints
    found: Found
    done: Counts


class Beam(NamedTuple):
    """Working memory of a beam search: heaps of this level and the next, result and counters.

    - `keys`: int64 (2, 2 width), d- and, where that is equal, the order in which nodes were met;
    - `nodes`: int32 (2, 2 width);
    - `corners`: float32 (2, d), the box of a small node;
    - `copies`: int32 (rows,), for each row of a batch the id of a point that equals it, or NONE;
    - `cursor`: int64 (1,), the row that comes next.
    """

    keys: Counts
    nodes: Ints
    corners: Floats
    copies: Ints
    cursor: Counts
    found: Found
    done: Counts


class Prepared(NamedTuple):
    """Neighbours that were found before a batch is inserted, handed over one by one.

    - `ids`: int32 (rows, k), ids of each row's nearest neighbours, perhaps of the same batch;
    - `near`: float32 (rows, k), the squared distances;
    - `cursor`: int64 (1,), the row that comes next;
    - `found`: where the search's answer goes.
    """

    ids: Ints
    near: Floats
    cursor: Counts
    found: Found


class Revised(NamedTuple):
    """Leaves that were found before a batch is inserted, in a tree whose leaves change.

    - `distances`, `leaves`: (rows, more than k, 2), each row's answers in the tree as it stood, as
      in `Found`;
    - `cursor`: int64 (2,), the row that comes next, and how many leaves have changed;
    - `changed`: int32 (2 rows,), those leaves;
    - `has_changed`: bool (nodes,), the same as marks;
    - `again`: for searches that have to be done again;
    - `found`: where the answer goes.
    """

    distances: Floats
    leaves: Ints
    cursor: Counts
    changed: Ints
    has_changed: Bools
    again: AStar
    found: Found


class Queue(NamedTuple):
    """Collapsible nodes as a heap, by d+ between the children and then by smallest id.

    It can be made from the tree at any time. Entries whose node has changed since stay until
    they come up. `count[0]` is the number of entries, NONE while the queue is not made.
    """

    keys: Counts
    nodes: Ints
    count: Counts


class Nearby(NamedTuple):
    """Working memory for leaves near a leaf: a heap of nodes to look into, and the nearest leaves.

    - `keys`: float64, `nodes`: int32, the heap;
    - `near`: float64 (k,), squared distances; `leaves`: int32 (k,), NONE where there are fewer.
    """

    keys: Doubles
    nodes: Ints
    near: Doubles
    leaves: Ints


class Upkeep(NamedTuple):
    """What kernels that change the tree need beside it.

    The queue of collapsed mode, the memory for grafts after a removal, and counters of work.
    """

    queue: Queue
    nearby: Nearby
    done: Counts


class Scratch(NamedTuple):
    """What an insert needs beside the tree: the memory of its search, and that of its repairs."""

    search: AStar | Beam | Prepared | Revised
    upkeep: Upkeep
