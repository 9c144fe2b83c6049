"""Search in cells beside exact search: writes docs/cells.md.

python -m experiments.cells quality [--rows N] [--orders N]
python -m experiments.cells persons [--rows N] [--features N] [--recall SHARE] [--processor]
python -m experiments.cells purity [--rows N] [--features N] [--recall SHARE]
python -m experiments.cells peers [--rows N] [--features N]    (needs faiss-cpu and usearch)

Each keeps its figures in results/cells.json and writes the page from all that are there.
"""

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from perchtree import ClusterTree
from perchtree.encode import Chars
from perchtree.metrics import dendrogram_purity

from . import cell_peers
from .data import NAMES, load
from .modes import table
from .persons import records

RESULTS = Path(__file__).parent / "results" / "cells.json"
PAGE = Path(__file__).parents[1] / "docs" / "cells.md"
GUIDE = Path(__file__).parent / "cells_guide.md"
DEFAULT = 0.98
"""The share of nearest neighbours to find, if none is given."""
_PIECES = 20
"""Parts of a long insert that are timed one by one."""
_ASKED = 500
"""Rows that are asked for and inserted one by one."""
_SETTLED = _PIECES // 10
"""Of these, parts at the beginning that say little about how cost grows."""


def quality(n_rows: int, orders: int) -> dict[str, Any]:
    """Purity and recall on every data set."""
    found = {}
    for name in tqdm(NAMES):
        runs = [compare(*load(name, n_rows, seed)) for seed in range(orders)]
        found[name] = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {"rows": n_rows, "orders": orders, "data": found}


def compare(X: Any, classes: Any, recall: float = DEFAULT) -> dict[str, float]:
    """One order of a data set, by both searches."""
    figures: dict[str, float] = {"points": len(X)}
    for search in ("auto", "cells"):
        tree = ClusterTree(X.shape[1], search=search, recall=recall, n_jobs=-1)
        tree.insert(X)
        figures[search] = dendrogram_purity(tree, classes)
    stats = tree.stats
    figures["checked"], figures["found"] = stats.cells_checked, stats.cells_found
    return figures


def persons(
    n_rows: int, n_features: int, recall: float, clock: Callable[[], float]
) -> dict[str, Any]:
    """Many records of people: time as the tree grows, and of single rows when it has grown."""
    entities, asked, X = encoded(n_rows, n_features)
    ClusterTree(n_features, search="cells", n_jobs=-1).insert(X[:5_000])  # compiled
    tree = ClusterTree(n_features, search="cells", recall=recall, n_jobs=-1)
    seconds, purities = [], []
    for part in tqdm(np.array_split(X, _PIECES)):
        rows = np.array(part)
        start = clock()
        tree.insert(rows)
        seconds.append(clock() - start)
        if len(seconds) in (_PIECES // 5, _PIECES):
            purities.append(dendrogram_purity(tree, entities[: tree.n_points]))
    stats = tree.stats
    return {
        "rows": n_rows, "features": n_features, "wanted": recall, "seconds": seconds,
        "clock": clock.__name__, "checked": stats.cells_checked, "found": stats.cells_found,
        "renewals": stats.renewals, "purity_of_first": purities[0], "purity": purities[1],
        "gigabytes": own_memory() / 2**30, "latency": latency(tree, asked),
    }  # fmt: skip


def purity(n_rows: int, n_features: int, recall: float) -> dict[str, Any]:
    """The first fifth of many records of people, by both searches."""
    entities, _, X = encoded(5 * n_rows, n_features)
    figures = compare(X[:n_rows], entities[:n_rows], recall)
    return {"features": n_features, "wanted": recall} | figures


def encoded(n_rows: int, n_features: int) -> tuple[Any, Any, Any]:
    """Entities of records of people; other records, to ask for; vectors of all, in a file: so the
    memory that is used is that of the tree."""
    texts, entities = records(n_rows, max(1, n_rows // 4))
    encoder = Chars(n_features).learned(texts[:20_000])
    with tempfile.TemporaryFile() as file:
        X = np.memmap(file, np.float32, "w+", shape=(n_rows, n_features))
    for first in range(0, n_rows, 10_000):
        X[first : first + 10_000] = encoder.encode(texts[first : first + 10_000])
    return entities, encoder.encode([text[::-1] for text in texts[:_ASKED]]), X


def own_memory() -> int:
    """Bytes of this process, without files that it only maps."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return 1024 * int(lines["RssAnon"].split()[0])


def peers(n_rows: int, n_features: int) -> dict[str, Any]:
    """Indexes of other libraries, on records of people."""
    *_, X = encoded(n_rows, n_features)
    with tempfile.TemporaryDirectory() as folder:
        return cell_peers.compare(X, Path(folder))


def latency(tree: ClusterTree, rows: Any) -> dict[str, list[float]]:
    """Milliseconds for one row at a time: the median and the 99th percentile."""
    found = {}
    for name, call in (
        ("nearest", lambda row: tree.nearest(row, exact=False)),
        ("insert", tree.insert),
    ):
        times = []
        for row in rows:
            start = time.perf_counter()
            call(row[np.newaxis])
            times.append(1000 * (time.perf_counter() - start))
        found[name] = [float(value) for value in np.percentile(times, [50, 99])]
    return found


def processor() -> str:
    """What this machine calls its processor."""
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"two cores of an {names[0]} processor" if names else platform.machine()


def page(results: dict[str, Any]) -> Iterator[str]:
    yield GUIDE.read_text()
    yield f"Measured on {processor()} with two threads, by `python -m experiments.cells`.\n"
    if "quality" in results:
        yield from _quality(results["quality"])
    for name in sorted(name for name in results if name.startswith("persons")):
        yield from _persons(results[name])
    if "purity" in results:
        yield from _purity(results["purity"])
    if "peers" in results:
        yield from _peers(results["peers"])


def _quality(own: dict[str, Any]) -> Iterator[str]:
    yield "## Purity and recall\n"
    yield (
        f"Grafted trees (the default) of up to {own['rows']:,} rows, mean over {own['orders']} "
        "random orders. *Recall*: of the inserts that were also searched exactly, the share whose "
        "nearest neighbour was found. (Up to 4,096 points all searches are exact.)\n"
    )
    rows = []
    for name, run in own["data"].items():
        recall = f"{run['found'] / run['checked']:.3f}" if run["checked"] else "-"
        share = run["cells"] / run["auto"]
        rows.append([
            name, f"{run['points']:,.0f}", f"{run['auto']:.3f}", f"{run['cells']:.3f}",
            f"{share:.1%}", recall,
        ])  # fmt: skip
    yield from table(["data", "rows", "exact", "cells", "cells / exact", "recall"], rows)


def _persons(own: dict[str, Any]) -> Iterator[str]:
    n_rows, seconds = own["rows"], own["seconds"]
    wanted, vectors = own["wanted"], 4 * n_rows * own["features"] / 2**30
    yield f"## {n_rows:,} records of people, {own['features']} dimensions, recall={wanted}\n"
    recall = own["found"] / max(1, own["checked"])
    middles = np.arange(_PIECES) + 0.5
    growth, _ = np.polyfit(np.log(middles[_SETTLED:]), np.log(seconds[_SETTLED:]), 1)
    unit = "s" if own["clock"] == "perf_counter" else "s of processor time"
    lines = [
        ["all inserts", f"{sum(seconds):,.0f} {unit}"],
        ["a row, by twentieths of the way", ", ".join(
            f"{1e6 * s * _PIECES / n_rows:,.0f}" for s in seconds[::3]) + " us"],
        ["cost of a row, from a tenth of the way on", f"grows as n^{growth:.2f}"],
        ["recall", f"{recall:.3f} of {own['checked']} rows"],
        [f"purity, and of the first {n_rows // 5:,}",
         f"{own['purity']:.4f}, {own['purity_of_first']:.4f}"],
        ["cells made anew", f"{own['renewals']} times"],
        ["memory", f"{own['gigabytes']:.1f} GB; the vectors alone {vectors:.1f} GB"],
    ]  # fmt: skip
    for name, (median, worst) in own["latency"].items():
        lines.append(
            [f"one row, {name}", f"median {median:.1f} ms, 99th percentile {worst:.1f} ms"]
        )
    yield from table(["what", "measured"], lines)


def _purity(own: dict[str, Any]) -> Iterator[str]:
    yield "## Records of people by exact search\n"
    yield (
        f"The first {own['points']:,} of {5 * own['points']:,} records, {own['features']} "
        f"dimensions: purity {own['cells']:.4f} with "
        f"cells (recall={own['wanted']}: {own['found']} of {own['checked']} found), "
        f"{own['auto']:.4f} by exact search ({own['cells'] / own['auto']:.1%}).\n"
    )


def _peers(own: dict[str, Any]) -> Iterator[str]:
    yield "## Beside libraries of indexes\n"
    yield (
        f"{own['rows']:,} records of people, {own['features']} dimensions, in batches of "
        f"{cell_peers.BATCHES[0]:,}: before a batch is added its rows are looked for, as every "
        f"insert into a tree must. Each library has the cheapest setting that finds "
        f"{cell_peers.RECALL:.0%} of the nearest neighbours among the first "
        f"{cell_peers.TRAINED:,} rows. *Same*: whether batches of {cell_peers.BATCHES[1]:,} "
        "give the same answers at the end. Seconds are processor time, with two threads; those of "
        "cells include the tree.\n"
    )
    yield from table(
        ["index", "seconds", "MB", "recall at the end", "one row: median, 99th percentile, ms",
         "same"],
        list(cell_peers.section(own)),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["quality", "persons", "purity", "peers"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--recall", type=float, default=DEFAULT)
    parser.add_argument(
        "--processor", action="store_true", help="count processor time: others are at work"
    )
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if given.what == "quality":
        results["quality"] = quality(given.rows or 20_000, given.orders)
    elif given.what == "peers":
        results["peers"] = peers(given.rows or 200_000, given.features)
    elif given.what == "purity":
        results["purity"] = purity(given.rows or 200_000, given.features, given.recall)
    else:
        n_rows = given.rows or 1_000_000
        clock = time.process_time if given.processor else time.perf_counter
        found = persons(n_rows, given.features, given.recall, clock)
        results[f"persons-{n_rows}-{given.features}-{given.recall}"] = found
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text("\n".join(page(results)).rstrip() + "\n")


if __name__ == "__main__":
    main()
