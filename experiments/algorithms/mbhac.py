"""Mini-batch HAC, as section 6.1 describes it: a buffer of subtrees, of which two must be merged
before the next point is taken.

Centroid linkage compares means, complete linkage the farthest points. Once all points are in,
the subtrees that are left are merged in the same way.
"""

import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from . import Outcome, labels_from_children

BLOCK = 256


def run(
    X: NDArray[np.float32], n_clusters: int, seed: int, *, linkage: str = "centroid",
    buffer: int = 2000,
) -> Outcome:  # fmt: skip
    start = time.perf_counter()
    children = merge_online(X, linkage, buffer)
    seconds = time.perf_counter() - start
    return Outcome(children, labels_from_children(children, n_clusters), seconds)


def merge_online(X: NDArray[np.float32], linkage: str, buffer: int) -> NDArray[np.int64]:
    """The merges, points first, as scikit-learn numbers them."""
    n_points = len(X)
    X = X - X.mean(axis=0)  # the products below cancel less
    squares = np.einsum("ij,ij->i", X, X)
    state = make_state(n_points, X.shape[1], min(buffer, n_points) + 1)
    for start in range(0, n_points, BLOCK):
        stop = min(start + BLOCK, n_points)
        if linkage == "complete":  # distances to all points before, and to those of the block
            far = squares[start:stop, None] - 2 * (X[start:stop] @ X[:stop].T) + squares[:stop]
        else:
            far = np.empty((stop - start, 0), np.float32)
        take(state, X, start, np.maximum(far, 0), linkage == "complete")
    while state[-1][1] > 1:
        merge_closest(state, linkage == "complete")
    return state[0][: n_points - 1]


def make_state(n_points: int, n_features: int, slots: int):  # type: ignore[no-untyped-def]
    """Arrays of a run: merges, and for each slot of the buffer what it holds."""
    return (
        np.zeros((n_points, 2), np.int64),  # merges
        np.full((slots, slots), np.inf, np.float32),  # distances between slots
        np.zeros((slots, n_features), np.float64),  # means
        np.zeros(slots, np.int64),  # sizes, 0 for an empty slot
        np.zeros(slots, np.int64),  # numbers of the nodes
        np.zeros(slots, np.int64),  # nearest slot
        np.full(slots, np.inf, np.float32),  # and how far it is
        np.full(n_points, -1, np.int64),  # the slot of each point
        np.zeros(2, np.int64),  # merges made, slots in use
    )


@njit(cache=True)
def take(state, X, start, far, complete):  # type: ignore[no-untyped-def]
    """Take a block of points, one after the other."""
    _, distances, means, sizes, nodes, _, _, slot_of, counts = state
    slots = len(sizes)
    for row in range(start, min(start + BLOCK, len(X))):
        if counts[1] == slots:
            merge_closest(state, complete)
        slot = 0
        while sizes[slot] > 0:
            slot += 1
        distances[slot, :] = np.inf
        if complete:
            for other in range(slots):
                if sizes[other] > 0:
                    distances[slot, other] = 0
            for point in range(row):
                other = slot_of[point]
                distances[slot, other] = max(distances[slot, other], far[row - start, point])
        else:
            for other in range(slots):
                if sizes[other] > 0:
                    total = 0.0
                    for j in range(X.shape[1]):
                        total += (X[row, j] - means[other, j]) ** 2
                    distances[slot, other] = total
        sizes[slot], nodes[slot], slot_of[row] = 1, row, slot
        means[slot] = X[row]
        counts[1] += 1
        settle(state, slot)


@njit(cache=True)
def settle(state, slot):  # type: ignore[no-untyped-def]
    """Make nearest neighbours right after the distances of a slot have changed."""
    _, distances, _, sizes, _, nearest, near, _, _ = state
    nearest[slot], near[slot] = slot, np.inf
    for other in range(len(sizes)):
        if sizes[other] == 0 or other == slot:
            continue
        distances[other, slot] = distances[slot, other]
        if distances[slot, other] < near[slot]:
            nearest[slot], near[slot] = other, distances[slot, other]
        if distances[slot, other] < near[other]:
            nearest[other], near[other] = slot, distances[slot, other]


@njit(cache=True)
def merge_closest(state, complete):  # type: ignore[no-untyped-def]
    """Merge the two closest subtrees of the buffer."""
    merges, distances, means, sizes, nodes, nearest, near, slot_of, counts = state
    n_points = len(slot_of)
    a = 0
    for slot in range(len(sizes)):
        if (sizes[slot] > 0 and near[slot] < near[a]) or sizes[a] == 0:
            a = slot
    b = nearest[a]
    merges[counts[0], 0], merges[counts[0], 1] = nodes[a], nodes[b]
    nodes[a] = n_points + counts[0]
    share = sizes[b] / (sizes[a] + sizes[b])
    for j in range(means.shape[1]):
        means[a, j] += share * (means[b, j] - means[a, j])
    sizes[a] += sizes[b]
    sizes[b] = 0
    near[b] = np.inf
    counts[0] += 1
    counts[1] -= 1
    for other in range(len(sizes)):
        if sizes[other] == 0 or other == a:
            continue
        if complete:
            distances[a, other] = max(distances[a, other], distances[b, other])
        else:
            total = 0.0
            for j in range(means.shape[1]):
                total += (means[a, j] - means[other, j]) ** 2
            distances[a, other] = total
    if complete:
        for point in range(n_points):
            if slot_of[point] == b:
                slot_of[point] = a
    for other in range(len(sizes)):
        distances[other, b] = np.inf
        if sizes[other] > 0 and other != a and (nearest[other] == a or nearest[other] == b):
            distances[other, a] = distances[a, other]
            nearest[other], near[other] = other, np.inf
            for third in range(len(sizes)):
                if sizes[third] > 0 and third != other and distances[other, third] < near[other]:
                    nearest[other], near[other] = third, distances[other, third]
    settle(state, a)
