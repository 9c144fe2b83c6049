"""Finding rows that are equal to a point, by a hash of its features."""

import numpy as np

from .copies import equals_point
from .distances import ZERO
from .jit import entry_point, kernel
from .schema import NONE, SIZE, Floats, Ints, Tree
from .walk import point_node


@kernel
def hash_row(x: Floats) -> int:
    """A hash of the bits of a row; 0.0 and -0.0 are equal."""
    mixed = np.int64(0x2545F491)
    for j in range(x.shape[0]):
        bits = np.int64(np.float32(x[j] + ZERO).view(np.int32)) & np.int64(0x7FFFFFFF)
        mixed = ((mixed ^ bits) * np.int64(0x9E3779B1)) & np.int64(0x7FFFFFFF)
        mixed ^= mixed >> np.int64(15)
    return mixed


@kernel
def find_slot(tree: Tree, table: Ints, x: Floats) -> int:
    """The slot of the row that equals x, or the free one where it would be.

    A row that was freed stays in the table until that is made anew: it equals nothing, unless it is
    used again by an equal point.
    """
    mask = table.shape[0] - 1
    slot = hash_row(x) & mask
    while table[slot] != NONE:
        leaf = point_node(table[slot])
        if tree.nodes[leaf, SIZE] > 0 and equals_point(tree, leaf, x):
            return slot
        slot = (slot + 1) & mask
    return slot


@entry_point
def note_rows(tree: Tree, table: Ints, rows: Ints) -> int:
    """Take rows of `Tree.points` into a table that has room; how many slots that takes.

    The table is int32, as long as a power of two, NONE in free slots, and never full.
    """
    taken = 0
    for place in range(rows.shape[0]):
        slot = find_slot(tree, table, tree.points[rows[place]])
        if table[slot] == NONE:
            table[slot] = rows[place]
            taken += 1
    return taken


@entry_point
def find_rows(tree: Tree, table: Ints, rows: Floats, found: Ints) -> None:
    """For each row, the row of `Tree.points` that equals it; NONE if there is none."""
    for row in range(rows.shape[0]):
        found[row] = table[find_slot(tree, table, rows[row])]
