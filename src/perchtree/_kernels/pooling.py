"""Heights that never decrease towards the root, by pooling: isotonic regression on a tree.

Where a merge is lower than one below it, both are pooled: each gets the mean over all pairs of
points that the two bring together. So a few points that lie wrongly inside a large cluster hardly
change its height, where a running maximum would give it theirs.
"""

from typing import NamedTuple

from .jit import entry_point, kernel
from .schema import NONE, Counts, Doubles


class Pools(NamedTuple):
    """Pools of merges, one entry per merge: a pool is known by its highest merge.

    Those below a merge that are not part of its pool form a skew heap, the largest mean on top.

    - `means`, `pairs`: float64, of the pool's pairs of points;
    - `left`, `right`: int64, the heap's links;
    - `heaps`: int64, the top of the heap below a merge, itself included;
    - `into`: int64, the pool that has taken it in, or NONE.
    """

    means: Doubles
    pairs: Doubles
    left: Counts
    right: Counts
    heaps: Counts
    into: Counts


@kernel
def meld(pools: Pools, a: int, b: int) -> int:
    """Join two heaps; the top of both."""
    top, last = NONE, NONE
    while a != NONE and b != NONE:
        if pools.means[b] > pools.means[a]:
            a, b = b, a
        if last == NONE:
            top = a
        else:
            pools.left[last] = a
        last, rest = a, pools.right[a]
        pools.right[a] = pools.left[a]
        a = rest
    rest = b if a == NONE else a
    if last == NONE:
        return rest
    pools.left[last] = rest
    return top


@entry_point
def pool_heights(children: Counts, sizes: Counts, squared: Doubles, pools: Pools) -> None:
    """Pool the squared heights of merges (n - 1,), parts before wholes, in place.

    `squared` is the mean squared distance over the pairs of points that a merge brings together.
    """
    n_points = children.shape[0] + 1
    for merge in range(n_points - 1):
        one, other = children[merge, 0], children[merge, 1]
        mean, pairs = squared[merge], float(sizes[one]) * float(sizes[other])
        heap = NONE
        if one >= n_points:
            heap = pools.heaps[one - n_points]
        if other >= n_points:
            heap = meld(pools, heap, pools.heaps[other - n_points])
        while heap != NONE and pools.means[heap] > mean:
            more = pools.pairs[heap]
            mean += (pools.means[heap] - mean) * (more / (pairs + more))
            pairs += more
            pools.into[heap] = merge
            heap = meld(pools, pools.left[heap], pools.right[heap])
        pools.means[merge], pools.pairs[merge] = mean, pairs
        pools.left[merge], pools.right[merge] = NONE, NONE
        pools.into[merge] = NONE
        pools.heaps[merge] = meld(pools, merge, heap)
    for merge in range(n_points - 2, -1, -1):
        above = pools.into[merge]
        squared[merge] = pools.means[merge] if above == NONE else squared[above]
