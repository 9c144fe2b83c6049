"""Which runs each table and figure of the paper's section 6 needs."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from .algorithms.registry import ALGORITHMS
from .runs import Limits, Results, Run, with_parameters

TREES = [
    "PERCH", "PERCH-B", "PERCH-C", "PERCH-BC", "grafted", "BIRCH (online)", "MB-HAC-Com. (2K)",
    "MB-HAC-Com. (5K)", "MB-HAC-Cent. (2K)", "MB-HAC-Cent. (5K)", "HKMeans", "BIRCH (rebuild)",
    "HAC single", "HAC average", "HAC complete", "HAC Ward",
]  # fmt: skip
FLAT = ["SKM++", "BICO", "MB-KM", "K-means", "DBSCAN", "fast_hdbscan", "faiss k-means"]
FREE = ["DBSCAN", "fast_hdbscan"]
"""Flat methods that find the number of clusters themselves."""
OF_TREES = ["PERCH", "PERCH-B", "PERCH-C", "PERCH-BC", "grafted", "HAC average", "HAC complete"]
"""Trees that are cut for the table of flat clusterings."""

ROBUST = [
    "PERCH", "grafted", "MB-HAC-Com. (2K)", "MB-HAC-Com. (5K)", "MB-HAC-Cent. (2K)",
    "MB-HAC-Cent. (5K)", "o-MB-KM", "SKM++",
]  # fmt: skip
ORDERS = ("random", "round robin", "sorted")
SMALL_METHODS = [
    "PERCH", "grafted", "BIRCH (online)", "BIRCH (rebuild)", "HKMeans", "HAC complete",
    "HAC average", "HAC Ward",
]  # fmt: skip


class Scale(NamedTuple):
    """How large everything is."""

    large: dict[str, int | None]
    """Rows of each data set; None for all."""
    small: dict[str, int | None]
    seeds_large: int
    seeds_small: int
    robust: tuple[str, int | None]
    tradeoff: tuple[str, int | None]
    watched: dict[str, int | None]
    mixture_points: int
    mixture_clusters: tuple[int, ...]
    leaves: tuple[int, ...]
    separable: str = "separable-12-15-4"
    """Each run has a data set of its own; its seed is added to the name."""
    skipped: tuple[str, ...] = ()
    """Algorithms left out."""


FULL = Scale(
    large={"aloi27": None, "clinc150": None, "omniglot": 10_000, "hist50k": 20_000,
           "covtype": None},
    small={"glass": None, "digits": 200, "spambase": None},
    seeds_large=5,
    seeds_small=10,
    robust=("aloi27", None),
    tradeoff=("clinc150", None),
    watched={"covtype": 300_000, "clinc150": None},
    mixture_points=30_000,
    mixture_clusters=(10, 30, 100, 300, 1000, 3000, 5000),
    leaves=(500, 1000, 2000, 5000, 10_000, 20_000, 50_000),
)  # fmt: skip

QUICK = Scale(
    large={"letter": 2000},
    small={"glass": None, "digits": 200},
    seeds_large=1,
    seeds_small=2,
    robust=("letter", 2000),
    tradeoff=("digits", None),
    watched={"letter": None},
    mixture_points=3000,
    mixture_clusters=(10, 100, 500),
    leaves=(100, 500, 2000),
)

TINY = Scale(
    large={"digits": 300},
    small={"digits": 200},
    seeds_large=1,
    seeds_small=2,
    robust=("digits", 300),
    tradeoff=("digits", 300),
    watched={"digits": 500},
    mixture_points=400,
    mixture_clusters=(5, 50),
    leaves=(50, 300),
    skipped=("fast_hdbscan",),
)


def tuned(run: Run) -> list[Run]:
    """The run with every setting of its algorithm's grid."""
    return [with_parameters(run, **setting) for setting in ALGORITHMS[run.algorithm].grid]


def large(scale: Scale, seed: int, results: Results) -> Iterator[Run]:
    """Dendrogram purity and pairwise F1 on large data, and the time of A* search beside them.

    Settings compete on the first order; the winner goes on to the others.
    """
    for name, rows in scale.large.items():
        for algorithm in [*TREES, *FLAT]:
            if seed == 0 or ALGORITHMS[algorithm].knows_order:
                yield from contenders(Run(name, rows, algorithm), seed, results)
        if seed == 0:
            yield Run(name, rows, "PERCH, A*")


def contenders(run: Run, seed: int, results: Results) -> list[Run]:
    """On the first order all settings of an algorithm's grid, on others the one that won there."""
    runs = tuned(run.without_seed)
    if seed == 0 or len(runs) == 1:
        return [run._replace(seed=seed) for run in runs if not is_hopeless(run, results)]
    measure = ALGORITHMS[run.algorithm].measure
    scores = {run: results.of.get(run, {}).get(measure) for run in runs}
    known = [run for run in runs if scores[run] is not None]
    return [max(known, key=lambda run: scores[run])._replace(seed=seed)] if known else []


def is_hopeless(run: Run, results: Results) -> bool:
    """Whether what it begins with has hit a limit."""
    first = beginning(run)
    return first is not None and results.of.get(first, {}).get("status") in Limits._fields


def beginning(run: Run) -> Run | None:
    """The run that does the first part of another."""
    name = ALGORITHMS[run.algorithm].begins_with
    return None if name is None else run._replace(algorithm=name)


def small(scale: Scale) -> Iterator[Run]:
    """Small benchmarks: all orders of a setting follow each other, and share a process."""
    for name, rows in scale.small.items():
        for algorithm in SMALL_METHODS:
            seeds = scale.seeds_small if ALGORITHMS[algorithm].knows_order else 1
            for run in tuned(Run(name, rows, algorithm)):
                yield from (run._replace(seed=seed) for seed in range(seeds))


def robust(scale: Scale, seed: int, results: Results) -> Iterator[Run]:
    """Adversarial orders, and random ones beside them."""
    name, rows = scale.robust
    for order in ORDERS:
        for algorithm in ROBUST:
            yield from contenders(Run(name, rows, algorithm, order=order), seed, results)


def tradeoff(scale: Scale) -> Iterator[Run]:
    """Speed against purity as the parameters of the paper vary."""
    name, rows = scale.tradeoff

    def runs(algorithm: str, **values: list[Any]) -> Iterator[Run]:
        for parameter, settings in values.items():
            for value in settings:
                yield with_parameters(Run(name, rows, algorithm), **{parameter: value})

    yield from runs("PERCH-BC", beam_width=[1, 5, 20, 60, 120, 300])
    yield from runs("PERCH-BC", max_leaves=[500, 2000, 10_000])
    for algorithm in ("BIRCH (online)", "BIRCH (rebuild)"):
        for run in runs(algorithm, branching=[2, 5, 20, 50, 200]):
            yield with_parameters(run, share=0.5)
    yield from runs("HKMeans", iterations=[1, 3, 10, 40, 160])
    yield from (Run(name, rows, algorithm) for algorithm in ("PERCH", "PERCH, A*", "grafted"))


def watched(scale: Scale) -> Iterator[Run]:
    """Insert time and depth against the number of points, with and without balance."""
    for name, rows in scale.watched.items():
        for balance in ("size", None):
            yield with_parameters(Run(name, rows, "PERCH, watched"), balance=balance)


def over_k(scale: Scale) -> Iterator[Run]:
    """Run time against the number of clusters."""
    for k in scale.mixture_clusters:
        name = f"mixture-{scale.mixture_points}-{k}-64"
        for algorithm in ("PERCH", "PERCH, A*", "grafted", "MB-KM", "faiss k-means"):
            yield Run(name, None, algorithm)


def memory(scale: Scale) -> Iterator[Run]:
    """Purity against memory in collapsed mode."""
    name, rows = scale.robust
    for leaves in scale.leaves:
        yield with_parameters(Run(name, rows, "PERCH"), max_leaves=leaves)
        yield with_parameters(Run(name, rows, "grafted"), max_leaves=leaves)


def separable(scale: Scale) -> Iterator[Run]:
    """Data that is separable by construction, in every order: exact masking, and as published."""
    for parameters in ({"masking": "exact", "balance": None}, {}):
        for order in ORDERS:
            for seed in range(scale.seeds_small):
                run = Run(f"{scale.separable}-{seed}", None, "PERCH", order=order)
                yield with_parameters(run, **parameters)


def everything(scale: Scale, results: Results) -> Iterator[Run]:
    """All runs: figures need one order; of tables, the first order of all before the second.

    Which settings later orders need is known once the first one is done: ask as late as possible.
    """
    for section in (separable, small, tradeoff, over_k, memory, watched):
        yield from _kept(scale, section(scale))
    for seed in range(scale.seeds_large):
        for section_ in (large, robust):
            yield from _kept(scale, section_(scale, seed, results))


def _kept(scale: Scale, runs: Iterator[Run]) -> Iterator[Run]:
    return (run for run in runs if run.algorithm not in scale.skipped)


def setting(run: Run) -> dict[str, Any]:
    return dict(json.loads(run.parameters))
