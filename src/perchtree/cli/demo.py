"""`perch demo`: the main job, on data that ships with scikit-learn."""

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

from ..metrics import dendrogram_purity, pairwise_scores
from ..tree import ClusterTree


def run_demo(seed: int) -> None:
    console = Console()
    X, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, labels = X[order], labels[order]
    n_classes = len(np.unique(labels))
    console.print(
        f"Handwritten digits: {len(X):,} images of {X.shape[1]} pixels, {n_classes} classes, "
        f"in random order (seed {seed})."
    )

    with console.status("Compiling, the first time only ..."):
        ClusterTree(n_features=X.shape[1]).insert(X)  # everything the timed run will use
    tree = ClusterTree(n_features=X.shape[1])
    start = time.perf_counter()
    tree.insert(X)
    seconds = time.perf_counter() - start
    scores = pairwise_scores(labels, tree.cut(n_classes))

    result = Table(title="PERCH", title_justify="left", show_header=False)
    result.add_column(justify="left")
    result.add_column(justify="right")
    result.add_row("dendrogram purity", f"{dendrogram_purity(tree, labels):.3f}")
    result.add_row(f"pairwise F1, {n_classes} clusters", f"{scores.f1:.3f}")
    result.add_row("depth, largest and mean", f"{tree.depth.max} and {tree.depth.mean:.1f}")
    result.add_row("masking rotations", f"{tree.stats.masking_rotations:,}")
    result.add_row("balance rotations", f"{tree.stats.balance_rotations:,}")
    result.add_row("points per second", f"{len(tree) / seconds:,.0f}")
    console.print(result)
