"""Clusterings that a page offers: cuts of the tree as `perch cut` makes them, from few to many."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..clusters.confidence import find_confidence
from ..clusters.correcting import correct
from ..cutting import CuttableTree

Labels = NDArray[np.int64]
Said = tuple[str, int, int]
"""A correction: "together" or "apart", and two ids."""
Numbered = Callable[[str, Labels], Labels]
"""Gives clusters (0, 1, 2, ...) of a cut, named by its options, the numbers that they go by."""

_STEPS, _MOST = (1, 2, 5), 100_000
"""Numbers of clusters are these times powers of ten, up to so many."""
_MOST_SIZES = 10
_CLUSTERS = 1_000_000
"""Clusters of all clusterings on a page together."""
_CONFIDENCES = 4_000_000
"""Confidences on a page, one for each point and clustering; with more, only the first has them."""


class Cut(NamedTuple):
    """One way to cut a tree."""

    by: str
    """"k", "threshold", "min_size", or "suggested" for what stands out."""
    value: float

    @property
    def options(self) -> str:
        """The options of `perch cut` that give this clustering."""
        names = {"k": "-k", "threshold": "--distance", "min_size": "--min-size"}
        name = names.get(self.by)
        if name is None:
            return ""
        return f"{name} {self.value if self.by == 'threshold' else int(self.value)}"

    def labels(self, tree: CuttableTree) -> Labels:
        ways: dict[str, dict[str, Any]] = {
            "k": {"n_clusters": int(self.value)},
            "threshold": {"distance": self.value},
            "min_size": {"min_cluster_size": int(self.value)},
            "suggested": {},
        }
        return tree.cut(**ways[self.by])


class Offered(NamedTuple):
    """A clustering of all points, in the order of their ids."""

    cut: Cut
    labels: Labels
    """0, 1, 2, ... by the first point of each cluster."""
    numbers: Labels
    """What clusters go by."""
    confidence: NDArray[np.float64] | None


def offer(
    tree: CuttableTree, corrections: Sequence[Said], wanted: Iterable[Cut], numbered: Numbered
) -> Iterator[Offered]:
    """Cuts that are wanted, and the usual ones, with corrections applied.

    Of the usual ones, those are left out whose clusters would be too many for a page.
    """
    pairs = {
        kind: np.array([said[1:] for said in corrections if said[0] == kind], np.int64)
        for kind in ("together", "apart")
    }
    first = list(wanted)
    cuts = list(dict.fromkeys([*first, *usual_cuts(tree)]))
    few = len(cuts) * tree.n_points <= _CONFIDENCES
    n_clusters = 0
    for place, cut in enumerate(cuts):
        labels = cut.labels(tree)
        n_own = int(labels.max()) + 1
        if place > len(first) and n_clusters + n_own > _CLUSTERS:
            continue
        n_clusters += n_own
        if corrections:
            labels = correct(
                tree.table, labels, *(found.reshape(-1, 2) for found in pairs.values())
            ).labels
        firm = find_confidence(tree.table, labels) if few or place == 0 else None
        yield Offered(cut, labels, numbered(cut.options, labels), firm)


def usual_cuts(tree: CuttableTree) -> list[Cut]:
    """The suggested cut, some numbers of clusters, thresholds and minimum sizes."""
    n_points = tree.n_points
    counts = [step * 10**power for power in range(9) for step in _STEPS]
    counts = [count for count in counts if 1 < count <= min(n_points // 2, tree.n_leaves, _MOST)]
    heights = np.sort(tree.table.heights[n_points:])[::-1]
    thresholds = [float(f"{heights[count - 1]:.3g}") for count in counts]
    sizes = [count for count in [2, 3, *counts[1:]] if count <= n_points // 4][:_MOST_SIZES]
    return [
        Cut("suggested", 0.0),
        *(Cut("threshold", threshold) for threshold in dict.fromkeys(thresholds) if threshold > 0),
        *(Cut("min_size", float(size)) for size in dict.fromkeys(sizes)),
        *(Cut("k", float(count)) for count in counts),
    ]
