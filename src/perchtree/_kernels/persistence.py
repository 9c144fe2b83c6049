"""The clusters of a tree that persist, at different heights in different parts of it."""

from typing import NamedTuple

from .jit import entry_point, kernel
from .schema import NONE, Bools, Counts, Doubles


class Merges(NamedTuple):
    """A tree as merges, parts before wholes, with what a cluster may be.

    - `children`: int64 (n - 1, 2), the two parts of each merge;
    - `sizes`: int64 (2n - 1,), points below each number;
    - `inner`: bool (n - 1,), merges inside a leaf, which nothing can split;
    - `levels`: float64 (2n - 1,), what lifetimes are measured by; never smaller towards the root.
    """

    children: Counts
    sizes: Counts
    inner: Bools
    levels: Doubles


class Persistence(NamedTuple):
    """What is found for each number, in one pass from the points to the root.

    A number stands for the cluster that it is part of when one comes down from the root: groups of
    fewer than the least number of points fall out of it one by one, until it splits into two
    parts of at least that many, or is used up.

    - `left`: float64, the sum, over its points, of the levels at which they leave the cluster;
    - `splits`: bool, whether it ends in a split;
    - `below`: float64, the largest total strength of clusters after that split;
    - `core`: int64, the number in which the cluster's points stay together longest;
    - `stay`: float64, for how long: points x levels;
    - `chosen`: bool, whether the cluster that begins here is stronger than what is below it.
    """

    left: Doubles
    splits: Bools
    below: Doubles
    core: Counts
    stay: Doubles
    chosen: Bools


@kernel
def choose(merges: Merges, found: Persistence, number: int, level: float, damping: float) -> float:
    """Keep the cluster that begins at `number`, below `level`, or what it splits into.

    The strength of a cluster is the sum of its points' lifetimes, divided by a power of their
    number. The larger of the two totals is returned; of equals, the cluster is kept whole.
    """
    size = merges.sizes[number]
    strength = (size * level - found.left[number]) * size ** (-damping)
    found.chosen[number] = not found.splits[number] or strength >= found.below[number]
    return strength if found.chosen[number] else found.below[number]


@kernel
def note_stay(merges: Merges, found: Persistence, number: int, level: float) -> None:
    """See whether a cluster's points stay together in `number`, below `level`, longest so far."""
    stay = merges.sizes[number] * (level - merges.levels[number])
    if found.core[number] == NONE or stay >= found.stay[number]:
        found.core[number] = number
        found.stay[number] = stay


@entry_point
def find_clusters(
    merges: Merges, least: int, damping: float, found: Persistence, joined: Bools
) -> float:
    """Choose the clusters of largest total strength, and the merges they carry out.

    No chosen cluster is part of another one, and each has at least `least` points, unless the
    tree has fewer. Groups of fewer points that fell out outside of them stay together. The
    result is the total strength. Linear time; nothing recurses.
    """
    n_points = merges.children.shape[0] + 1
    root = 2 * n_points - 2
    sizes, levels = merges.sizes, merges.levels
    for number in range(root + 1):
        found.core[number] = NONE
        found.splits[number] = False
        found.chosen[number] = False
        found.below[number] = 0.0
        found.left[number] = sizes[number] * levels[number]
        if number < n_points or merges.inner[number - n_points]:
            continue
        one, other = merges.children[number - n_points, 0], merges.children[number - n_points, 1]
        if sizes[one] < sizes[other]:
            one, other = other, one
        level = levels[number]
        if sizes[one] >= least:
            note_stay(merges, found, one, level)
        if sizes[other] >= least:
            note_stay(merges, found, other, level)
            found.splits[number] = True
            total = choose(merges, found, one, level, damping)
            found.below[number] = total + choose(merges, found, other, level, damping)
        elif sizes[one] >= least:
            found.left[number] = found.left[one] + sizes[other] * level
            found.splits[number] = found.splits[one]
            found.below[number] = found.below[one]
            found.core[number] = found.core[one]
            found.stay[number] = found.stay[one]
    if found.core[root] == NONE:
        found.core[root] = root
    total = choose(merges, found, root, levels[root], damping)
    join_chosen(merges, least, found, joined)
    return total


@kernel
def join_chosen(merges: Merges, least: int, found: Persistence, joined: Bools) -> None:
    """Mark every merge that is carried out: in cores of chosen clusters, and in small groups."""
    n_points = merges.children.shape[0] + 1
    root = 2 * n_points - 2
    for number in range(root + 1):
        joined[number] = False
    # From here on `splits` tells whether a number is above all chosen clusters.
    found.splits[root] = True
    for number in range(root, n_points - 1, -1):
        above = found.splits[number]
        if above and found.chosen[number]:
            joined[found.core[number]] = True
            above = False
        if merges.sizes[number] < least or merges.inner[number - n_points]:
            joined[number] = True
        for side in range(2):
            child = merges.children[number - n_points, side]
            found.splits[child] = above
            if joined[number]:
                joined[child] = True
