"""Names of nodes and clusters that stay right while the tree changes.

A node is the set of its points, and so is its handle: the smallest id among them, how many they
are, and a checksum of all their ids. The nodes that hold a point lie on one path, and their sizes
differ: the first two parts find the node, and the third tells whether it still is the same set of
points. Numbers of nodes, which are used again, do not come into it.
"""

import re
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

PATTERN = r"^[0-9]{1,10}-[0-9]{1,10}-[0-9a-f]{16}$"
_FORM = re.compile(PATTERN)

Sums = NDArray[np.uint64]


class Handle(NamedTuple):
    """A set of points: smallest id, size, checksum."""

    first: int
    size: int
    checksum: int

    def __str__(self) -> str:
        return f"{self.first}-{self.size}-{self.checksum:016x}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The handle that a text stands for; None if it stands for none."""
        if not _FORM.match(text):
            return None
        first, size, checksum = text.split("-")
        return cls(int(first), int(size), int(checksum, 16))


def scrambled(ids: NDArray[np.int64]) -> Sums:
    """A pseudorandom number for each id (splitmix64): the sum over a set is its checksum."""
    with np.errstate(over="ignore"):
        x = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def handle_of(ids: NDArray[np.int64]) -> Handle:
    """The handle of a set of points that is not empty."""
    return Handle(int(ids.min()), len(ids), int(scrambled(ids).sum(dtype=np.uint64)))
