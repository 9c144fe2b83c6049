"""How a tree grows: time, depth and rotations per insert against the number of points."""

import time
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from perchtree import ClusterTree


class Growth(NamedTuple):
    """What was seen while points were inserted, after each step."""

    points: NDArray[np.int64]
    microseconds: NDArray[np.float64]
    """Per insert, on average over the step."""
    depth: NDArray[np.int64]
    mean_depth: NDArray[np.float64]
    rotations: NDArray[np.float64]
    """Rotations, interchanges and grafts per insert."""


def watch_growth(tree: ClusterTree, X: NDArray[Any], steps: int = 50) -> Growth:
    """Insert X into a tree in so many steps, and keep what `plot_growth` draws."""
    seen = []
    for part in np.array_split(X, min(steps, len(X))):
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


def plot_growth(growth: Growth) -> Any:
    """Draw insert time, depth and rotations on three axes, one below the other."""
    _, axes = plt.subplots(3, 1, figsize=(8, 6.6), sharex=True, layout="constrained")
    time_axes, depth_axes, rotation_axes = axes
    time_axes.plot(growth.points, growth.microseconds, color="#3b4252")
    time_axes.set_ylabel("microseconds\nper insert")
    depth_axes.plot(growth.points, growth.depth, color="#3b4252", label="largest")
    depth_axes.plot(growth.points, growth.mean_depth, color="#2563eb", label="mean")
    log2 = np.log2(growth.points)
    depth_axes.plot(growth.points, log2, color="#8a919e", ls=":", label="log2(points)")
    depth_axes.set_ylabel("depth")
    depth_axes.legend(frameon=False, fontsize=8, loc="lower right")
    rotation_axes.plot(growth.points, growth.rotations, color="#3b4252")
    rotation_axes.set_ylabel("rotations and\ngrafts per insert")
    rotation_axes.set_xlabel("points")
    rotation_axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for ax in axes:
        ax.set_ylim(bottom=0)
        ax.grid(axis="y", lw=0.4, color="#e5e5e5")
        ax.spines[["top", "right"]].set_visible(False)
    return axes
