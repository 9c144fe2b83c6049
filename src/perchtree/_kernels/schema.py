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
NODE_COLUMNS = 6

# Columns of `Tree.ids`.
LEAF = 0
NEXT = 1
ID_COLUMNS = 2

# Entries of `Tree.counts`: the state of the tree ...
ROOT = 0
N_POINTS = 1
N_LEAVES = 2
N_BOXES = 3
# ... and the work done so far.
DISTANCES = 4
EXPANSIONS = 5
MASKING_CHECKS = 6
MASKING_ROTATIONS = 7
BALANCE_CHECKS = 8
BALANCE_ROTATIONS = 9
COUNTS = 10

# Columns of `Found.distances` and `Found.leaves`.
NEAR = 0
FAR = 1
BY_ID = 0
NODE = 1


class Tree(NamedTuple):
    """A cluster tree. All arrays have spare capacity.

    A node's number tells what it is and where its features are: node 2r is a leaf that stands
    for one point, row r of `points`; node 2r + 1 has a box, row r of `boxes`. So a search goes
    from a child's number straight to its features.

    `nodes`: int32 (nodes, 6), one row a node, with the columns

    - PARENT: the node above; NONE at the root.
    - LEFT, RIGHT: the children; NONE at a leaf. Their order means nothing.
    - SIZE: number of points below (copies count).
    - FIRST, LAST: the ends of a leaf's list of ids, FIRST the smallest; NONE otherwise.

    `points`: float32 (rows, d), the features of leaves, stored once.

    `boxes`: float32 (rows, 2, d), what bounds the points below a node: lower corner `[row, 0]`,
    upper corner `[row, 1]`.

    `ids`: int32 (ids, 2), one row a point, with the columns

    - LEAF: the leaf that holds the id.
    - NEXT: the id after this one in its leaf's list; NONE at the end.

    `counts`: int64, the numbers that change with every insert, indexed by the constants above.
    They live in an array, so that a kernel leaves the tree whole wherever Python is interrupted.

    (Few arrays, because Numba passes each as seven or more arguments: with one array a column
    the same code ran at half the speed and took twice as long to compile.)
    """

    nodes: Ints
    points: Floats
    boxes: Floats
    ids: Ints
    counts: Counts


class Found(NamedTuple):
    """The best leaves of a search so far, best first: by d-, then d+, then smallest id.

    - `distances`: float32 (k, 2), squared d- (NEAR) and d+ (FAR); infinite where none is known.
    - `leaves`: int32 (k, 2), the leaf's smallest id (BY_ID) and its NODE; NONE likewise.
    """

    distances: Floats
    leaves: Ints


class Scratch(NamedTuple):
    """Working memory of one search: the frontier as a heap (keys and nodes), and the result.

    The frontier holds disjoint internal nodes, so half as many as there are leaves suffice.
    """

    keys: Floats
    nodes: Ints
    found: Found
