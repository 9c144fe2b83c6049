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
MAX_LEAVES = 3
POINT_ROWS = 4
BOX_ROWS = 5
FREE_POINT = 6
FREE_BOX = 7
# ... and the work done so far.
DISTANCES = 8
EXPANSIONS = 9
MASKING_CHECKS = 10
MASKING_ROTATIONS = 11
BALANCE_CHECKS = 12
BALANCE_ROTATIONS = 13
COLLAPSES = 14
BEAM_CHECKED = 15
BEAM_FOUND = 16
PRODUCTS = 17
SCANNED = 18
LINKAGES = 19
INTERCHANGES = 20
GRAFTS = 21
COUNTS = 22

# Columns of `Tree.moments`.
SCATTER = 0
LINKAGE = 1
MOMENTS = 2

# Columns of `Found.distances` and `Found.leaves`.
NEAR = 0
FAR = 1
BY_ID = 0
NODE = 1


class Tree(NamedTuple):
    """A cluster tree. All arrays have spare capacity.

    A node's number tells what it is and where its features are: node 2r is a leaf that stands
    for one point, row r of `points`; node 2r + 1 has a box, row r of `boxes`: an internal node
    or a collapsed leaf. So a search goes from a child's number straight to its features.

    `nodes`: int32 (nodes, 6), one row a node, with the columns

    - PARENT: the node above; NONE at the root.
    - LEFT, RIGHT: the children; NONE at a leaf. Their order breaks ties in a beam search.
    - SIZE: number of points below (copies count).
    - FIRST, LAST: the ends of a leaf's list of ids, FIRST the smallest; NONE otherwise.

    A freed node has SIZE 0, no children, and as PARENT the next free one of its kind.

    `points`: float32 (rows, d), the features of leaves, stored once.

    `boxes`: float32 (rows, 2, d), what bounds the points below a node: lower corner `[row, 0]`,
    upper corner `[row, 1]`.

    `means`: float64 (rows, d), the means of those points, in a tree with a linkage; otherwise
    without rows. (In float32 they would be too coarse for data far from zero.)

    `moments`: float64 (rows, 2), likewise:

    - SCATTER: the sum of squared distances of the points below from their mean;
    - LINKAGE: between the two children.

    `ids`: int32 (ids, 2), one row a point, with the columns

    - LEAF: the leaf that holds the id.
    - NEXT: the id after this one in its leaf's list; NONE at the end.

    `counts`: int64, the numbers that change with every insert, indexed by the constants above.
    They live in an array, so that a kernel leaves the tree whole wherever Python is interrupted.
    POINT_ROWS and BOX_ROWS are the rows ever used, FREE_POINT and FREE_BOX the first free node
    of each kind.

    (Few arrays, because Numba passes each as seven or more arguments: with one array a column
    the same code ran at half the speed and took twice as long to compile.)
    """

    nodes: Ints
    points: Floats
    boxes: Floats
    means: Doubles
    moments: Doubles
    ids: Ints
    counts: Counts


class Found(NamedTuple):
    """The best leaves of a search so far, best first: by d-, then d+, then smallest id.

    - `distances`: float32 (k, 2), squared d- (NEAR) and d+ (FAR); infinite where none is known.
    - `leaves`: int32 (k, 2), the leaf's smallest id (BY_ID) and its NODE; NONE likewise.
    """

    distances: Floats
    leaves: Ints


class AStar(NamedTuple):
    """Working memory of an A* search: the frontier as a heap, and the result.

    The frontier holds disjoint internal nodes, so half as many as there are leaves suffice.
    """

    keys: Floats
    nodes: Ints
    found: Found


class Beam(NamedTuple):
    """Working memory of a beam search: heaps of this level and the next, and the result.

    - `keys`: int64 (2, 2 width), d- and, where that is equal, the order in which nodes were met;
    - `nodes`: int32 (2, 2 width).
    """

    keys: Counts
    nodes: Ints
    found: Found


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

    - `distances`, `leaves`: (rows, 2), each row's answer in the tree as it stood, as in `Found`;
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


class Scratch(NamedTuple):
    """What a kernel needs beside the tree."""

    search: AStar | Beam | Prepared | Revised
    queue: Queue
