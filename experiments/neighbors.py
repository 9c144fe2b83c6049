"""The part of docs/quality.md about the linkage by neighbours: online, refined and in batch."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perchtree import ClusterTree
from perchtree.metrics import pairwise_f1

from .algorithms import Algorithm, graphs, kmeans
from .modes import table

if TYPE_CHECKING:
    from .quality import Results

SETTINGS = {"linkage": "neighbors"}
ONLINE, REFINED = "by neighbours", "by neighbours, refined"
OURS = (ONLINE, REFINED)
GRAPHS: dict[str, Algorithm] = {
    "batch, by neighbours": graphs.by_neighbors,
    "SCC": graphs.scc,
    "mutual reachability": graphs.reachability,
}
BATCH, *OTHER_GRAPHS = GRAPHS
KMEANS = "K-means"
GRAFTED, GRAFTED_REFINED = "grafted", "grafted, refined"
F1_DATA = ("clinc150", "aloi27")
"""Data on which K-means, told K, is run beside our trees, and these are cut without K."""


def without_k(tree: ClusterTree, y: object) -> dict[str, float]:
    """Pairwise F1 of the clusters that a tree suggests by itself."""
    return {"f1_without_k": pairwise_f1(y, tree.cut())}


def section(results: "Results", names: list[str], chosen_on: list[str]) -> Iterator[str]:
    yield "## By neighbours\n"
    yield (
        '*By neighbours* is `ClusterTree(d, linkage="neighbors")`: average linkage divided by '
        "the mean weight of the edges between points that are among each other's nearest "
        "neighbours ([how it works](grafting.md#by-neighbours)). *Batch* is "
        "`perchtree.agglomerate(X)`, which does the same with all points at once. SCC (50 rounds) "
        "and single linkage of mutual reachability use the same graph of 24 neighbours. Formula "
        f"and constants were chosen on up to 6,000 rows of {', '.join(chosen_on)}. (clinc150 was "
        "meant for checking, and was moved to tuning after a first look at a bad result. The other "
        "data sets were looked at twice on the way, but nothing was changed because of them.)\n"
    )
    orders_run = {name: len(results.values(name, ONLINE, "purity")) for name in names}
    counts = ", ".join(f"{name} {count}" for name, count in orders_run.items())
    if set(orders_run.values()) == {1}:
        counts = "one per data set"
    yield f"Random orders of arrival: {counts}.\n"
    yield from purity(results, names, chosen_on)
    yield verdict(results, names)
    if any(results.values(name, ONLINE, "seconds") for name in names):
        yield "Seconds to build the tree, search included:\n"
        yield from seconds(results, names)
    if any(results.values(name, ONLINE, "purity", "sorted") for name in names):
        yield "Purity by order of arrival, and the largest depth for each kind of order:\n"
        yield from orders(results, names)
    yield "Pairwise F1 at the true number of clusters K, and without knowing it (`cut()`):\n"
    yield from scores(results, names)


def purity(results: "Results", names: list[str], chosen_on: list[str]) -> Iterator[str]:
    columns = [GRAFTED, ONLINE, REFINED, *GRAPHS]
    rows = []
    for name in names:
        best = results.best_batch(name)
        rows.append([
            name,
            "tuning" if name in chosen_on else "check",
            f"{best}, {results.mean(name, best, 'purity'):.3f}",
            *(results.cell(name, method, "purity") for method in columns),
        ])  # fmt: skip
    yield from table(["data", "used for", "best of four linkages", *columns], rows)


def share(results: "Results", name: str, method: str, of: str) -> float:
    return results.mean(name, method, "purity") / results.mean(name, of, "purity")


def verdict(results: "Results", names: list[str]) -> str:
    def known(shares: dict[str, float]) -> dict[str, float]:
        return {name: value for name, value in shares.items() if value == value}

    to_grafted = known({name: share(results, name, ONLINE, GRAFTED) for name in names})
    to_best = known({name: results.share(name, ONLINE) for name in names})
    refined = known({name: results.share(name, REFINED) for name in names})
    to_batch = known({name: share(results, name, REFINED, BATCH) for name in names})

    def listed(shares: dict[str, float], bar: float) -> str:
        short = ", ".join(f"{name} {s:.1%}" for name, s in shares.items() if s < bar)
        some = f" (all but {short})" if short else ""
        return f"{sum(s >= bar for s in shares.values())} of {len(shares)}{some}"

    gains = ", ".join(f"{name} {s - 1:+.1%}" for name, s in to_grafted.items())
    claims = [
        f"at least 99 % of the purity of the grafted tree on {listed(to_grafted, 0.99)}",
        f"at least 98 % of the best batch linkage on {listed(to_best, 0.98)}",
        f"at least as much as the best batch linkage on {listed(to_best, 1.0)}",
        f"refined, at least as much as the best batch linkage on {listed(refined, 1.0)}",
        f"refined, at least 98 % of batch clustering by neighbours on {listed(to_batch, 0.98)}",
    ]
    return (
        f"Purity compared with the grafted tree: {gains}. The tree has\n\n"
        + "\n".join(f"- {claim}{'.' if claim is claims[-1] else ','}" for claim in claims)
        + "\n"
    )


def seconds(results: "Results", names: list[str]) -> Iterator[str]:
    columns = [GRAFTED, ONLINE, REFINED, *GRAPHS]
    rows = []
    for name in names:
        methods = [*columns, results.best_batch(name)]
        times = [results.mean(name, method, "seconds") for method in methods]
        rows.append([name, *(f"{value:.2f}" if value == value else "-" for value in times)])
    yield from table(["data", *columns, "best of four linkages"], rows)


def orders(results: "Results", names: list[str]) -> Iterator[str]:
    kinds = ["random", "sorted", "round robin"]
    rows = []
    for name in names:
        for method in (ONLINE, REFINED):
            cells = [results.cell(name, method, "purity", order) for order in kinds]
            depths = [results.values(name, method, "depth", order) for order in kinds]
            largest = " / ".join(f"{max(d):.0f}" if d else "-" for d in depths)
            rows.append([name, method, *cells, largest])
    yield from table(["data", "tree", *kinds, "largest depth"], rows)


def scores(results: "Results", names: list[str]) -> Iterator[str]:
    columns = [GRAFTED, ONLINE, REFINED, BATCH, KMEANS]
    rows = [
        [name, *(results.cell(name, method, "f1") for method in columns),
         results.cell(name, ONLINE, "f1_without_k"), results.cell(name, REFINED, "f1_without_k")]
        for name in names
    ]  # fmt: skip
    headings = [f"{method}, at K" for method in columns]
    yield from table(["data", *headings, f"{ONLINE}, no K", f"{REFINED}, no K"], rows)


OTHERS: dict[str, Algorithm] = {**GRAPHS, KMEANS: kmeans.run}
