"""docs/experiments.md: tables, figures and claims, all from raw results."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from . import claims, published
from .algorithms.registry import ALGORITHMS
from .figures import draw_all
from .plan import FLAT, FREE, OF_TREES, ORDERS, ROBUST, SMALL_METHODS, TREES, Scale, everything
from .runs import Results, Run
from .summary import Figure, best

ONLINE = [name for name in TREES if not name.startswith(("HAC", "HKMeans", "BIRCH (rebuild)"))]
TIMED = ["PERCH", "PERCH, A*", *TREES[1:], *FLAT]

STAND_INS = """\
**Data.** CoverType, Glass and Spambase are the paper's own files. Digits is a sample of 200 rows
from the data set that the paper sampled. The Speaker i-vectors and the ImageNet features are not
freely available, and ALOI's published features could not be obtained here. They are replaced by
aloi27 (ALOI's images and classes, but 27-dimensional colour histograms and fewer rows), clinc150
(sentence embeddings), omniglot (drawings, raw pixels) and hist50k (records of people, with
errors). Results on these cannot be compared with the paper's, but methods can be compared with
each other. To add data of your own, put `NAME.npy` and `NAME.labels.npy` into the folder
`PERCHTREE_DATA` and run `python -m experiments --data NAME` (the paper's data would be called
`speaker`, `ilsvrc50k`, ...; ALOI is on OpenML)."""

HOW = """\
**Methods.**

- *PERCH, PERCH-B, -C, -BC* are ours, with the rules of the authors' program, a beam width of 120
  (in the paper, 5 for each of 24 threads), and L = N / 5 in collapsed mode. PERCH finds exact
  nearest neighbours by A* or, where that is faster, by matrix products; the tree is the same.
  *PERCH, A\\** always uses the paper's search. *grafted* is our default.
- *BIRCH* is scikit-learn's. *Online* is its CF tree after one pass, scored as a tree with many
  children per node; *rebuild* inserts the means of its subclusters, without weights, into a new
  tree.
- *MB-HAC, HKMeans, StreamKM++ (SKM++)* and *BICO* are written here from their descriptions, and
  tested against slow versions or on data with known answers. Coresets have 5 or 20 points per
  cluster, or 200 if that is at most 2,000 points. (The authors of StreamKM++ use 200, which would
  be most of our other data.)
- *K-means, MB-KM, o-MB-KM* and *DBSCAN* are scikit-learn's, *HAC* is fastcluster's.

**Settings** come from a small grid (`experiments/algorithms/registry.py`). On small data, as in
the paper, the setting with the best mean over all orders counts. On large data, settings compete
on the first order, and the winner is run on the others; if several were run, the best mean counts.
A dash means that a run exceeded its limit of time or memory, or has no result of that kind."""


def write_page(path: Path, results: Results, scale: Scale, name: str) -> None:
    """Write the page, and its figures into a folder beside it."""
    figures = path.parent / ("pictures/experiments" if name == "full" else f"{name}-figures")
    drawn = draw_all(figures, results, scale)
    parts = [
        "# The paper's experiments",
        _about(results, scale, name),
        STAND_INS,
        HOW,
        "## Claims of the abstract",
        claims.judge(results, scale),
        "## Dendrogram purity (the paper's table 2)",
        _large_table(results, scale, TREES, "purity", published.purity, "online tree"),
        "## Pairwise F1 at the true number of clusters (table 3)",
        _large_table(results, scale, [*OF_TREES, *FLAT], "f1", published.f1, "clustering"),
        _numbers_found(results, scale),
        "## Seconds",
        _about_seconds(results),
        _seconds_table(results, scale),
        "## Adversarial orders (tables 4 and 5)",
        _robust_tables(results, scale),
        "## Small benchmarks (table 6)",
        _small_table(results, scale),
        "## Figures",
        *(
            f"![{caption}]({figures.relative_to(path.parent)}/{figure}.png)\n\n*{caption}*"
            for figure, caption in (
                (figure, caption.replace("*", r"\*")) for figure, caption in drawn.items()
            )
        ),
        "## Where our numbers differ from the published ones",
        claims.differences(results, scale),
    ]
    path.write_text("\n\n".join(parts) + "\n")


def _about(results: Results, scale: Scale, name: str) -> str:
    planned = {run: results.of.get(run) for run in everything(scale, results)}
    done = [result for result in planned.values() if result is not None]
    dates = sorted({str(result["date"]) for result in done}) or ["never"]
    command = {"full": "make experiments", "quick": "make experiments-quick"}.get(name, name)
    return (
        f"Written on {time.strftime('%Y-%m-%d')} by `{command}` from the results of "
        f"{len(done):,} runs of {' to '.join(sorted({dates[0], dates[-1]}))} in "
        f"`experiments/results/`. {_machines(results)}. Every run has its own process. ± is the "
        "standard deviation over random orders."
    )


def _machines(results: Results) -> str:
    return " / ".join(sorted({str(r["machine"]) for r in results.of.values() if "machine" in r}))


def _table(head: list[str], rows: Iterator[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _size(name: str, rows: int | None) -> str:
    return name if rows is None else f"{name}, {rows:,}"


def _large_table(
    results: Results,
    scale: Scale,
    methods: list[str],
    measure: str,
    of_paper: Callable[[str, str], float | None],
    kind: str,
) -> str:
    compared = ONLINE if kind == "online tree" else [m for m in methods if m not in FREE]
    columns = {
        name: {m: best(results, Run(name, rows, m), measure) for m in methods}
        for name, rows in scale.large.items()
    }

    def lines() -> Iterator[list[str]]:
        for method in methods:
            yield [_title(method), *(
                _cell(method, column, of_paper(method, name), compared)
                for name, column in columns.items()
            )]  # fmt: skip

    orders = ", ".join(f"{name} {_most(column)}" for name, column in columns.items())
    head = ["", *(_size(name, rows) for name, rows in scale.large.items())]
    return (
        _table(head, lines())
        + f"\n\nMeans over random orders ({orders}; a number in parentheses where there were "
        f"fewer). The best {kind} is bold. In brackets: the published value, where the data is the "
        "paper's. (The paper does not give the buffer size of its MB-HAC.)"
    )


def _numbers_found(results: Results, scale: Scale) -> str:
    sentences = []
    for method in FREE:
        cells = []
        for name, rows in scale.large.items():
            setting = best(results, Run(name, rows, method), "f1").setting
            result = results.of.get(Run(name, rows, method, setting), {})
            if "found" in result:
                cells.append(f"{result['found']:,} for {result['n_clusters']:,} classes on {name}")
        sentences.append(f"Clusters found by {method}: {', '.join(cells) or 'not run'}.")
    return (
        "Methods that find the number of clusters themselves and leave points out as noise (here, "
        "each noise point is a cluster of its own) are not compared with the others: where classes "
        f"are large, a few large clusters get a high score. {' '.join(sentences)}"
    )


def _most(column: dict[str, Figure]) -> int:
    return max(figure.count for figure in column.values())


def _title(method: str) -> str:
    return f"**{method}**" if method in ("PERCH", "grafted") else method


def _cell(
    method: str, column: dict[str, Figure], of_paper: float | None, compared: list[str]
) -> str:
    figure = column[method]
    text = str(figure)
    best_of_them = max(column[m].mean or 0.0 for m in compared)
    if method in compared and figure.mean == best_of_them:
        text = f"**{text}**"
    if 0 < figure.count < _most(column) and ALGORITHMS[method].knows_order:
        text += f" ({figure.count})"
    return text if of_paper is None else f"{text} [{of_paper:.3g}]"


def _about_seconds(results: Results) -> str:
    threads = Counter(result.get("threads") for result in results.of.values())
    unknown = threads.pop(None, 0)
    counts = [
        f"{count:,} run{'s' * (count > 1)} used {n} thread{'s' * (n > 1)}"
        for n, count in sorted(threads.items())
    ]
    if unknown:
        counts.append(f"for {unknown:,} the number was not recorded")
    return (
        "Medians of the runs above, with the best setting by purity (flat methods: by F1). "
        f"{', '.join(counts)}. Runs with fewer threads than cores ran side by side. Differences "
        "below a factor of two mean little."
    )


def _seconds_table(results: Results, scale: Scale) -> str:
    def lines() -> Iterator[list[str]]:
        for method in TIMED:
            cells = []
            for name, rows in scale.large.items():
                figure = best(results, Run(name, rows, method), ALGORITHMS[method].measure)
                cells.append(str(figure) if figure.mean is None else f"{figure.seconds:.1f}")
            yield [_title(method), *cells]

    return _table(["", *(_size(name, rows) for name, rows in scale.large.items())], lines())


def _robust_tables(results: Results, scale: Scale) -> str:
    name, rows = scale.robust
    tables = []
    for measure, title in (("purity", "dendrogram purity"), ("f1", "pairwise F1")):

        def lines(measure: str = measure) -> Iterator[list[str]]:
            for method in ROBUST:
                cells = [
                    str(best(results, Run(name, rows, method, order=order), measure))
                    for order in ORDERS
                ]
                if any(cell[0].isdigit() for cell in cells):
                    yield [_title(method), *cells, *_published_orders(method, measure)]

        head = [f"{title}, {_size(name, rows)}", *ORDERS, "paper, ALOI: round robin", "sorted"]
        tables.append(_table(head, lines()))
    return "\n\n".join(tables) + (
        f"\n\nMeans over {scale.seeds_large} orders of each kind. The paper does not say which "
        "linkage its MB-HAC uses here; its figures are close to those of centroid linkage "
        "elsewhere."
    )


def _published_orders(method: str, measure: str) -> list[str]:
    known = published.ROBUST_PURITY if measure == "purity" else published.ROBUST_F1
    return [f"{value:.3f}" for value in known[method]] if method in known else ["", ""]


def _small_table(results: Results, scale: Scale) -> str:
    def lines() -> Iterator[list[str]]:
        for method in SMALL_METHODS:
            cells = []
            for name, rows in scale.small.items():
                known = published.SMALL.get(method, {}).get(name)
                text = str(best(results, Run(name, rows, method), "purity"))
                cells.append(text if known is None else f"{text} [{known:.3f}]")
            yield [_title(method), *cells]

    head = ["dendrogram purity", *(_size(name, rows) for name, rows in scale.small.items())]
    return _table(head, lines()) + (
        f"\n\nMeans over {scale.seeds_small} orders. In brackets: the published value."
    )
