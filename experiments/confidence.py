"""Whether confident points are right, and how many keep their cluster's number: for docs/cuts.md.

python -m experiments.confidence  # measures, and rewrites these parts of the page
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from perchtree import Perch

from .data import load
from .modes import table

RESULTS = Path(__file__).parent / "results" / "confidence.json"
PAGE = Path(__file__).parent.parent / "docs" / "cuts.md"

ROWS = 20_000
NAMES = ["clinc150", "hist50k", "aloi27", "letter"]
ADDED = 1 / 11
"""Of all rows, those that come in the night: a tenth of those that were there."""

Labels = NDArray[np.int64]


def are_right(classes: Labels, labels: Labels) -> NDArray[np.bool_]:
    """Whether each point is of the most frequent class of its cluster (the first of equals)."""
    counts = np.zeros((int(labels.max()) + 1, int(classes.max()) + 1), np.int32)
    np.add.at(counts, (labels, classes), 1)
    right: NDArray[np.bool_] = counts.argmax(axis=1)[labels] == classes
    return right


def by_confidence(name: str) -> dict[str, Any]:
    """The share of points that are right, by tenths of all points, the least confident first."""
    X, classes = load(name, ROWS, 0)
    model = Perch(n_jobs=-1).fit(X)
    labels, confidence = model.all_labels_, model.confidence_
    several = np.bincount(labels)[labels] > 1  # a point alone is always right
    right, order = are_right(classes, labels)[several], np.argsort(confidence[several])
    return {
        "points": int(several.sum()),
        "clusters": len(np.unique(labels[several])),
        "right": float(right.mean()),
        "tenths": [float(part.mean()) for part in np.array_split(right[order], 10)],
        "middle": float(np.median(confidence[several])),
    }


def kept(name: str) -> dict[str, float]:
    """The share of points that keep their number when a tenth is added, by what is asked for."""
    X, classes = load(name, None if name == "clinc150" else ROWS, 0)
    first = len(X) - round(len(X) * ADDED)
    asked = {
        "nothing given": {},
        "true K": {"n_clusters": len(np.unique(classes))},
        "minimum size 5": {"min_cluster_size": 5},
    }
    found = {"rows": float(len(X))}
    for what, options in asked.items():
        model = Perch(n_jobs=-1, **options).fit(X[:first])
        before = model.all_labels_
        after = model.partial_fit(X[first:]).all_labels_
        found[what] = float((before == after[:first]).mean())
    return found


def sections(results: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The parts of docs/cuts.md."""
    yield "## Confidence\n"
    yield (
        "`tree.confidence(labels)`, `Perch.confidence_` and the column `confidence` of `perch cut` "
        "say how firmly a point sits in its cluster. Two points are as far apart as the node at "
        "which they meet is high. With a the mean distance of a point to the others of its "
        "cluster, and b that to the nearest points outside, the height of the node above the "
        "cluster, its confidence is\n\n    1 - a / b,\n\nthe point's silhouette in distances "
        "along the tree: between 0 and 1, computed for all points in one pass. A point that is "
        "alone in its cluster has 1. A cluster that was corrected, and so is no node, counts by "
        "the nodes that it consists of; one cluster of everything takes its own height for b.\n"
    )
    yield (
        "The share of points that are of their cluster's most frequent class, by tenths of the "
        f"points from the least to the most confident (up to {ROWS:,} rows, nothing given, "
        "clusters of one point left out; one random order):\n"
    )
    rows = [
        [name, f"{found['clusters']:,}", f"{found['middle']:.2f}", f"{found['right']:.2f}",
         *(f"{share:.2f}" for share in found["tenths"])]
        for name, found in results["confidence"].items()
    ]  # fmt: skip
    tenths = ["least", *(str(tenth) for tenth in range(2, 10)), "most"]
    yield from table(["data", "clusters", "median confidence", "all", *tenths], rows)
    yield "## Numbers that stay\n"
    yield (
        "After a tenth of the points is added, the share of those that were there whose cluster "
        "keeps its number: with `Perch.partial_fit`, and with `perch cut`, `perch add`, `perch "
        "cut`, which a test compares. (With `--no-remember`, numbers start anew.)\n"
    )
    columns = ["nothing given", "true K", "minimum size 5"]
    rows = [
        [name, f"{found['rows']:,.0f}", *(f"{found[column]:.1%}" for column in columns)]
        for name, found in results["kept"].items()
    ]
    yield from table(["data", "points", *columns], rows)


def main() -> None:
    results: dict[str, dict[str, Any]] = {
        "confidence": {name: by_confidence(name) for name in tqdm(NAMES)},
        "kept": {name: kept(name) for name in tqdm(NAMES[:2])},
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    own = "\n".join(sections(results)).rstrip() + "\n"
    own_part = r"\n## Confidence\n.*?(?=\n## With a few answers|\Z)"
    page, rest = PAGE.read_text(), ""
    if found := re.search(own_part, page, flags=re.DOTALL):
        page, rest = page[: found.start()], page[found.end() :]
    PAGE.write_text(page.rstrip() + "\n\n" + own + rest)
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
