"""Agglomeration on a graph, written for reading: a list of pairs, whose first is looked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference_linkage import Moments, weight

APART = 1e-3


@dataclass
class Pair:
    number: int
    ends: list[int]
    weight: float
    key: float = 0.0

    def other(self, cluster: int) -> int:
        return self.ends[1] if self.ends[0] == cluster else self.ends[0]


def union(a: Moments, b: Moments) -> Moments:
    mean = (a.n * a.mean + b.n * b.mean) / (a.n + b.n)
    gap = ((a.mean - b.mean) ** 2).sum()
    return Moments(a.n + b.n, mean, a.scatter + b.scatter + weight(a.n, b.n) * gap)


def linkage(a: Moments, b: Moments, edges: float) -> float:
    mean_square = ((a.mean - b.mean) ** 2).sum() + a.scatter / a.n + b.scatter / b.n
    return mean_square * weight(a.n, b.n) ** 0.25 / (edges / (a.n * b.n) + APART)


def nearest(rows: np.ndarray, k: int) -> list[list[int]]:
    """The k nearest other rows of each, the nearest first, then by number."""
    squared = ((rows[:, np.newaxis] - rows) ** 2).sum(axis=2)
    orders = np.argsort(squared, axis=1, kind="stable")
    return [[int(j) for j in order if j != i][:k] for i, order in enumerate(orders)]


def edge_weights(neighbours: list[list[int]]) -> dict[tuple[int, int], float]:
    """Pairs of which one lists the other; the weight is 0 unless both do."""
    weights = {}
    for i, listed in enumerate(neighbours):
        for place, j in enumerate(listed):
            mutual = i in neighbours[j]
            back = neighbours[j].index(i) if mutual else 0
            weights[min(i, j), max(i, j)] = mutual * (1 / (place + 1) + 1 / (back + 1))
    return weights


def agglomerate(points: np.ndarray, copies: list[int], k: int) -> list[tuple[int, int]]:
    """Merges, as in scikit-learn."""
    clusters = {i: Moments(n, x, 0.0) for i, (n, x) in enumerate(zip(copies, points, strict=True))}
    numbers = {i: i for i in clusters}
    merges: list[tuple[int, int]] = []
    by_edges = True
    while len(clusters) > 1:
        living = sorted(clusters)
        rows = np.array([clusters[i].mean for i in living])
        found = edge_weights(nearest(rows, min(k, len(rows) - 1)))
        pairs = [
            Pair(number, [living[i], living[j]], found[i, j] * by_edges)
            for number, (i, j) in enumerate(sorted(found))
        ]
        merge_all(clusters, numbers, pairs, merges, len(points))
        by_edges = False
    return merges


def merge_all(clusters, numbers, pairs, merges, n_points) -> None:
    def now(pair: Pair) -> float:
        return linkage(clusters[pair.ends[0]], clusters[pair.ends[1]], pair.weight)

    for pair in pairs:
        pair.key = now(pair)
    while pairs:
        best = min(pairs, key=lambda pair: (pair.key, pair.number))
        if now(best) > best.key * (1 + 1e-12):
            best.key = now(best)
            continue
        pairs.remove(best)
        a, b = best.ends
        degree = {v: sum(v in pair.ends for pair in pairs) for v in (a, b)}
        stays, goes = (a, b) if degree[a] >= degree[b] else (b, a)
        merges.append(tuple(sorted((numbers[a], numbers[b]))))
        numbers[stays] = n_points + len(merges) - 1
        clusters[stays] = union(clusters[a], clusters[b])
        del clusters[goes]
        for pair in [pair for pair in pairs if goes in pair.ends]:
            other = pair.other(goes)
            known = next((p for p in pairs if set(p.ends) == {stays, other}), None)
            if known is None:
                pair.ends[pair.ends.index(goes)] = stays
                known = pair
            else:
                known.weight += pair.weight
                pairs.remove(pair)
            known.key = now(known)
