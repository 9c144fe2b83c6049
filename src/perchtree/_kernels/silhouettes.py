"""How much closer each point is to its own cluster than to the next one, by heights of a tree."""

from .jit import entry_point
from .schema import NONE, Bools, Counts, Doubles


@entry_point
def find_pure(children: Counts, clusters: Counts) -> None:
    """The cluster of each merge whose points are all of one; NONE for the others.

    `clusters` has those of the points to begin with.
    """
    n_points = children.shape[0] + 1
    for merge in range(children.shape[0]):
        left, right = clusters[children[merge, 0]], clusters[children[merge, 1]]
        clusters[n_points + merge] = left if left == right else NONE


@entry_point
def measure_silhouettes(
    parents: Counts,
    heights: Doubles,
    sizes: Counts,
    pure: Bools,
    tops: Counts,
    silhouettes: Doubles,
) -> None:
    """The silhouette of each point, in the first places of `silhouettes`.

    `pure` says which numbers are part of one cluster. The highest such number above a point is its
    top (to be found in `tops`). Two points are as far apart as the merge at which they meet is
    high, so distances to the others below the top add up on the way down to the point, and all
    points next to the top are as far as its parent is high. A top without parent has its own height
    in place of that.
    """
    for number in range(parents.shape[0] - 1, -1, -1):
        above = parents[number]
        if above == NONE or not pure[above]:
            tops[number] = number
            silhouettes[number] = 0.0
        else:
            tops[number] = tops[above]
            met = sizes[above] - sizes[number]
            silhouettes[number] = silhouettes[above] + heights[above] * met
    for point in range((parents.shape[0] + 1) // 2):
        top = tops[point]
        above = parents[top]
        outside = heights[top] if above == NONE else heights[above]
        inside = silhouettes[point] / max(sizes[top] - 1, 1)
        if outside > 0.0:
            silhouettes[point] = max(0.0, 1.0 - inside / outside)
        else:  # copies: of points of other clusters, or of all that there is
            silhouettes[point] = 1.0 if above == NONE else 0.0
