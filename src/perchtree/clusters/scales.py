"""Minimum sizes of clusters, found from the data: where a tree differs most from one without
clusters.

For each minimum size the strength of the clusters that persist is compared with that in trees of
points without clusters, made from a sample: every principal coordinate is permuted on its own. The
logarithm of the quotient is a gap statistic. Lifetimes are measured on a logarithmic scale here,
and clusters weigh by the square root of their size, so that all scales count alike. Of minimum
sizes with about the same gap the largest counts whose clusters are found again if the points come
in another order.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import Tree
from ..table import NodeTable
from .extraction import extract, logarithms, total_strength
from .regrowing import DISSOLVED, SAMPLE, Grow, Regrown, rows_of

Values = NDArray[np.float64]

_NULLS = 10
"""Trees without clusters, each of a sample."""
_DAMPING = 0.5
_COARSEST = 1 / 16
"""The largest minimum size, as a share of the points: there must be clusters to compare."""
_PLATEAU = 0.2
"""Gaps that differ by less are equal."""
_STANDS_OUT = 1.65
"""To stand out, clusters must be this many times as strong as without clusters."""


class Suggestion(NamedTuple):
    """A way to cut a tree when the number of clusters is not known."""

    n_clusters: int
    min_cluster_size: int
    score: float
    """How many times as strong these clusters are as those in points without clusters."""

    @property
    def stands_out(self) -> bool:
        """Whether these clusters are stronger than those of points without clusters."""
        return self.score >= _STANDS_OUT


def suggest(
    tree: Tree, table: NodeTable, grow: Grow, before: Suggestion | None = None
) -> list[Suggestion]:
    """The scales that stand out most, best first; one that does not stand out if none does.

    The minimum size that was suggested `before` stays the first as long as none is much better.
    """
    sizes = minimum_sizes(table.n_points)
    gaps = np.zeros(len(sizes))
    if len(sizes) > 1:
        nulls = [grow(rows) for rows in structureless(tree, table, _NULLS)]
        gaps = find_gaps(table, nulls, sizes)
    regrown = Regrown(tree, table, grow)
    known = None
    if before is not None and before.stands_out and before.min_cluster_size in sizes:
        known = sizes.index(before.min_cluster_size)
    places = telling(gaps, lambda place: regrown.agreement(sizes[place]), known)
    return [
        Suggestion(count_clusters(table, sizes[place]), sizes[place], float(np.exp(gaps[place])))
        for place in places
    ]


def minimum_sizes(n_points: int) -> list[int]:
    """2, 3, 4, 6, 8, 12, ... up to a share of the points; always 2."""
    powers = 2 ** np.arange(1, 31)
    sizes = np.sort(np.concatenate([powers, 3 * powers // 2]))
    return [int(size) for size in sizes if size == 2 or size <= n_points * _COARSEST]


def structureless(tree: Tree, table: NodeTable, n_samples: int) -> list[Values]:
    """Samples of the points with each principal coordinate permuted on its own."""
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(n_samples):
        places = rng.choice(table.n_points, min(SAMPLE, table.n_points), replace=False)
        rows = rows_of(tree, table, places)
        rows -= rows.mean(axis=0)
        rows /= max(np.abs(rows).max(), np.finfo(np.float64).tiny)  # permuted norms can be larger
        samples.append(rng.permuted(principal_coordinates(rows), axis=0))
    return samples


def principal_coordinates(rows: Values) -> Values:
    """Centred rows in the coordinates of their principal axes, at most as many as rows."""
    if rows.shape[1] <= rows.shape[0]:
        coordinates: Values = rows @ np.linalg.eigh(rows.T @ rows)[1]
    else:
        squared, axes = np.linalg.eigh(rows @ rows.T)
        coordinates = axes * np.sqrt(np.maximum(squared, 0.0))
    return coordinates


def find_gaps(table: NodeTable, nulls: list[NodeTable], sizes: list[int]) -> Values:
    """The gap statistic of each minimum size.

    Points without clusters look the same at all scales: their strength depends on the minimum size,
    and hardly on their number unless the size is a large share of it. There it is taken as
    constant.
    """
    own = strengths(table, sizes)
    without = np.mean([strengths(null, sizes) for null in nulls], axis=0)
    last = int(np.searchsorted(sizes, nulls[0].n_points * _COARSEST, side="right")) - 1
    without[last + 1 :] = without[max(last, 0)]
    tiny = np.finfo(np.float64).tiny
    gaps: Values = np.log(np.maximum(own, tiny) / np.maximum(without, tiny))
    return np.nan_to_num(gaps)


def strengths(table: NodeTable, sizes: list[int]) -> Values:
    """The strength of the clusters for each minimum size, per point and freed of the size."""
    levels = logarithms(table.heights)
    totals = [total_strength(table, levels, size, _DAMPING) for size in sizes]
    return np.array(totals) * np.array(sizes) ** _DAMPING / table.n_points


def telling(gaps: Values, agreement: Callable[[int], float], known: int | None = None) -> list[int]:
    """Places of the minimum sizes to suggest, the best first.

    The first is one whose gap is as good as the best: the `known` one, or the largest whose
    clusters are found again; `agreement` says how far. Then come other peaks that stand out. If
    nothing stands out it is the largest of all, for few and large clusters.
    """
    if np.exp(gaps.max()) < _STANDS_OUT:
        return [len(gaps) - 1]
    as_good = gaps >= gaps.max() - _PLATEAU
    if known is not None and as_good[known]:
        best = known
    else:
        best = _largest_found_again(np.flatnonzero(as_good).tolist(), agreement)
    padded = np.concatenate([[-np.inf], gaps, [-np.inf]])
    peaks = np.flatnonzero((gaps > padded[:-2]) & (gaps >= padded[2:])).tolist()
    others = [
        peak
        for peak in peaks
        if np.exp(gaps[peak]) >= _STANDS_OUT
        and not as_good[min(peak, best) : max(peak, best) + 1].all()  # another plateau
    ]
    return [best, *sorted(others, key=lambda place: -gaps[place])]


def _largest_found_again(places: list[int], agreement: Callable[[int], float]) -> int:
    """The last place whose clusters are found again; if none are, the one where most is."""
    if len(places) == 1:
        return places[0]
    shares = []
    for place in reversed(places):
        shares.append((agreement(place), place))
        if shares[-1][0] > DISSOLVED:
            return place
    return max(shares)[1]


def count_clusters(table: NodeTable, least: int) -> int:
    """How many clusters there are if those that persist have at least so many points."""
    return table.n_points - int(extract(table, least)[table.n_points :].sum())
