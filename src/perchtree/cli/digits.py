"""`perch demo`: all steps on data that ships with scikit-learn, with explanations."""

import time
from collections.abc import Callable
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
from ..settings import Settings
from ..warmup import warm_up
from .patience import patience

_BATCH = 200
_LEAVES = 500
_THRESHOLD = 8
"""Birch's: half the usual distance to the nearest neighbour. Larger ones cost it much of its F1."""

_MODES: dict[str, dict[str, Any]] = {
    "PERCH, as published": {"linkage": "box"},
    "PERCH-B (beam search)": {"linkage": "box", "search": "beam"},
    "PERCH-C (bounded memory)": {"linkage": "box", "max_leaves": _LEAVES},
    "PERCH-BC (both)": {"linkage": "box", "search": "beam", "max_leaves": _LEAVES},
}
"""The modes of the paper."""

_EXPLAINED = (
    "[bold]Purity[/bold] scores the whole tree. Take two images of the same digit and the smallest "
    "branch that contains both: which share of its images show that digit? Purity is the average "
    "over all such pairs; 1 is perfect.\n"
    "[bold]F1[/bold] scores {n_classes} clusters cut from the tree. Of all pairs of images in the "
    "same cluster, how many show the same digit? Of all pairs that show the same digit, how many "
    "are in the same cluster? F1 is high only if both shares are high.\n"
    "[bold]Grafted[/bold] is perchtree's default: after each insert, branches that turn out to be "
    "close are grafted together, wherever they are in the tree. Birch, from scikit-learn, also "
    "takes data in batches.\n"
)


def run_demo(seed: int, output: str, *, modes: bool, force: bool) -> None:
    folder = Path(output)
    files = {name: str(folder / name) for name in ("digits.perch", "clusters.csv", "digits.html")}
    if folder.exists():
        for name in files.values():
            check_output(name, (), force=force)
    folder.mkdir(parents=True, exist_ok=True)

    console = Console(highlight=False)
    X, classes = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, classes = X[order], classes[order]
    texts = [f"a {digit} (image {image})" for digit, image in zip(classes, order, strict=True)]
    n_classes = len(np.unique(classes))
    console.print(
        f"{len(X):,} images of handwritten digits, {X.shape[1]} pixels each, arrive {_BATCH} at a "
        f"time, in random order (seed {seed}).\nperchtree is not told which digits they show.\n"
    )
    model, seconds = _grown({}, X, texts, classes, "the tree")
    console.print(f"Built the tree in {seconds:.2f} s. The clusters that stand out:\n")
    _show_clusters(console, model, classes)

    table = Table(title="Compared with the true digits", title_justify="left")
    table.add_column("method")
    for title in ("purity", f"F1, {n_classes} clusters", "seconds"):
        table.add_column(title, justify="right")
    scores = _scores(model, classes, n_classes)
    table.add_row("perchtree (grafted)", *scores, f"{seconds:.2f}")
    for name, parameters in _MODES.items() if modes else ():
        other, seconds = _grown(parameters, X, texts, classes, name)
        table.add_row(name, *_scores(other, classes, n_classes), f"{seconds:.2f}")
    birch, seconds = _timed(lambda: Birch(threshold=_THRESHOLD, n_clusters=n_classes).fit(X))
    purity = dendrogram_purity(birch_parents(birch, X), classes)
    f1 = pairwise_f1(classes, birch.labels_)
    table.add_row("scikit-learn's Birch", f"{purity:.2f}", f"{f1:.2f}", f"{seconds:.2f}")
    console.print(table)
    console.print(_EXPLAINED.format(n_classes=n_classes))

    _save(model, files, texts, classes)
    tree, _, page = files.values()
    console.print("[bold]Saved[/bold]", "the tree, its clusters, and an interactive page.")
    console.print("[bold]Try next[/bold]")
    for command, what in (
        (f"open {page} in a browser", ""),
        (f"perch clusters {tree} -k {n_classes}", "cut the same tree into ten clusters"),
        (f"perch cut {tree} -k 20 -k 50 -o nested.csv", "or into 20 and 50 nested clusters"),
        ("perch sample questions -o questions.csv", "a sample of texts, for the next command"),
        ("perch fit questions.csv -o questions.perch --id id --text question --class topic", ""),
    ):
        console.print(f"  {command}" + f"  [dim]# {what}[/dim]" * bool(what), soft_wrap=True)


def _grown(
    parameters: dict[str, Any], X: NDArray[Any], texts: list[str], classes: NDArray[Any], what: str
) -> tuple[Perch, float]:
    """A model that was given all batches, and how long that took, not counting compilation."""

    def grow() -> Perch:
        model = Perch(**parameters)
        for first in range(0, len(X), _BATCH):
            part = slice(first, first + _BATCH)
            model.partial_fit(X[part], texts=texts[part], classes=classes[part])
        return model

    with patience(f"compiling {what} for this machine (only once)"):
        warm_up(Settings.of(parameters), few=True)
        grow()
    return _timed(grow)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _show_clusters(console: Console, model: Perch, classes: NDArray[np.int64]) -> None:
    table = Table()
    for title in ("cluster", "images", "mostly", "share"):
        table.add_column(title, justify="right")
    with patience("compiling the search for clusters (only once)"):
        labels = model.all_labels_
    counts = np.zeros((labels.max() + 1, classes.max() + 1), np.int64)
    np.add.at(counts, (labels, classes), 1)
    for cluster in np.argsort(-counts.sum(axis=1), kind="stable"):
        own = counts[cluster]
        share = own.max() / own.sum()
        table.add_row(str(cluster), str(own.sum()), f"{own.argmax()}", f"{share:.0%}")
    console.print(table)
    console.print(
        f"{len(counts)} clusters, a number chosen from the data; "
        f"{counts.max(axis=1).sum() / counts.sum():.0%} of all images are in a cluster that mostly "
        "shows the same digit.\n"
    )


def _scores(model: Perch, classes: NDArray[np.int64], n_clusters: int) -> tuple[str, str]:
    with patience("compiling the scores (only once)"):
        purity = dendrogram_purity(model, classes)
        f1 = pairwise_f1(classes, model.tree_.cut(n_clusters))
    return f"{purity:.2f}", f"{f1:.2f}"


def _save(
    model: Perch, files: dict[str, str], texts: list[str], classes: NDArray[np.int64]
) -> None:
    model.save(files["digits.perch"])
    model.tree_.to_html(files["digits.html"], texts, classes, title="Handwritten digits")
    with open_table(files["clusters.csv"]) as write:
        write({"id": np.arange(len(classes)), "class": classes, "cluster": model.all_labels_})
