"""`perch demo`: every mode on data that ships with scikit-learn, next to scikit-learn's Birch."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.cluster import Birch
from sklearn.datasets import load_digits

from ..estimator import Perch
from ..metrics import dendrogram_purity, pairwise_f1
from ..outputs import check_output, open_table
from ..peers import birch_parents

_LEAVES = 500
_THRESHOLD = 8
"""Birch's: half the usual distance to the nearest neighbour. Larger ones cost it much of its F1."""

_MODES: dict[str, dict[str, Any]] = {
    "PERCH": {"linkage": "box"},
    "PERCH-B": {"linkage": "box", "search": "beam"},
    "PERCH-C": {"linkage": "box", "max_leaves": _LEAVES},
    "PERCH-BC": {"linkage": "box", "search": "beam", "max_leaves": _LEAVES},
    "grafted, the default": {},
}


def run_demo(seed: int, output: str, *, force: bool) -> None:
    folder = Path(output)
    files = {name: str(folder / name) for name in ("digits.perch", "clusters.csv", "digits.html")}
    if folder.exists():
        for name in files.values():
            check_output(name, (), force=force)
    folder.mkdir(parents=True, exist_ok=True)

    console = Console()
    X, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, classes = X[order], classes[order]
    texts = [f"a {digit} (image {image})" for digit, image in zip(classes, order, strict=True)]
    n_classes = len(np.unique(classes))
    console.print(
        f"Handwritten digits: {len(X):,} images of {X.shape[1]} pixels, {n_classes} classes, "
        f"arriving in random order (seed {seed})."
    )
    with console.status("Compiling, the first time only ..."):
        for parameters in _MODES.values():
            Perch(**parameters).fit(X)  # everything the timed runs will use

    table = Table()
    table.add_column("method")
    for title in ("purity", f"F1, K={n_classes}", "seconds", "depth"):
        table.add_column(title, justify="right")
    for name, parameters in _MODES.items():
        model = Perch(n_clusters=n_classes, **parameters)
        _, seconds = _timed(partial(model.fit, X, texts=texts, classes=classes))
        scores = dendrogram_purity(model, classes), pairwise_f1(classes, model.labels_), seconds
        table.add_row(name, *(f"{score:.3f}" for score in scores), str(model.tree_.depth.max))
    birch, seconds = _timed(lambda: Birch(threshold=_THRESHOLD, n_clusters=n_classes).fit(X))
    purity = dendrogram_purity(birch_parents(birch, X), classes)
    scores = purity, pairwise_f1(classes, birch.labels_), seconds
    table.add_row("scikit-learn's Birch", *(f"{score:.3f}" for score in scores), "")
    console.print(table)

    _save(model, files, texts, classes)
    console.print("Dendrogram purity, pairwise F1 of the clusters, time of building.")
    console.print("Saved, from the grafted tree:")
    hints = ("the tree: try `perch info` and `perch cut`", "the clusters", "open it in a browser")
    for name, hint in zip(files.values(), hints, strict=True):
        console.print(f"  {name}  [dim]{hint}[/dim]", soft_wrap=True)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _save(
    model: Perch, files: dict[str, str], texts: list[str], classes: NDArray[np.int64]
) -> None:
    model.save(files["digits.perch"])
    model.tree_.to_html(files["digits.html"], texts, classes, title="Handwritten digits")
    with open_table(files["clusters.csv"]) as write:
        write({"id": np.arange(len(classes)), "class": classes, "cluster": model.labels_})
