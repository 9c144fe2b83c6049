"""How good the clusters are that each criterion cuts: writes docs/cuts.md (`make tables`)."""

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from perchtree import ClusterTree
from perchtree.metrics import pairwise_f1

from .data import NAMES, load
from .modes import table

CRITERIA = ["cost", "diameter", "size", "scatter", "ward"]
ROWS, SHUFFLES = 20_000, 3
TREES: dict[str, dict[str, Any]] = {
    "published": {"linkage": "box"},
    "published, no balance": {"linkage": "box", "balance": None},
    "grafted": {"linkage": "average"},
}


def score(name: str, mode: dict[str, Any]) -> tuple[int, dict[str, list[float]], list[list[int]]]:
    """The true K, F1 by criterion for each shuffle, and the suggested K's."""
    scores: dict[str, list[float]] = {criterion: [] for criterion in CRITERIA}
    suggested = []
    for seed in range(SHUFFLES):
        X, y = load(name, ROWS, seed)
        n_classes = len(np.unique(y))
        tree = ClusterTree(X.shape[1], n_jobs=-1, **mode)
        tree.insert(X)
        for criterion in CRITERIA:
            labels = tree.cut(min(n_classes, tree.n_leaves), criterion=criterion)
            scores[criterion].append(pairwise_f1(y, labels))
        suggested.append([s.n_clusters for s in tree.suggest_cuts(10)])
    return n_classes, scores, suggested


def page() -> Iterator[str]:
    yield "# From trees to clusters\n"
    yield "Written by `make tables` from runs of its own; nothing is typed by hand."
    yield f"{platform.machine()}, up to {ROWS:,} rows, mean over {SHUFFLES} random orders.\n"
    for title, mode in TREES.items():
        rows, hints, shares = [], [], {criterion: [] for criterion in CRITERIA}
        for name in tqdm(NAMES, desc=title):
            n_classes, scores, suggested = score(name, mode)
            means = {criterion: float(np.mean(values)) for criterion, values in scores.items()}
            best = max(means.values())
            for criterion in CRITERIA:
                shares[criterion].append(means[criterion] / best)
            marks = [f"**{v:.3f}**" if v == best else f"{v:.3f}" for v in means.values()]
            rows.append([f"{name} (K = {n_classes:,})", *marks])
            ranks = [s.index(n_classes) + 1 if n_classes in s else None for s in suggested]
            found = ", ".join("-" if rank is None else str(rank) for rank in ranks)
            hints.append([f"{name} (K = {n_classes:,})", found, str(suggested[0][:5])[1:-1]])
        yield f"## The {title} tree\n"
        yield "Pairwise F1 at the true number of clusters, by criterion:\n"
        least = [f"{min(shares[criterion]):.0%}" for criterion in CRITERIA]
        mean = [f"{np.mean(shares[criterion]):.0%}" for criterion in CRITERIA]
        rows.append(["share of the best criterion, least", *least])
        rows.append(["share of the best criterion, mean", *mean])
        yield from table(["data", *CRITERIA], rows)
        reliable = [criterion for criterion in CRITERIA if min(shares[criterion]) >= 0.9]
        verdict = ", ".join(reliable) if reliable else "none"
        yield (
            f"Within 10 % of the best criterion on every data set: {verdict}. The default, the "
            f"paper's cost, is at least {min(shares['cost']):.0%} of it and "
            f"{np.mean(shares['cost']):.0%} on average.\n"
        )
        yield (
            "`suggest_cuts()`: the rank of the true K among its ten suggestions in each order "
            "(- for a miss), and its first five in the first order:\n"
        )
        yield from table(["data", "rank of the true K", "suggested"], hints)


if __name__ == "__main__":
    target = Path(__file__).parent.parent / "docs" / "cuts.md"
    target.write_text("\n".join(page()).rstrip() + "\n")
    print(f"wrote {target}")
