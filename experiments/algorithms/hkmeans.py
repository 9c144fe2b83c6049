"""Hierarchical k-means: 2-means again and again, from all points down to single ones."""

import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from . import Outcome


def run(X: NDArray[np.float32], n_clusters: int, seed: int, *, iterations: int = 10) -> Outcome:
    start = time.perf_counter()
    children = split_all(np.ascontiguousarray(X, np.float32), iterations, seed)
    seconds = time.perf_counter() - start
    return Outcome(children, None, seconds)


@njit(cache=True)
def split_all(X, iterations, seed):  # type: ignore[no-untyped-def]
    """The tree as merges, points first, children before parents, the root last."""
    np.random.seed(seed)  # noqa: NPY002  (compiled code has its own generator)
    n_points = len(X)
    order = np.arange(n_points)
    # Numbers go down as parts are split: 2n - 2 is all points.
    children = np.zeros((max(n_points - 1, 0), 2), np.int64)
    starts, stops = np.zeros(n_points, np.int64), np.zeros(n_points, np.int64)
    numbers = np.zeros(n_points, np.int64)
    stops[0], numbers[0], waiting, unused = n_points, 2 * n_points - 2, 1, 2 * n_points - 3
    while waiting > 0:
        waiting -= 1
        start, stop, number = starts[waiting], stops[waiting], numbers[waiting]
        if stop - start == 1:
            continue
        middle = split(X, order, start, stop, iterations)
        for side in range(2):
            a, b = (start, middle) if side == 0 else (middle, stop)
            below = order[a]
            if b - a > 1:
                below = unused
                unused -= 1
                starts[waiting], stops[waiting], numbers[waiting] = a, b, below
                waiting += 1
            children[number - n_points, side] = below
    return children


@njit(cache=True)
def split(X, order, start, stop, iterations):  # type: ignore[no-untyped-def]
    """Split a range of points in two by 2-means; where the second part begins."""
    d = X.shape[1]
    centres = np.empty((2, d), np.float32)
    first = np.random.randint(start, stop)  # noqa: NPY002
    centres[0] = X[order[first]]
    # k-means++: the second centre with a chance that grows with its squared distance.
    total = 0.0
    for place in range(start, stop):
        total += squared(X[order[place]], centres[0])
    if total == 0:
        return (start + stop) // 2  # copies of one point
    target, second = np.random.random() * total, stop - 1  # noqa: NPY002
    for place in range(start, stop):
        target -= squared(X[order[place]], centres[0])
        if target < 0:
            second = place
            break
    centres[1] = X[order[second]]
    sides = np.zeros(stop - start, np.bool_)
    for turn in range(iterations + 1):
        moved = False
        for place in range(start, stop):
            x = X[order[place]]
            side = squared(x, centres[1]) < squared(x, centres[0])
            moved |= side != sides[place - start]
            sides[place - start] = side
        if turn == iterations or (turn > 0 and not moved):
            break
        sums, counts = np.zeros((2, d)), np.zeros(2)
        for place in range(start, stop):
            side = 1 if sides[place - start] else 0
            counts[side] += 1
            for j in range(d):
                sums[side, j] += X[order[place], j]
        for side in range(2):
            if counts[side] > 0:
                for j in range(d):
                    centres[side, j] = sums[side, j] / counts[side]
    middle = start
    for place in range(start, stop):
        if not sides[place - start]:
            order[middle], order[place] = order[place], order[middle]
            sides[middle - start], sides[place - start] = False, sides[middle - start]
            middle += 1
    if middle in (start, stop):
        return (start + stop) // 2
    return middle


@njit(cache=True)
def squared(x, y):  # type: ignore[no-untyped-def]
    total = np.float32(0)
    for j in range(len(x)):
        total += (x[j] - y[j]) ** 2
    return total
