"""Within-node sums of squares, exactly, for every merge of a tree."""

from typing import NamedTuple

import numpy as np

from .jit import entry_point, kernel
from .schema import Counts, Doubles, Floats


class Means(NamedTuple):
    """Working memory of a walk over a tree, children before parents.

    - `waiting`: int64, numbers still to be visited; ~v where the children of v are done;
    - `stack`: float64 (levels, d), means of finished subtrees whose siblings are not.

    The larger child is always finished first, so log2(n) + 2 levels suffice for any depth.
    """

    waiting: Counts
    stack: Doubles


@kernel
def join_means(stack: Doubles, top: int, size: int, other: int) -> float:
    """Join the two topmost means, of so many points; the squared distance between them."""
    total = 0.0
    weight = other / (size + other)
    for j in range(stack.shape[1]):
        gap = stack[top, j] - stack[top - 1, j]
        total += gap * gap
        stack[top - 1, j] += weight * gap
    return total


@entry_point
def measure_scatter(
    children: Counts, sizes: Counts, points: Floats, rows: Counts, means: Means, increase: Doubles
) -> None:
    """By how much each merge increases the within-node sum of squares (Ward's criterion).

    Point i is row `rows[i]` of `points`. Means are merged, never sums subtracted: stable however
    far from the origin the data is.
    """
    n_points = rows.shape[0]
    waiting, stack = means.waiting, means.stack
    waiting[0] = 2 * n_points - 2
    count, top = 1, -1
    while count > 0:
        count -= 1
        number = waiting[count]
        if 0 <= number < n_points:
            top += 1
            for j in range(points.shape[1]):
                stack[top, j] = np.float64(points[rows[number], j])
            continue
        merge = (number if number >= 0 else ~number) - n_points
        larger, smaller = children[merge, 0], children[merge, 1]
        if sizes[larger] < sizes[smaller]:
            larger, smaller = smaller, larger
        if number >= 0:
            waiting[count] = ~number
            waiting[count + 1] = smaller
            waiting[count + 2] = larger
            count += 3
        else:
            size, other = sizes[larger], sizes[smaller]
            gap = join_means(stack, top, size, other)
            increase[merge] = gap * size * (other / (size + other))
            top -= 1


@entry_point
def add_up(children: Counts, values: Doubles, totals: Doubles) -> None:
    """The sum of `values` over each merge and all merges below it."""
    n_points = children.shape[0] + 1
    for merge in range(children.shape[0]):
        total = values[merge]
        for side in range(2):
            if children[merge, side] >= n_points:
                total += totals[children[merge, side] - n_points]
        totals[merge] = total
