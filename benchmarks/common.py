"""What every benchmark needs: data, clocks, a calibration, and rows of results."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perchtree import ClusterTree


class Row(NamedTuple):
    """One line of the report."""

    what: str
    figure: str
    goal: str = ""


def load(name: str, n_rows: int | None = None, seed: int = 0) -> tuple[Any, Any]:
    """X (float32) and y of a data set, shuffled."""
    folder = os.environ.get("PERCHTREE_DATA")
    if not folder:
        sys.exit("PERCHTREE_DATA is not set: it names the folder with the data sets (NAME.npz)")
    with np.load(Path(folder) / f"{name}.npz") as file:
        X, y = file["X"].astype(np.float32), file["y"]
    order = np.random.default_rng(seed).permutation(len(X))[:n_rows]
    return X[order] / np.float32(255 if name == "omniglot" else 1), y[order]


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best_of(times: int, call: Callable[[], Any]) -> float:
    return min(seconds(call) for _ in range(times))


def build(X: Any, **settings: Any) -> ClusterTree:
    tree = ClusterTree(X.shape[1], **settings)
    tree.insert(X)
    return tree


def blas_gflops() -> float:
    """What this machine's BLAS does right now: the yardstick beside every figure."""
    a = np.random.default_rng(0).random((2048, 2048), np.float32)
    a @ a
    return 2 * 2048**3 / best_of(5, lambda: a @ a) / 1e9


def run_python(code: str, **environment: str) -> str:
    """The output of a process of its own."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
    )
    return result.stdout.strip()
