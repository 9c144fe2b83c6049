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
from ..clusters.names import Terms, name_groups
from ..exports.aligned import numbered_classes, per_point
from ..exports.truncated import Truncated, truncated
from ..inert import one_line
from ..tree import ClusterTree
from .style import ACCENT, DIM, LINE, SECOND, VERBATIM

_OTHERS = "#d4d4d4"
_COLOURS = 10
"""With more classes than that, the last colour is for all others."""
_LONGEST_CLASS, _LONGEST_TEXT, _LONGEST_NAME = 20, 44, 34
_KEYWORDS = 3
_WORDS_FROM = 4
"""Points that a branch must have to be described by keywords."""
_MOST_SAID, _LANES = 40, 6
"""Corrections that are drawn, and side by side."""


@renamed(labels="classes", max_leaves="branches")
def plot_dendrogram(
    tree: ClusterTree,
    branches: int = 60,
    *,
    classes: ArrayLike | None = None,
    texts: Sequence[object] | None = None,
    corrections: Sequence[tuple[str, int, int]] = (),
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
        What each point is, in the same order: each branch shows its keywords and the text of its
        most central point.
    corrections : sequence of (kind, a, b)
        What was said about pairs of ids, "together" or "apart", as in `Collection.pairs`: a line
        between their branches shows each, blue or orange. They do not change the tree.
    title : str, optional
        Otherwise the numbers of points and branches.
    ax : matplotlib axes, optional
    """
    as_count("branches", branches, most=2000)
    with tree.reading() as arrays:
        top = truncated(tree.table, branches)
        layout = _lay_out(top)
        written = None
        if texts is not None:
            written = _written(arrays, layout, per_point("texts", texts, top.table))
    mixes = None if classes is None else numbered_classes(classes, top.table)
    if ax is None:
        size = (9, max(3.0, 0.21 * len(layout.ends) + 1.2))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    _draw_lines(ax, layout)
    start = -0.015 * layout.widest
    if mixes is not None:
        _draw_mixes(ax, layout, start, *mixes)
        start -= 0.095 * layout.widest
    _draw_corrections(ax, layout, list(corrections))
    _draw_texts(ax, layout, start, written)
    room = 0.1 * (classes is not None) + (0.85 if texts is not None else 0.12)
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


class _Written(NamedTuple):
    """What is written beside a branch."""

    keywords: str
    exemplar: str


def _draw_texts(ax: Any, layout: _Layout, start: float, written: list[_Written] | None) -> None:
    """The size of each branch, its keywords, and the text of its exemplar."""
    style: dict[str, Any] = {"va": "baseline", "fontsize": 7.5} | VERBATIM
    for at, place in enumerate(layout.ends):
        size = int(layout.top.sizes[place])
        keywords, exemplar = written[at] if written else ("", "")
        count = f"{size:,}" if size > 1 or not exemplar else ""
        row = layout.rows[place] + 0.22
        head = f"{count}  {keywords}".strip()
        shown = ax.text(start, row, head or exemplar, color=LINE, **style)
        if head and exemplar:
            ax.annotate(
                exemplar, (1, row), (6, 0), xycoords=(shown, "data"), textcoords="offset points",
                color=DIM, **style,
            )  # fmt: skip


def _written(tree: Tree, layout: _Layout, texts: list[object]) -> list[_Written]:
    table = layout.top.table
    clusters = np.empty(table.n_points, np.int64)
    for number, place in enumerate(layout.ends):
        clusters[layout.top.members(place)] = number
    ids = find_exemplars(tree, table, clusters)
    numbers = np.searchsorted(table.ids, ids).tolist()
    terms, points = Terms(map(str, texts)), np.arange(table.n_points)
    keywords = name_groups(terms, points, clusters, len(layout.ends), _KEYWORDS)
    many = layout.top.sizes[layout.ends] >= _WORDS_FROM
    named = [one_line(", ".join(words), _LONGEST_NAME) if enough else ""
             for words, enough in zip(keywords, many.tolist(), strict=True)]  # fmt: skip
    return [
        _Written(name, one_line(texts[number], _LONGEST_TEXT))
        for name, number in zip(named, numbers, strict=True)
    ]


def _draw_corrections(ax: Any, layout: _Layout, corrections: list[tuple[str, int, int]]) -> None:
    """A line between the branches of the two points of each, or a dot if it is one branch."""
    top, end_of = layout.top, layout.top.ends()
    for turn, (kind, a, b) in enumerate(corrections[:_MOST_SAID]):
        points = np.searchsorted(top.table.ids, [a, b])
        rows = layout.rows[end_of[points]]
        x = (0.02 + 0.01 * (turn % _LANES)) * layout.widest
        same = kind == "together"
        style = {"color": SECOND if same else ACCENT, "ls": "-" if same else (0, (2, 1))}
        ax.plot([x, x], rows, lw=1.1, marker="o", ms=2.6, **style)
    if corrections:
        what = "corrections: blue together, orange apart; clusters follow them, the tree does not"
        left_out = len(corrections) - _MOST_SAID
        what += f" ({left_out:,} more are not drawn)" if left_out > 0 else ""
        ax.annotate(
            what, (1, 0), (0, -24), xycoords="axes fraction", textcoords="offset points",
            ha="right", va="top", fontsize=7, color=DIM,
        )  # fmt: skip


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
