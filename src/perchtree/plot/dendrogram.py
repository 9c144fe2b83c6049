"""The top of a tree, with sizes, classes and texts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from .._arguments import as_count
from .._kernels.schema import Tree
from .._renamed import renamed
from ..clusters.exemplars import find_exemplars
from ..exports.aligned import numbered_classes, per_point
from ..exports.truncated import Truncated, truncated
from ..inert import one_line
from ..tree import ClusterTree
from .style import DIM, LINE, VERBATIM

_OTHERS = "#d4d4d4"
_COLOURS = 10
"""With more classes than that, the last colour is for all others."""
_LONGEST_CLASS, _LONGEST_TEXT = 20, 44


@renamed(labels="classes", max_leaves="branches")
def plot_dendrogram(
    tree: ClusterTree,
    branches: int = 60,
    *,
    classes: ArrayLike | None = None,
    texts: Sequence[object] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the top of a tree, root on the left: as many branches as one can read.

    Parameters
    ----------
    tree : ClusterTree
    branches : int
        How many branches to draw; the costliest nodes (height x size) are opened.
    classes : array-like of n_points, optional
        The true classes, in the order of the ids: a bar at each branch shows its mix of the most
        frequent ones.
    texts : sequence of n_points, optional
        What each point is, in the same order: each branch shows the text of its most central
        point.
    title : str, optional
        Otherwise the numbers of points and branches.
    ax : matplotlib axes, optional
    """
    as_count("branches", branches, most=2000)
    with tree.reading() as arrays:
        top = truncated(tree.table, branches)
        layout = _lay_out(top)
        exemplars = None
        if texts is not None:
            exemplars = _exemplar_texts(arrays, layout, per_point("texts", texts, top.table))
    mixes = None if classes is None else numbered_classes(classes, top.table)
    if ax is None:
        size = (9, max(3.0, 0.21 * len(layout.ends) + 1.2))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    _draw_lines(ax, layout)
    start = -0.015 * layout.widest
    if mixes is not None:
        _draw_mixes(ax, layout, start, *mixes)
        start -= 0.095 * layout.widest
    _draw_texts(ax, layout, start, exemplars)
    room = 0.1 * (classes is not None) + (0.6 if texts is not None else 0.12)
    _draw_frame(ax, layout, room)
    default = f"{tree.n_points:,} points, {len(layout.ends):,} branches"
    title = default if title is None else one_line(title)
    ax.set_title(title, loc="left", fontsize=11, **VERBATIM)
    return ax


class _Layout(NamedTuple):
    """Where the shown nodes go."""

    top: Truncated
    ends: list[int]
    """Places of the branches, from above to below."""
    rows: NDArray[np.float64]
    heights: NDArray[np.float64]
    """Less the floor: what is below the shown part is cut off, there is nothing to see."""
    floor: float
    widest: float


def _lay_out(top: Truncated) -> _Layout:
    rows = _rows(top)
    ends = [place for place, below in enumerate(top.children) if not below]
    ends.sort(key=lambda place: float(rows[place]))
    floor = 0.96 * float(top.heights[ends].min())
    heights = top.heights - floor
    widest = float(heights[0]) if heights[0] > 0 else 1.0
    return _Layout(top, ends, rows, heights, floor, widest)


def _rows(top: Truncated) -> NDArray[np.float64]:
    """The row of each node: branches one below the other, a node amid its children."""
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


def _draw_lines(ax: Any, layout: _Layout) -> None:
    """The tree, and a dotted line from each branch to what is written beside it."""
    rows, heights = layout.rows, layout.heights
    lines = []
    for place, below in enumerate(layout.top.children):
        lines += [[(heights[place], rows[child]), (heights[child], rows[child])] for child in below]
        if below:
            lines.append([(heights[place], rows[child]) for child in below])
    ax.add_collection(LineCollection(lines, colors=LINE, linewidths=0.9, capstyle="round"))
    for place in layout.ends:
        if heights[place] > 0:
            ax.plot([heights[place], 0], [rows[place]] * 2, color=DIM, lw=0.7, ls=":")


def _draw_mixes(
    ax: Any, layout: _Layout, start: float, names: NDArray[Any], classes: NDArray[np.int64]
) -> None:
    """A bar beside each branch, coloured by its classes, and a legend."""
    shown = _COLOURS if len(names) <= _COLOURS else _COLOURS - 1
    common = np.sort(np.argsort(-np.bincount(classes), kind="stable")[:shown])
    colours = dict(zip(common.tolist(), colormaps["tab10"](range(_COLOURS)), strict=False))
    for place in layout.ends:
        own, many = np.unique(classes[layout.top.members(place)], return_counts=True)
        left = start
        for each in np.argsort(-many, kind="stable").tolist():
            part = 0.08 * layout.widest * int(many[each]) / int(layout.top.sizes[place])
            colour = colours.get(int(own[each]), _OTHERS)
            ax.barh(layout.rows[place], -part, left=left, height=0.72, color=colour)
            left -= part
    entries = [one_line(name, _LONGEST_CLASS) for name in names[common].tolist()]
    if len(names) > len(common):
        colours[-1] = _OTHERS
        entries.append(f"{len(names) - len(common):,} others")
    _draw_legend(ax, entries, list(colours.values()))


def _draw_legend(ax: Any, entries: list[str], colours: list[Any]) -> None:
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in colours]
    legend = ax.legend(
        handles, [""] * len(handles), loc="lower right", bbox_to_anchor=(1, 1), fontsize=7, ncols=6,
        frameon=False, handlelength=1, columnspacing=1,
    )  # fmt: skip
    # Set afterwards: as labels they would be parsed, and older versions of matplotlib leave out
    # those that start with "_".
    for text, entry in zip(legend.get_texts(), entries, strict=True):
        text.set(text=entry, **VERBATIM)


def _draw_texts(ax: Any, layout: _Layout, start: float, exemplars: list[str] | None) -> None:
    """The size of each branch, and its text."""
    for at, place in enumerate(layout.ends):
        size = int(layout.top.sizes[place])
        text = exemplars[at] if exemplars else ""
        text = f"{size:,}  {text}".rstrip() if size > 1 or not text else text
        ax.text(
            start, layout.rows[place], text, va="center", ha="left", fontsize=7.5, color=LINE,
            **VERBATIM,
        )  # fmt: skip


def _exemplar_texts(tree: Tree, layout: _Layout, texts: list[object]) -> list[str]:
    table = layout.top.table
    clusters = np.empty(table.n_points, np.int64)
    for number, place in enumerate(layout.ends):
        clusters[layout.top.members(place)] = number
    ids = find_exemplars(tree, table, clusters)
    numbers = np.searchsorted(table.ids, ids)
    return [one_line(texts[number], _LONGEST_TEXT) for number in numbers.tolist()]


def _draw_frame(ax: Any, layout: _Layout, room: float) -> None:
    widest, floor = layout.widest, layout.floor
    ax.set_xlim(1.04 * widest, -room * widest)
    ax.set_ylim(len(layout.ends) - 0.4, -0.6)
    ticks = np.asarray(MaxNLocator(7).tick_values(floor, floor + widest))
    ticks = ticks[(ticks >= floor) & (ticks <= floor + widest)]
    ax.set_xticks(ticks - floor, [f"{tick:.6g}" for tick in ticks])
    ax.set_yticks([])
    ax.set_xlabel("height", loc="left")
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)
