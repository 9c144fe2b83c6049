"""How pure trees are after removals, next to fresh trees of the survivors: for docs/quality.md.

Every run is a line of results/removal.jsonl; runs that are there already are not repeated.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from perchtree import ClusterTree
from perchtree.metrics import dendrogram_purity

from .algorithms import perch
from .data import in_order, load
from .modes import table

RESULTS = Path(__file__).parent / "results" / "removal.jsonl"

MODES = {"grafted": perch.GRAFTED, "PERCH": perch.PUBLISHED}
WAYS = ["a random half", "half of the classes", "the first half", "a sliding window"]

Labels = NDArray[np.int64]


def removed_ids(way: str, y: Labels, rng: np.random.Generator) -> Labels:
    """The ids to be removed, in the order in which they are."""
    n_points = len(y)
    if way == "the first half":
        return np.arange(n_points // 2)
    if way == "a random half":
        return rng.permutation(n_points)[: n_points // 2]
    classes = np.unique(y)
    gone = rng.permutation(classes)[: len(classes) // 2]
    return rng.permutation(np.flatnonzero(np.isin(y, gone)))


def shrunk(way: str, X: Any, y: Labels, settings: dict[str, Any], whole: ClusterTree,
           rng: np.random.Generator) -> ClusterTree:  # fmt: skip
    """A tree of all points from which some were removed; or one through which they have passed."""
    if way != "a sliding window":
        tree = whole.copy()
        tree.remove(removed_ids(way, y, rng))
        return tree
    width = len(X) // 3
    step = max(1, width // 20)
    tree = ClusterTree(X.shape[1], n_jobs=-1, **settings)
    tree.insert(X[:width])
    for start in range(width, len(X), step):
        rows = X[start : start + step]
        tree.insert(rows)
        tree.remove(tree.ids[: len(rows)])
    return tree


def run_missing(names: list[str], rows: dict[str, int], seeds: int) -> None:
    done = {key(result) for result in read_results()}
    planned = [(n, mode, seed) for n in names for mode in MODES for seed in range(seeds)]
    missing = [run for run in planned if any((*run, way) not in done for way in WAYS)]
    for name, mode, seed in tqdm(missing, desc="removal"):
        X, y = load(name, rows.get(name), seed=0)
        arrival = in_order("random", np.random.default_rng(1000 + seed), y)
        X, y = np.ascontiguousarray(X[arrival]), y[arrival]
        settings = MODES[mode]
        whole = ClusterTree(X.shape[1], n_jobs=-1, **settings)
        whole.insert(X)
        for way in WAYS:
            tree = shrunk(way, X, y, settings, whole, np.random.default_rng(seed))
            tree.check()
            fresh = ClusterTree(X.shape[1], n_jobs=-1, **settings)
            fresh.insert(X[tree.ids])
            result = {
                "data": name, "mode": mode, "seed": seed, "way": way,
                "points": tree.n_points, "purity": dendrogram_purity(tree, y[tree.ids]),
                "fresh": dendrogram_purity(fresh, y[tree.ids]),
                "depth": tree.depth.max, "fresh_depth": fresh.depth.max,
            }  # fmt: skip
            if tree.settings.has_linkage:
                tree.refine()
                result["refined"] = dendrogram_purity(tree, y[tree.ids])
            with RESULTS.open("a") as file:
                file.write(json.dumps(result) + "\n")


def key(result: dict[str, Any]) -> tuple[str, str, int, str]:
    return result["data"], result["mode"], result["seed"], result["way"]


def read_results() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def section(names: list[str]) -> Iterator[str]:
    """The part of the page: purity as a share of a fresh tree's."""
    results = read_results()
    n_orders = len({result["seed"] for result in results})
    yield f"{n_orders} order{'s' * (n_orders != 1)} per data set.\n"
    shares = {}
    for mode in MODES:
        rows = []
        for name in names:
            cells = []
            for way in WAYS:
                runs = [r for r in results if (r["data"], r["mode"], r["way"]) == (name, mode, way)]
                if not runs:
                    cells.append("-")
                    continue
                purity, fresh = (float(np.mean([r[w] for r in runs])) for w in ("purity", "fresh"))
                shares[mode, name, way] = purity / fresh
                refined = [r["refined"] / fresh for r in runs if "refined" in r]
                after = f" ({np.mean(refined):.1%})" if refined else ""
                cells.append(f"{purity:.3f} / {fresh:.3f} = {purity / fresh:.1%}{after}")
            rows.append([name, *cells])
        yield f"**{mode}**\n"
        yield from table(["data", *WAYS], rows)
    ours = {
        place: share
        for (mode, *place), share in shares.items()
        if mode == "grafted"
        for place in [tuple(place)]
    }
    short = ", ".join(f"{n} after {w} ({s:.1%})" for (n, w), s in ours.items() if s < 0.98)
    yield (
        f"The grafted tree has at least 98 % of the purity of a new tree in "
        f"{sum(s >= 0.98 for s in ours.values())} of {len(ours)} cases. Below: {short or 'none'}.\n"
    )
