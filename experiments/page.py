"""docs/experiments.md: tables, figures and claims, all from raw results."""

import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from . import claims, published
from .algorithms.registry import ALGORITHMS
from .figures import draw_all
from .plan import FLAT, OF_TREES, ORDERS, ROBUST, SMALL_METHODS, TREES, Scale
from .runs import Results, Run
from .summary import Figure, best

ONLINE = [name for name in TREES if not name.startswith(("HAC", "HKMeans", "BIRCH (rebuild)"))]

STAND_INS = """\
CoverType, Glass and Spambase are the paper's own files; Digits are 200 rows of the set from which
the paper took 200. ALOI's published features, the Speaker i-vectors and the ImageNet features
have no free copy: in their place stand aloi27 (ALOI's images and classes, but 27-dimensional
colour histograms, fewer rows), clinc150 (sentence embeddings), omniglot (drawings, raw pixels)
and hist50k (records of people with errors). Their numbers are not comparable with any column of
the paper; methods are comparable with each other. With files of your own (`speaker.npy`,
`ilsvrc50k.npy`, ... beside `NAME.labels.npy` in the folder PERCHTREE_DATA) the same code runs on
them."""

HOW = """\
How names map to programs. PERCH, B, C, BC: ours, with the rules of the authors' program, beam
width 120 (the paper: 5 for each of 24 threads), collapsed modes with L = N / 5. "grafted" is our
purer mode. BIRCH: scikit-learn's; "online" is its CF tree after one pass, scored as a tree with
many children a node; "rebuild" inserts its subclusters again into a new tree, as BIRCH does when
it condenses. MB-HAC, HKMeans, StreamKM++ (SKM++) and BICO are written here from their
descriptions and checked against slow versions; coresets have 5 or 20 points a cluster
(StreamKM++'s authors use 200, which is most of our data). K-means, MB-KM, o-MB-KM, DBSCAN:
scikit-learn. HAC: fastcluster. Settings are tuned as in the paper: of a small grid
(`experiments/algorithms/registry.py`) the one with the best mean counts. A dash is a run that
exceeded its limit of time or memory, or has no result of that kind."""


def write_page(path: Path, results: Results, scale: Scale, name: str) -> None:
    """Write the page, and its figures into a folder beside it."""
    figures = path.parent / ("pictures/experiments" if name == "full" else f"{name}-figures")
    drawn = draw_all(figures, results, scale)
    parts = [
        "# The paper's experiments",
        _about(results, name),
        STAND_INS,
        HOW,
        "## Claims of the abstract",
        claims.judge(results, scale),
        "## Dendrogram purity (the paper's table 2)",
        _large_table(results, scale, TREES, "purity", published.purity),
        "## Pairwise F1 at the true number of clusters (table 3)",
        _large_table(results, scale, [*OF_TREES, *FLAT], "f1", published.f1),
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
            for figure, caption in drawn.items()
        ),
        "## Where ours and the published numbers differ",
        claims.differences(results, scale),
    ]
    path.write_text("\n\n".join(parts) + "\n")


def _about(results: Results, name: str) -> str:
    dates = sorted({str(result["date"]) for result in results.of.values()}) or ["never"]
    command = {"full": "make experiments", "quick": "make experiments-quick"}.get(name, name)
    return (
        f"Written by `{command}` from {len(results.of):,} runs kept in `experiments/results/`; "
        f"nothing is typed by hand. Runs of {' to '.join(sorted({dates[0], dates[-1]}))}; page of "
        f"{time.strftime('%Y-%m-%d')}. {_machine()}. Each run has a process of its own. ± is the "
        "standard deviation over random orders; how many there were is said in each table."
    )


_PACKAGES = (
    "perchtree", "numpy", "numba", "scikit-learn", "fastcluster", "fast-hdbscan", "faiss-cpu",
)  # fmt: skip


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    known = Path("/proc/cpuinfo")  # where there is one, it says more than Python knows
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


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
) -> str:
    columns = {
        name: {m: best(results, Run(name, rows, m), measure) for m in methods}
        for name, rows in scale.large.items()
    }

    def lines() -> Iterator[list[str]]:
        for method in methods:
            yield [_title(method), *(
                _cell(column[method], column, of_paper(method, name))
                for name, column in columns.items()
            )]  # fmt: skip

    orders = ", ".join(
        f"{name} {max(f.count for f in column.values())}" for name, column in columns.items()
    )
    head = ["", *(_size(name, rows) for name, rows in scale.large.items())]
    return (
        _table(head, lines())
        + f"\n\nOrders, at most: {orders}; a cell without ± had one. Best online method bold; the "
        "published value, where the data is the paper's, in brackets."
    )


def _title(method: str) -> str:
    return f"**{method}**" if method in ("PERCH", "grafted") else method


def _cell(figure: Figure, column: dict[str, Figure], of_paper: float | None) -> str:
    online = [f.mean for m, f in column.items() if f.mean is not None and _is_online(m)]
    text = str(figure)
    if figure.mean is not None and online and figure.mean == max(online):
        text = f"**{text}**"
    return text if of_paper is None else f"{text} [{of_paper:.3g}]"


def _is_online(method: str) -> bool:
    return method in ONLINE or method in ("o-MB-KM", "SKM++", "BICO", "MB-KM")


def _about_seconds(results: Results) -> str:
    threads = Counter(result.get("threads") for result in results.of.values())
    unknown = threads.pop(None, 0)
    counts = [f"{count:,} had {n} thread{'s' * (n > 1)}" for n, count in sorted(threads.items())]
    if unknown:
        counts.append(f"of {unknown:,} it was not recorded")
    return (
        "Of the runs above (best setting by purity, or by F1 for flat methods). Of all runs, "
        f"{', '.join(counts)}; runs with fewer threads than cores went on side by side. Read "
        "differences below a factor of two with care."
    )


def _seconds_table(results: Results, scale: Scale) -> str:
    def lines() -> Iterator[list[str]]:
        for method in [*TREES, *FLAT]:
            measure = "purity" if ALGORITHMS[method].makes_tree else "f1"
            cells = []
            for name, rows in scale.large.items():
                figure = best(results, Run(name, rows, method), measure)
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
    return "\n\n".join(tables)


def _published_orders(method: str, measure: str) -> list[str]:
    if measure == "purity":
        size = method.split()[-1]
        known = published.ROBUST_PURITY.get(method) or (
            published.ROBUST_PURITY.get(f"MB-HAC {size}") if method.startswith("MB-HAC") else None
        )
        return ["", ""] if known is None else [f"{value:.3f}" for value in known]
    values = published.ROBUST_F1.get(method)
    return ["", ""] if values is None else [f"{value / 100:.3f}" for value in values]


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
    return _table(head, lines()) + "\n\nThe published value in brackets."
