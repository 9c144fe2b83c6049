"""Agglomeration on a graph: of all pairs of clusters that edges join, the closest is merged next.

The edges of the cluster that has fewer are handed to the other, so that an edge changes hands at
most log2(edges) times. A pair's linkage is updated when edges are added to it, and when it comes
first.
"""

from typing import NamedTuple

import numpy as np

from .jit import entry_point, kernel
from .moments import ward_weight
from .neighbors import joined
from .schema import NONE, Counts, Doubles, Ints

# Entries of `Progress`.
MADE = 0
QUEUED = 1


class Clusters(NamedTuple):
    """What is known of each cluster: a merge overwrites one of its two with their union.

    - `means`: float64 (clusters, d), `scatters` and `sizes`: float64 (clusters,);
    - `numbers`: int64 (clusters,), points first, then merges, as in scikit-learn; NONE for a
      cluster that has become part of another.
    """

    means: Doubles
    scatters: Doubles
    sizes: Doubles
    numbers: Counts


class Graph(NamedTuple):
    """Edges between clusters. Edge e has two ends, 2e and 2e + 1; a merge joins equal ones.

    - `ends`: int32 (2 edges,), the cluster at each end;
    - `after`, `before`: int32 (2 edges,), the other ends at the same cluster; NONE at the last;
    - `first`, `degrees`: int32 (clusters,), where a cluster's ends begin, and how many there are;
    - `weights`: float64 (edges,);
    - `table`: int32 (a power of two,), edges by their two clusters: open addressing.
    """

    ends: Ints
    after: Ints
    before: Ints
    first: Ints
    degrees: Ints
    weights: Doubles
    table: Ints


class Ranking(NamedTuple):
    """Edges by linkage, then by number: a heap that knows where each edge is.

    - `keys`: float64 (edges,), the linkage when it was last computed;
    - `order`: int32 (edges,), the heap; `places`: int32 (edges,), where in it each edge is.
    """

    keys: Doubles
    order: Ints
    places: Ints


# Edges by their two clusters


@kernel
def home(graph: Graph, a: int, b: int) -> int:
    """Where the edge between two clusters is looked for first."""
    low, high = min(a, b), max(a, b)
    mixed = (np.int64(low) * 73856093) ^ (np.int64(high) * 19349663)
    return (mixed ^ (mixed >> 15)) & (graph.table.shape[0] - 1)


@kernel
def home_of(graph: Graph, edge: int) -> int:
    return home(graph, graph.ends[2 * edge], graph.ends[2 * edge + 1])


@kernel
def find_edge(graph: Graph, a: int, b: int) -> int:
    """The edge between two clusters, or NONE."""
    slot = home(graph, a, b)
    while True:
        edge = graph.table[slot]
        if edge == NONE:
            return NONE
        one, other = graph.ends[2 * edge], graph.ends[2 * edge + 1]
        if (one == a and other == b) or (one == b and other == a):
            return edge
        slot = (slot + 1) & (graph.table.shape[0] - 1)


@kernel
def enter_edge(graph: Graph, edge: int) -> None:
    slot = home_of(graph, edge)
    while graph.table[slot] != NONE:
        slot = (slot + 1) & (graph.table.shape[0] - 1)
    graph.table[slot] = edge


@kernel
def strike_edge(graph: Graph, edge: int) -> None:
    """Take an edge out of the table; those behind it close the gap (Knuth's Algorithm R)."""
    mask = graph.table.shape[0] - 1
    slot = home_of(graph, edge)
    while graph.table[slot] != edge:
        slot = (slot + 1) & mask
    behind = slot
    while True:
        behind = (behind + 1) & mask
        moved = graph.table[behind]
        if moved == NONE:
            break
        if (behind - home_of(graph, moved)) & mask >= (behind - slot) & mask:
            graph.table[slot] = moved
            slot = behind
    graph.table[slot] = NONE


# The ends at a cluster


@kernel
def attach(graph: Graph, end: int) -> None:
    cluster = graph.ends[end]
    old = graph.first[cluster]
    graph.before[end] = NONE
    graph.after[end] = old
    if old != NONE:
        graph.before[old] = end
    graph.first[cluster] = end
    graph.degrees[cluster] += 1


@kernel
def detach(graph: Graph, end: int) -> None:
    before, after = graph.before[end], graph.after[end]
    if before == NONE:
        graph.first[graph.ends[end]] = after
    else:
        graph.after[before] = after
    if after != NONE:
        graph.before[after] = before
    graph.degrees[graph.ends[end]] -= 1


# The heap


@kernel
def precedes_edge(ranking: Ranking, a: int, b: int) -> bool:
    return bool(ranking.keys[a] < ranking.keys[b] or (ranking.keys[a] == ranking.keys[b] and a < b))


@kernel
def put(ranking: Ranking, place: int, edge: int) -> None:
    ranking.order[place] = edge
    ranking.places[edge] = place


@kernel
def sift_down(ranking: Ranking, count: int, place: int) -> None:
    edge = ranking.order[place]
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and precedes_edge(
            ranking, ranking.order[child + 1], ranking.order[child]
        ):
            child += 1
        if not precedes_edge(ranking, ranking.order[child], edge):
            break
        put(ranking, place, ranking.order[child])
        place = child
    put(ranking, place, edge)


@kernel
def sift_up(ranking: Ranking, place: int) -> None:
    edge = ranking.order[place]
    while place > 0:
        above = (place - 1) >> 1
        if not precedes_edge(ranking, edge, ranking.order[above]):
            break
        put(ranking, place, ranking.order[above])
        place = above
    put(ranking, place, edge)


@kernel
def leave_heap(ranking: Ranking, progress: Counts, edge: int) -> None:
    progress[QUEUED] -= 1
    count, place = progress[QUEUED], ranking.places[edge]
    last = ranking.order[count]
    if place < count:
        put(ranking, place, last)
        sift_up(ranking, place)
        sift_down(ranking, count, ranking.places[last])


@kernel
def rank_again(ranking: Ranking, progress: Counts, edge: int, key: float) -> None:
    ranking.keys[edge] = key
    sift_up(ranking, ranking.places[edge])
    sift_down(ranking, progress[QUEUED], ranking.places[edge])


# Merging


@kernel
def gap_between(clusters: Clusters, a: int, b: int) -> float:
    total = 0.0
    for j in range(clusters.means.shape[1]):
        gap = clusters.means[a, j] - clusters.means[b, j]
        total += gap * gap
    return total


@kernel
def edge_linkage(clusters: Clusters, graph: Graph, edge: int) -> float:
    """The linkage between the two clusters that an edge joins."""
    a, b = graph.ends[2 * edge], graph.ends[2 * edge + 1]
    return joined(
        gap_between(clusters, a, b), clusters.sizes[a], clusters.sizes[b],
        clusters.scatters[a], clusters.scatters[b], graph.weights[edge],
    )  # fmt: skip


@kernel
def take_in(clusters: Clusters, stays: int, goes: int) -> None:
    """Make one cluster the union of two."""
    gap = gap_between(clusters, stays, goes)
    size, more = clusters.sizes[stays], clusters.sizes[goes]
    share = more / (size + more)
    for j in range(clusters.means.shape[1]):
        start = clusters.means[stays, j]
        clusters.means[stays, j] = start + share * (clusters.means[goes, j] - start)
    clusters.scatters[stays] += clusters.scatters[goes] + ward_weight(size, more) * gap
    clusters.sizes[stays] = size + more
    clusters.numbers[goes] = NONE


@kernel
def hand_over(
    clusters: Clusters, graph: Graph, ranking: Ranking, progress: Counts, stays: int, goes: int
) -> None:
    """Give the edges of a cluster to the one that it has become part of."""
    end = graph.first[goes]
    while end != NONE:
        following, edge = graph.after[end], end >> 1
        other = graph.ends[end ^ 1]
        strike_edge(graph, edge)
        known = find_edge(graph, stays, other)
        if known == NONE:
            graph.ends[end] = stays
            attach(graph, end)
            enter_edge(graph, edge)
            known = edge
        else:
            graph.weights[known] += graph.weights[edge]
            detach(graph, end ^ 1)
            leave_heap(ranking, progress, edge)
        rank_again(ranking, progress, known, edge_linkage(clusters, graph, known))
        end = following
    graph.first[goes] = NONE
    graph.degrees[goes] = 0


@entry_point
def start_ranking(clusters: Clusters, graph: Graph, ranking: Ranking, progress: Counts) -> None:
    """Make lists, table and heap of the edges in `graph.ends` and `graph.weights`."""
    n_edges = graph.weights.shape[0]
    for edge in range(n_edges):
        attach(graph, 2 * edge)
        attach(graph, 2 * edge + 1)
        enter_edge(graph, edge)
        ranking.keys[edge] = edge_linkage(clusters, graph, edge)
        put(ranking, edge, edge)
    for place in range(n_edges // 2 - 1, -1, -1):
        sift_down(ranking, n_edges, place)
    progress[QUEUED] = n_edges


@entry_point
def merge_closest(
    clusters: Clusters, graph: Graph, ranking: Ranking, progress: Counts, merges: Counts, steps: int
) -> None:
    """Merge clusters, pair after pair, until no edges are left; look at most at `steps` pairs.

    `merges`: int64 (points - 1, 2), the numbers of the two parts of each.
    """
    for _ in range(steps):
        if progress[QUEUED] == 0:
            return
        edge = ranking.order[0]
        now = edge_linkage(clusters, graph, edge)
        if now > ranking.keys[edge]:  # one of the two has grown since
            ranking.keys[edge] = now
            sift_down(ranking, progress[QUEUED], 0)
            continue
        a, b = graph.ends[2 * edge], graph.ends[2 * edge + 1]
        made = progress[MADE]
        merges[made, 0] = min(clusters.numbers[a], clusters.numbers[b])
        merges[made, 1] = max(clusters.numbers[a], clusters.numbers[b])
        strike_edge(graph, edge)
        detach(graph, 2 * edge)
        detach(graph, 2 * edge + 1)
        leave_heap(ranking, progress, edge)
        stays, goes = (a, b) if graph.degrees[a] >= graph.degrees[b] else (b, a)
        take_in(clusters, stays, goes)
        clusters.numbers[stays] = merges.shape[0] + 1 + made
        hand_over(clusters, graph, ranking, progress, stays, goes)
        progress[MADE] = made + 1
