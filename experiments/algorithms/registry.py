"""All algorithms by the names that tables use, with what is tuned."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from . import (
    Outcome,
    bico,
    birch,
    bisecting,
    dbscan,
    hac,
    hkmeans,
    kmeans,
    mbhac,
    mbkmeans,
    peers,
    perch,
    streamkm,
)


class Entry(NamedTuple):
    """An algorithm: (X, number of clusters, seed, **parameters) -> Outcome."""

    run: Callable[..., Outcome]
    makes_tree: bool
    knows_order: bool = True
    """Whether the order of arrival, or a seed, makes a difference."""
    is_kmeans: bool = False
    grid: tuple[dict[str, Any], ...] = ({},)
    """Settings of which the best counts."""
    begins_with: str | None = None
    """Another algorithm whose work is the first part: if that exceeds a limit, so does this."""
    leaves_share: int | None = None
    """Collapsed modes: the bound on leaves is so many times smaller than the data."""

    @property
    def measure(self) -> str:
        """By what the best setting is chosen."""
        return "purity" if self.makes_tree else "f1"

    def parameters(self, n_points: int) -> dict[str, Any]:
        if self.leaves_share is None:
            return {}
        return {"max_leaves": max(n_points // self.leaves_share, 50)}


def _hac(linkage: str) -> Entry:
    return Entry(partial(hac.run, linkage=linkage), True, knows_order=False)


def _mbhac(linkage: str, buffer: int) -> Entry:
    return Entry(partial(mbhac.run, linkage=linkage, buffer=buffer), True)


_BIRCH = (
    {"share": 0.5, "branching": 2}, {"share": 1.0, "branching": 3}, {"share": 0.5, "branching": 5},
    {"share": 1.0, "branching": 5}, {"share": 0.5, "branching": 50},
)  # fmt: skip
_CORESETS = ({"per_cluster": 5}, {"per_cluster": 20})
_published = partial(perch.run, **perch.PUBLISHED)

ALGORITHMS: dict[str, Entry] = {
    "PERCH": Entry(_published, True),
    "PERCH, A*": Entry(partial(_published, search="astar"), True),
    "PERCH-B": Entry(partial(_published, search="beam"), True),
    "PERCH-C": Entry(_published, True, leaves_share=5),
    "PERCH-BC": Entry(partial(_published, search="beam"), True, leaves_share=5),
    "grafted": Entry(partial(perch.run, **perch.GRAFTED), True),
    "BIRCH (online)": Entry(birch.run, True, grid=_BIRCH),
    "BIRCH (rebuild)": Entry(
        partial(birch.run, rebuild=True), True, grid=_BIRCH, begins_with="BIRCH (online)"
    ),
    "MB-HAC-Com. (2K)": _mbhac("complete", 2000),
    "MB-HAC-Com. (5K)": _mbhac("complete", 5000),
    "MB-HAC-Cent. (2K)": _mbhac("centroid", 2000),
    "MB-HAC-Cent. (5K)": _mbhac("centroid", 5000),
    "HKMeans": Entry(hkmeans.run, True, grid=({"iterations": 10}, {"iterations": 40})),
    "HAC single": _hac("single"),
    "HAC average": _hac("average"),
    "HAC complete": _hac("complete"),
    "HAC Ward": _hac("ward"),
    "BisectingKMeans": Entry(bisecting.run, True, is_kmeans=True),
    "K-means": Entry(kmeans.run, False, is_kmeans=True),
    "MB-KM": Entry(mbkmeans.run, False, is_kmeans=True, grid=({"batch": 1024}, {"batch": 4096})),
    "o-MB-KM": Entry(mbkmeans.run_online, False, is_kmeans=True),
    "SKM++": Entry(streamkm.run, False, is_kmeans=True, grid=_CORESETS),
    "BICO": Entry(bico.run, False, is_kmeans=True, grid=_CORESETS),
    "DBSCAN": Entry(
        dbscan.run, False, knows_order=False,
        grid=({"quantile": 0.25}, {"quantile": 0.5}, {"quantile": 0.75}),
    ),
    "fast_hdbscan": Entry(
        peers.run_hdbscan, False, knows_order=False,
        grid=({"min_cluster_size": 2}, {"min_cluster_size": 5}),
    ),
    "PERCH, watched": Entry(partial(perch.grow, **perch.PUBLISHED), True),
    "faiss k-means": Entry(peers.run_faiss, False, is_kmeans=True),
}  # fmt: skip
