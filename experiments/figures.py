"""The figures of the paper's section 6, drawn from raw results as PNG and SVG."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from .plan import Scale, memory, over_k, setting, tradeoff, watched
from .runs import Results, Run
from .summary import one

COLOURS = {
    "PERCH": "#111827", "PERCH, A*": "#0891b2", "PERCH-BC": "#2563eb", "grafted": "#dc2626",
    "MB-KM": "#059669", "faiss k-means": "#d97706", "BIRCH (online)": "#9ca3af",
    "BIRCH (rebuild)": "#4b5563", "HKMeans": "#a855f7",
}  # fmt: skip


def draw_all(folder: Path, results: Results, scale: Scale) -> dict[str, str]:
    """Draw what there are results for: the name of each figure, and its caption."""
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "perchtree"  # the same drawing, the same file
    drawn = {}
    for draw in (speed_and_purity, growth, time_over_k, purity_over_memory):
        figure, caption = draw(results, scale)
        if figure is None:
            continue
        for suffix in ("png", "svg"):
            path = folder / f"{draw.__name__}.{suffix}"
            figure.savefig(path, dpi=130, bbox_inches="tight", metadata=_undated(suffix))
        plt.close(figure)
        drawn[draw.__name__] = caption
    return drawn


def _undated(suffix: str) -> dict[str, Any]:
    return {"Date": None} if suffix == "svg" else {"Software": None}


def _axes(rows: int = 1, columns: int = 1, **more: Any) -> tuple[Any, Any]:
    size = (7.5 if columns == 1 else 9, 4.2 if rows == 1 else 5.6)
    figure, axes = plt.subplots(rows, columns, figsize=size, **more)
    for ax in np.ravel(axes):
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.grid(axis="y", lw=0.4, color="#e5e5e5")
        ax.set_axisbelow(True)
    return figure, axes


def _points(
    results: Results, runs: Iterable[Run], measure: str
) -> dict[str, list[tuple[dict[str, Any], float, float]]]:
    """By algorithm: setting, seconds and the measure."""
    found: dict[str, list[tuple[dict[str, Any], float, float]]] = {}
    for run in runs:
        figure = one(results, run, measure)
        if figure.mean is not None:
            point = setting(run), figure.seconds, figure.mean
            found.setdefault(run.algorithm, []).append(point)
    return found


_SHORT = {"beam_width": "beam", "max_leaves": "L =", "branching": "", "iterations": ""}


def speed_and_purity(results: Results, scale: Scale) -> tuple[Any, str]:
    found = _points(results, tradeoff(scale), "purity")
    if not found:
        return None, ""
    figure, ax = _axes()
    for algorithm, points in found.items():
        seconds, purity = np.array([(s, p) for _, s, p in points]).T
        colour = COLOURS[algorithm]
        marker = "*" if algorithm in ("PERCH", "PERCH, A*", "grafted") else "o"
        ax.scatter(seconds, purity, s=90 if marker == "*" else 22, c=colour, marker=marker,
                   label=algorithm, zorder=3)  # fmt: skip
        for parameter in [
            name for name in _SHORT if any(name in chosen for chosen, _, _ in points)
        ]:
            line = [(s, p, chosen[parameter]) for chosen, s, p in points if parameter in chosen]
            ax.plot([s for s, _, _ in line], [p for _, p, _ in line], c=colour, lw=0.8, alpha=0.5)
            for x, y, value in line:
                ax.annotate(f"{_SHORT[parameter]} {value}".strip(), (x, y), fontsize=6,
                            xytext=(3, 3), textcoords="offset points", color=colour)  # fmt: skip
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("seconds")
    ax.set_ylabel("dendrogram purity")
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    name, rows = scale.tradeoff
    return figure, (
        f"Speed against purity on {name}{f' ({rows:,} rows)' if rows else ''} as the parameters of "
        "the paper's figure vary: beam width and number of leaves of PERCH-BC, branching factor of "
        "BIRCH, iterations of HKMeans."
    )


def growth(results: Results, scale: Scale) -> tuple[Any, str]:
    runs = [run for run in watched(scale) if results.of.get(run, {}).get("status") == "ok"]
    if not runs:
        return None, ""
    names = list(dict.fromkeys(run.data for run in runs))
    figure, axes = _axes(2, len(names), sharex="col", squeeze=False)
    for run in runs:
        seen = results.of[run]["growth"]
        points = np.array(seen["points"])
        balanced = setting(run)["balance"] is not None
        label = "PERCH" if balanced else "PERCH without balance rotations"
        style = {"color": "#dc2626" if balanced else "#111827", "label": label, "lw": 1.2}
        above, below = axes[:, names.index(run.data)]
        above.plot(points, np.array(seen["microseconds"]) / np.log2(points), **style)
        below.plot(points, seen["depth"], **style)
        above.set_title(run.data, fontsize=9)
        below.set_xlabel("points")
        below.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
        below.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes[0, 0].set_ylabel("insert time / log2(n),\nmicroseconds")
    axes[1, 0].set_ylabel("largest depth")
    for ax in axes.ravel():
        ax.set_ylim(bottom=0)
    axes[1, 0].legend(frameon=False, fontsize=8, loc="lower right")
    return figure, (
        "Insert time (A* search, one thread) divided by log2(n), and depth, against the number of "
        f"points: {', '.join(names)}."
    )


def time_over_k(results: Results, scale: Scale) -> tuple[Any, str]:
    found: dict[str, list[tuple[int, float]]] = {}
    for run in over_k(scale):
        figure_ = one(results, run, "seconds")
        if figure_.mean is not None:
            found.setdefault(run.algorithm, []).append((int(run.data.split("-")[2]), figure_.mean))
    if not found:
        return None, ""
    figure, ax = _axes()
    for algorithm, points in found.items():
        ks, seconds = np.array(sorted(points)).T
        ax.plot(ks, seconds, "o-", ms=4, lw=1.2, color=COLOURS[algorithm], label=algorithm)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("number of clusters K")
    ax.set_ylabel("seconds")
    ax.legend(frameon=False, fontsize=8)
    return figure, (
        f"Run time against the number of clusters: mixtures of {scale.mixture_points:,} points in "
        "64 dimensions."
    )


def purity_over_memory(results: Results, scale: Scale) -> tuple[Any, str]:
    found: dict[str, list[tuple[float, float, int]]] = {}
    for run in memory(scale):
        purity, size = one(results, run, "purity"), one(results, run, "bytes")
        if purity.mean is not None and size.mean is not None:
            leaves = setting(run)["max_leaves"]
            found.setdefault(run.algorithm, []).append((size.mean / 1e6, purity.mean, leaves))
    if not found:
        return None, ""
    figure, ax = _axes()
    for algorithm, points in found.items():
        megabytes, purity_, leaves = zip(*sorted(points), strict=True)
        name = {"PERCH": "PERCH-C", "grafted": "grafted, collapsed"}[algorithm]
        ax.plot(megabytes, purity_, "o-", ms=4, lw=1.2, color=COLOURS[algorithm], label=name)
        for x, y, count in zip(megabytes, purity_, leaves, strict=True):
            ax.annotate(f"{count:,}", (x, y), fontsize=6, xytext=(0, 5),
                        textcoords="offset points", ha="center")  # fmt: skip
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("memory of the tree, MB (numbers are leaves)")
    ax.set_ylabel("dendrogram purity")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    name, rows = scale.robust
    return figure, f"Purity against memory in collapsed mode on {name}, {rows or 'all'} rows."
