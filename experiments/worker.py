"""`python -m experiments.worker RUNS MEMORY_LIMIT`: each result as JSON on a line of its own."""

import json
import resource
import sys
from typing import Any

import numpy as np

from perchtree.metrics import dendrogram_purity, pairwise_f1

from .algorithms.registry import ALGORITHMS
from .data import in_order, load
from .runs import Run


def measure(run: Run) -> dict[str, Any]:
    X, y = load(run.data, run.rows)
    arrival = in_order(run.order, np.random.default_rng(1000 + run.seed), y)
    X, y = np.ascontiguousarray(X[arrival]), y[arrival]
    n_clusters = len(np.unique(y))
    algorithm = ALGORITHMS[run.algorithm]
    parameters = algorithm.parameters(len(X)) | json.loads(run.parameters)
    outcome = algorithm.run(X, n_clusters, run.seed, **parameters)
    return {
        "status": "ok",
        "n_points": len(X),
        "n_clusters": n_clusters,
        "seconds": outcome.seconds,
        "purity": None if outcome.tree is None else float(dendrogram_purity(outcome.tree, y)),
        "f1": None if outcome.labels is None else float(pairwise_f1(y, outcome.labels)),
        "depth": outcome.depth,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        **(outcome.notes or {}),
    }


if __name__ == "__main__":
    limit = int(float(sys.argv[2]) * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for given in json.loads(sys.argv[1]):
        print(json.dumps(measure(Run(**given))), flush=True)
