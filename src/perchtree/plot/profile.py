"""What each number of clusters costs, or how well it fits the true classes."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._renamed import renamed
from ..exports.aligned import numbered_classes
from ..metrics import pairwise_f1
from ..tree import ClusterTree
from .style import ACCENT, DIM, LINE, SECOND

Numbers = NDArray[np.int64]


@renamed(labels="classes")
def plot_profile(tree: ClusterTree, classes: ArrayLike | None = None, *, ax: Any = None) -> Any:
    """Draw what each number of clusters costs, with the suggested numbers marked.

    Parameters
    ----------
    tree : ClusterTree
    classes : array-like of n_points, optional
        The true classes, in the order of the ids: purity and pairwise F1 of the clusters are
        drawn instead of the cost.
    ax : matplotlib axes, optional
    """
    known = None if classes is None else numbered_classes(classes, tree.table)[1]
    ax = plt.subplots(figsize=(8, 4.2), layout="constrained")[1] if ax is None else ax
    most = max(1, min(tree.n_leaves, tree.n_points - 1))
    numbers = np.unique(np.geomspace(1, most, 60).round().astype(int))
    if known is None:
        _draw_costs(ax, tree, numbers)
    else:
        _draw_scores(ax, tree, numbers, known)
    _mark_suggestions(ax, tree, most)
    ax.set_xscale("log")
    ax.set_xlabel("clusters (dashed: suggested)")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", lw=0.4, color="#e5e5e5")
    ax.set_axisbelow(True)
    return ax


def _draw_costs(ax: Any, tree: ClusterTree, numbers: Numbers) -> None:
    costs = [tree.cut_level(int(number)) for number in numbers]
    ax.plot(numbers, costs, color=LINE)
    ax.set_yscale("symlog", linthresh=max(1e-12, min([c for c in costs if c > 0], default=1)))
    ax.set_ylabel("largest cost: diagonal x points")


def _draw_scores(ax: Any, tree: ClusterTree, numbers: Numbers, classes: Numbers) -> None:
    cuts = tree.cut(numbers.tolist()).reshape(tree.n_points, -1)
    purity = [_purity(classes, cut) for cut in cuts.T]
    f1 = [pairwise_f1(classes, cut) for cut in cuts.T]
    ax.plot(numbers, purity, color=LINE, label="purity of clusters")
    ax.plot(numbers, f1, color=SECOND, label="pairwise F1")
    n_classes = int(classes.max()) + 1
    ax.axvline(n_classes, color=DIM, lw=0.9)
    ax.annotate(
        f"{n_classes:,} classes", (n_classes, 0.0), (4, 4), textcoords="offset points",
        fontsize=8, color=DIM,
    )  # fmt: skip
    ax.set_ylim(-0.02, 1.12)
    ax.legend(frameon=False, loc="center right", fontsize=8)


def _purity(classes: Numbers, clusters: Numbers) -> float:
    """The share of points that are of their cluster's most frequent class."""
    n_classes = int(classes.max()) + 1
    pairs, counts = np.unique(clusters * n_classes + classes, return_counts=True)
    largest = np.zeros(int(clusters.max()) + 1, np.int64)
    np.maximum.at(largest, pairs // n_classes, counts)
    return float(largest.sum() / len(classes))


def _mark_suggestions(ax: Any, tree: ClusterTree, most: int) -> None:
    """A dashed line at each suggested number; numbers that would overlap are left out."""
    shown: list[float] = []
    for suggestion in tree.suggest_cuts(5):
        number = suggestion.n_clusters
        ax.axvline(number, color=ACCENT, lw=0.9, ls="--")
        if all(abs(np.log(number / other)) > 0.03 * np.log(max(most, 3)) for other in shown):
            ax.annotate(
                f"{number:,}", (number, 1), (3, -9), xycoords=("data", "axes fraction"),
                textcoords="offset points", fontsize=8, color=ACCENT,
            )  # fmt: skip
            shown.append(number)
