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


@entry_point
def hash_rows(points: Floats, rows: Ints, hashes: Ints) -> None:
    """Hashes of some rows of points, each into its own place."""
    for place in range(rows.shape[0]):
        hashes[rows[place]] = hash_row(points[rows[place]])


@entry_point
def note_rows(table: Ints, hashes: Ints, rows: Ints) -> int:
    """Take rows of points, given the hashes of all, into a table that has room; how many are new.

    The table is int32, as long as a power of two, NONE in free slots, and never full. A row that
    was freed stays in it until that is made anew: it equals nothing, unless it is used again.
    """
    taken, mask = 0, table.shape[0] - 1
    for place in range(rows.shape[0]):
        row = rows[place]
        slot = hashes[row] & mask
        while table[slot] != NONE and table[slot] != row:
            slot = (slot + 1) & mask
        if table[slot] == NONE:
            table[slot] = row
            taken += 1
    return taken


@entry_point
def find_rows(tree: Tree, table: Ints, hashes: Ints, rows: Floats, found: Ints) -> None:
    """For each row, the row of `Tree.points` that equals it; NONE if there is none.

    Of points only those are looked at that have the same hash.
    """
    mask = table.shape[0] - 1
    for place in range(rows.shape[0]):
        found[place] = NONE
        hashed = hash_row(rows[place])
        slot = hashed & mask
        while table[slot] != NONE:
            row = table[slot]
            leaf = point_node(row)
            if (
                hashes[row] == hashed
                and tree.nodes[leaf, SIZE] > 0
                and equals_point(tree, leaf, rows[place])
            ):
                found[place] = row
                break
            slot = (slot + 1) & mask
