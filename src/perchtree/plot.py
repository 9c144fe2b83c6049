"""Pictures of trees, with matplotlib (the `plot` extra). Each function returns the axes it drew on.

>>> import matplotlib
>>> matplotlib.use("agg")
>>> import numpy as np
>>> from perchtree import ClusterTree
>>> from perchtree.plot import plot_dendrogram
>>> tree = ClusterTree(2, linkage="average")
>>> ids = tree.insert(np.random.default_rng(0).random((200, 2)))
>>> axes = plot_dendrogram(tree, max_leaves=20)
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validate import as_count, as_rows
from .exemplars import find_exemplars
from .exports.truncated import Truncated, truncated
from .metrics import pairwise_f1
from .tree import ClusterTree

try:
    import matplotlib.pyplot as plt
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator
except ImportError:
    raise ImportError("pictures need matplotlib: pip install 'perchtree[plot]'") from None

_LINE, _DIM, _ACCENT = "#3b4252", "#8a919e", "#c2410c"
_OTHERS = "#d4d4d4"
_MOST_CLASSES = 9  # and one colour for all others


# Dendrogram


def plot_dendrogram(
    tree: ClusterTree,
    max_leaves: int = 60,
    *,
    labels: ArrayLike | None = None,
    texts: Sequence[object] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the top of a tree, root on the left: as many branches as one can read.

    Parameters
    ----------
    tree : ClusterTree
    max_leaves : int
        Branches to draw; the costliest nodes (height x size) are opened.
    labels : array-like of n_points, optional
        Classes: a bar at each branch shows its mix of the most frequent ones.
    texts : sequence of n_points, optional
        What each point is: each branch shows the text of its most central point.
    ax : matplotlib axes, optional
    """
    as_count("max_leaves", max_leaves, most=2000)
    given: dict[str, Any] = {"labels": labels, "texts": texts}
    for what, values in given.items():
        if values is not None and np.shape(values)[0] != tree.n_points:
            raise ValueError(f"{np.shape(values)[0]} {what} for a tree of {tree.n_points} points")
    top = truncated(tree.table, max_leaves)
    rows = _rows(top)
    ends = [place for place, below in enumerate(top.children) if not below]
    # What is below the shown part is cut off: there is nothing to see.
    floor = 0.96 * float(top.heights[ends].min())
    heights = top.heights - floor
    ends.sort(key=lambda place: rows[place])
    if ax is None:
        _, ax = plt.subplots(figsize=(9, max(3.0, 0.21 * len(ends) + 1.2)), layout="constrained")
    lines = []
    for place, below in enumerate(top.children):
        lines += [[(heights[place], rows[child]), (heights[child], rows[child])] for child in below]
        if below:
            lines.append([(heights[place], rows[child]) for child in below])
    ax.add_collection(LineCollection(lines, colors=_LINE, linewidths=0.9, capstyle="round"))
    widest = heights[0] if heights[0] > 0 else 1.0
    _draw_ends(ax, top, tree, ends, rows, heights, widest, labels, texts)
    room = 0.1 * (labels is not None) + (0.6 if texts is not None else 0.12)
    ax.set_xlim(1.04 * widest, -room * widest)
    ax.set_ylim(len(ends) - 0.4, -0.6)
    ticks = np.asarray(MaxNLocator(7).tick_values(floor, floor + widest))
    ticks = ticks[(ticks >= floor) & (ticks <= floor + widest)]
    ax.set_xticks(ticks - floor, [f"{tick:.6g}" for tick in ticks])
    ax.set_yticks([])
    ax.set_xlabel("height: diagonal of the box", loc="left")
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)
    ax.set_title(f"{tree.n_points:,} points, {len(ends):,} branches", loc="left", fontsize=11)
    return ax


def _rows(top: Truncated) -> NDArray[np.float64]:
    """Where each node goes: branches one below the other, a node amid its children."""
    rows = np.zeros(len(top.numbers))
    at, waiting = 0, [0]
    while waiting:
        place = waiting.pop()
        if top.children[place]:
            waiting += sorted(top.children[place], key=lambda child: int(top.sizes[child]))
        else:
            rows[place] = at
            at += 1
    for place in range(len(rows) - 1, -1, -1):  # children come after parents
        if top.children[place]:
            rows[place] = rows[top.children[place]].mean()
    return rows


def _draw_ends(
    ax: Any,
    top: Truncated,
    tree: ClusterTree,
    ends: list[int],
    rows: NDArray[np.float64],
    heights: NDArray[np.float64],
    widest: float,
    labels: ArrayLike | None,
    texts: Sequence[object] | None,
) -> None:
    """Sizes, mixes of classes and texts, to the right of the branches."""
    start = -0.015 * widest
    for place in ends:
        if heights[place] > 0:
            ax.plot([heights[place], 0], [rows[place]] * 2, color=_DIM, lw=0.7, ls=":")
    if labels is not None:
        _draw_mixes(ax, top, ends, rows, start, 0.08 * widest, np.asarray(labels))
        start -= 0.095 * widest
    names = _exemplar_texts(top, tree, ends, texts)
    for place, name in zip(ends, names, strict=True):
        size = int(top.sizes[place])
        ax.text(
            start, rows[place], f"{size:,}  {name}" if size > 1 or not name else name,
            va="center", ha="left", fontsize=7.5, color=_LINE, parse_math=False,
        )  # fmt: skip


def _draw_mixes(
    ax: Any,
    top: Truncated,
    ends: list[int],
    rows: NDArray[np.float64],
    start: float,
    width: float,
    labels: NDArray[Any],
) -> None:
    values, counts = np.unique(labels, return_counts=True)
    shown = 10 if len(values) <= 10 else _MOST_CLASSES
    common = np.sort(values[np.argsort(-counts, kind="stable")][:shown])
    colours = dict(zip(common.tolist(), colormaps["tab10"](range(10)), strict=False))
    for place in ends:
        own, many = np.unique(labels[top.members(place)], return_counts=True)
        left = start
        for value, count in sorted(
            zip(own.tolist(), many.tolist(), strict=True), key=lambda pair: -pair[1]
        ):
            part = width * count / int(top.sizes[place])
            ax.barh(rows[place], -part, left=left, height=0.72, color=colours.get(value, _OTHERS))
            left -= part
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in colours.values()]
    names = [str(name)[:20] for name in colours]
    if len(values) > len(common):
        handles.append(Rectangle((0, 0), 1, 1, color=_OTHERS))
        names.append(f"{len(values) - len(common):,} others")
    ax.legend(
        handles, names, loc="lower right", bbox_to_anchor=(1, 1), fontsize=7, ncols=6,
        frameon=False, handlelength=1, columnspacing=1,
    )  # fmt: skip


def _exemplar_texts(
    top: Truncated, tree: ClusterTree, ends: list[int], texts: Sequence[object] | None
) -> list[str]:
    if texts is None:
        return ["" for _ in ends]
    clusters = np.empty(tree.n_points, np.int64)
    for number, place in enumerate(ends):
        clusters[top.members(place)] = number
    with tree.lock:
        chosen = find_exemplars(tree._tree, clusters)
    lines = [" ".join(str(texts[i]).split()) for i in chosen.tolist()]
    return [line if len(line) <= 44 else line[:43] + "…" for line in lines]


# Profile


def plot_profile(tree: ClusterTree, labels: ArrayLike | None = None, *, ax: Any = None) -> Any:
    """Draw what each number of clusters costs, with the suggested numbers marked.

    With `labels`, the classes of the points: purity and pairwise F1 instead of the cost.
    """
    ax = plt.subplots(figsize=(8, 4.2), layout="constrained")[1] if ax is None else ax
    most = max(1, min(tree.n_leaves, tree.n_points - 1))
    numbers = np.unique(np.geomspace(1, most, 60).round().astype(int))
    if labels is None:
        costs = [tree.cut_level(int(k)) for k in numbers]
        ax.plot(numbers, costs, color=_LINE)
        ax.set_yscale("symlog", linthresh=max(1e-12, min([c for c in costs if c > 0], default=1)))
        ax.set_ylabel("largest cost: diagonal x points")
    else:
        classes = np.unique(np.asarray(labels), return_inverse=True)[1]
        cuts = tree.cut(numbers.tolist()).reshape(tree.n_points, -1)
        purity = [_purity(classes, cut) for cut in cuts.T]
        f1 = [pairwise_f1(classes, cut) for cut in cuts.T]
        ax.plot(numbers, purity, color=_LINE, label="purity of clusters")
        ax.plot(numbers, f1, color="#2563eb", label="pairwise F1")
        n_classes = int(classes.max()) + 1
        ax.axvline(n_classes, color=_DIM, lw=0.9)
        ax.annotate(
            f"{n_classes:,} classes", (n_classes, 0.0), (4, 4), textcoords="offset points",
            fontsize=8, color=_DIM,
        )  # fmt: skip
        ax.set_ylim(-0.02, 1.12)
        ax.legend(frameon=False, loc="center right", fontsize=8)
    shown: list[float] = []
    for suggestion in tree.suggest_cuts(5):
        k = suggestion.n_clusters
        ax.axvline(k, color=_ACCENT, lw=0.9, ls="--")
        if all(abs(np.log(k / other)) > 0.03 * np.log(max(most, 3)) for other in shown):
            ax.annotate(
                f"{k:,}", (k, 1), (3, -9), xycoords=("data", "axes fraction"),
                textcoords="offset points", fontsize=8, color=_ACCENT,
            )  # fmt: skip
            shown.append(k)
    ax.set_xscale("log")
    ax.set_xlabel("clusters (dashed: suggested)")
    _plain_frame(ax)
    return ax


def _purity(classes: NDArray[np.int64], clusters: NDArray[np.int64]) -> float:
    """The share of points that are of their cluster's most frequent class."""
    n_classes = int(classes.max()) + 1
    pairs, counts = np.unique(clusters * n_classes + classes, return_counts=True)
    largest = np.zeros(int(clusters.max()) + 1, np.int64)
    np.maximum.at(largest, pairs // n_classes, counts)
    return float(largest.sum() / len(classes))


# Growth


class Growth(NamedTuple):
    """What was seen while points were inserted, after each step."""

    points: NDArray[np.int64]
    microseconds: NDArray[np.float64]
    """For one insert, on average over the step."""
    depth: NDArray[np.int64]
    mean_depth: NDArray[np.float64]
    rotations: NDArray[np.float64]
    """Rotations, interchanges and grafts for one insert."""


def watch_growth(tree: ClusterTree, X: ArrayLike, steps: int = 50) -> Growth:
    """Insert X into a tree, in so many steps, and keep what `plot_growth` draws."""
    rows = as_rows(X, tree.n_features)
    seen = []
    for part in np.array_split(rows, min(as_count("steps", steps), len(rows))):
        before, start = _moves(tree), time.perf_counter()
        tree.insert(part)
        spent = 1e6 * (time.perf_counter() - start) / len(part)
        depth = tree.depth
        moves = (_moves(tree) - before) / len(part)
        seen.append((tree.n_points, spent, depth.max, depth.mean, moves))
    return Growth(*(np.array(column) for column in zip(*seen, strict=True)))


def _moves(tree: ClusterTree) -> int:
    stats = tree.stats
    return stats.masking_rotations + stats.balance_rotations + stats.interchanges + stats.grafts


def plot_growth(growth: Growth, *, axes: Any = None) -> Any:
    """Draw insert time, depth and rotations against the number of points, on three axes."""
    if axes is None:
        _, axes = plt.subplots(3, 1, figsize=(8, 6.6), sharex=True, layout="constrained")
    time_axes, depth_axes, rotation_axes = axes
    time_axes.plot(growth.points, growth.microseconds, color=_LINE)
    time_axes.set_ylabel("microseconds\nan insert")
    depth_axes.plot(growth.points, growth.depth, color=_LINE, label="largest")
    depth_axes.plot(growth.points, growth.mean_depth, color="#2563eb", label="mean")
    depth_axes.plot(growth.points, np.log2(growth.points), color=_DIM, ls=":", label="log2(points)")
    depth_axes.set_ylabel("depth")
    depth_axes.legend(frameon=False, fontsize=8, loc="lower right")
    rotation_axes.plot(growth.points, growth.rotations, color=_LINE)
    rotation_axes.set_ylabel("rotations and\ngrafts an insert")
    rotation_axes.set_xlabel("points")
    rotation_axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for each in axes:
        each.set_ylim(bottom=0)
        _plain_frame(each)
    return axes


def _plain_frame(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", lw=0.4, color="#e5e5e5")
    ax.set_axisbelow(True)
