"""`python -m experiments.worker RUNS LIMITS`: each result as JSON on a line of its own."""

import json
import os
import platform
import resource
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from perchtree.metrics import dendrogram_purity, pairwise_f1

from .algorithms.registry import ALGORITHMS
from .data import in_order, load
from .runs import Limits, Run

_PACKAGES = (
    "perchtree", "numpy", "numba", "scikit-learn", "fastcluster", "fast-hdbscan", "faiss-cpu",
)  # fmt: skip


def measure(run: Run, time_limit: float = 0.0) -> dict[str, Any]:
    """Carry a run out. Beyond a time limit the process is ended by an alarm, wherever it is."""
    X, y = load(run.data, run.rows)
    arrival = in_order(run.order, np.random.default_rng(1000 + run.seed), y)
    X, y = np.ascontiguousarray(X[arrival]), y[arrival]
    n_clusters = len(np.unique(y))
    algorithm = ALGORITHMS[run.algorithm]
    parameters = algorithm.parameters(len(X)) | json.loads(run.parameters)
    algorithm.run(
        X[:200], min(n_clusters, 5), run.seed, **parameters
    )  # compiled, and its threads up
    signal.setitimer(signal.ITIMER_REAL, time_limit)
    outcome = algorithm.run(X, n_clusters, run.seed, **parameters)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {
        "status": "ok",
        "n_points": len(X),
        "n_clusters": n_clusters,
        "seconds": outcome.seconds,
        "purity": None if outcome.tree is None else float(dendrogram_purity(outcome.tree, y)),
        "f1": None if outcome.labels is None else float(pairwise_f1(y, outcome.labels)),
        "depth": outcome.depth,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "machine": machine(),
        **(outcome.notes or {}),
    }


def machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    known = Path("/proc/cpuinfo")  # where there is one, it says more than Python knows
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


if __name__ == "__main__":
    limits = Limits(*json.loads(sys.argv[2]))
    allowed = int(limits.memory * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
    for given in json.loads(sys.argv[1]):
        print(json.dumps(measure(Run(**given), limits.time)), flush=True)
