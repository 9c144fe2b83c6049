"""What every benchmark needs: data, clocks, a calibration, and rows of results."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from experiments.data import load

from perchtree import ClusterTree

__all__ = ["Row", "best_of", "blas_gflops", "build", "half_product", "load", "seconds"]


class Row(NamedTuple):
    """One line of the report."""

    what: str
    figure: str
    goal: str = ""


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best_of(times: int, call: Callable[[], Any]) -> float:
    return min(seconds(call) for _ in range(times))


def build(X: Any, linkage: str = "box", **settings: Any) -> ClusterTree:
    tree = ClusterTree(X.shape[1], linkage=linkage, **settings)
    tree.insert(X)
    return tree


def blas_gflops() -> float:
    """What this machine's BLAS does right now, on all cores: the yardstick beside every figure."""
    a = np.random.default_rng(0).random((2048, 2048), np.float32)
    b = a.copy()
    a @ b
    return 2 * 2048**3 / best_of(5, lambda: a @ b) / 1e9


def resampled(n_rows: int, seed: int = 0) -> Any:
    """clinc150, drawn again and again with a little noise: a tenth of the features' deviation."""
    X, rng = load("clinc150")[0], np.random.default_rng(seed)
    rows = X[rng.integers(0, len(X), n_rows)]
    noise = 0.1 * float(np.sqrt((X.var(axis=0)).mean()))
    return (rows + noise * rng.normal(size=rows.shape)).astype(np.float32)


def half_product(X: Any) -> float:
    """Seconds that BLAS needs for X X^T / 2, on all cores, from a part of it."""
    n_rows = min(len(X), 8192)
    a, b = X[:n_rows].copy(), X[-n_rows:].copy()
    return best_of(3, lambda: a @ b.T) * (len(X) / n_rows) ** 2 / 2


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """The output of a process of its own."""
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        check=True,
    )
    return result.stdout.strip()
