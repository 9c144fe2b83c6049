"""Time and memory beside those of an earlier version: `python -m benchmarks.earlier CHECKOUT`.

CHECKOUT is a folder with another version of this project (`git worktree add`). Each job runs in a
process of its own, in turns with the other version, several times; medians of ratios count. Memory
is the peak of the process, beyond what it was after the same job with a quarter of the rows (which
loads code that version 0.1 loaded at the import), and in all.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

JOBS = {
    "covtype, 60,000 rows, published, A*": (
        "covtype", 60_000, {"linkage": "box", "search": "astar"}),
    "covtype, 60,000 rows, average": ("covtype", 60_000, {"linkage": "average"}),
    "aloi27, 50,000 rows, published": ("aloi27", 50_000, {"linkage": "box"}),
    "letter, 20,000 rows, average": ("letter", 20_000, {"linkage": "average"}),
    "clinc150, 15,000 rows, published": ("clinc150", 15_000, {"linkage": "box", "n_jobs": 2}),
    "clinc150, 15,000 rows, average": ("clinc150", 15_000, {"linkage": "average", "n_jobs": 2}),
    "omniglot, 10,000 rows, average": ("omniglot", 10_000, {"linkage": "average", "n_jobs": 2}),
    "hist50k, 20,000 rows, ward": ("hist50k", 20_000, {"linkage": "ward"}),
    "covtype, 60,000 rows, beam": (
        "covtype", 60_000, {"linkage": "box", "search": "beam", "beam_width": 20}),
    "aloi27, 50,000 rows, collapsed to 5,000": (
        "aloi27", 50_000, {"linkage": "box", "max_leaves": 5_000}),
    "digits, 1,797 rows, one by one": ("digits", 1_797, {"linkage": "average", "by": 1}),
    "letter, 20,000 rows, batches of 100": ("letter", 20_000, {"linkage": "average", "by": 100}),
    "letter, 20,000 rows, reading labels": ("letter", 20_000, {"linkage": "average", "cut": 26}),
    "clinc150, nearest of 5,000 rows": ("clinc150", 15_000, {"linkage": "average", "ask": 5_000}),
}  # fmt: skip

WORKER = """
import json, sys, time
import numpy as np
from perchtree import ClusterTree
name, n_rows, settings = json.loads(sys.argv[1])
by, cut, ask = (settings.pop(key, None) for key in ("by", "cut", "ask"))
if name == "digits":
    from sklearn.datasets import load_digits
    X = load_digits().data.astype(np.float32)
else:
    with np.load(f"{sys.argv[2]}/{name}.npz") as file:
        X = file["X"].astype(np.float32)
X = X[np.random.default_rng(0).permutation(len(X))[:n_rows]]

def work(X):
    tree = ClusterTree(X.shape[1], **settings)
    start = time.perf_counter()
    for first in range(0, len(X), by or len(X)):
        tree.insert(X[first : first + (by or len(X))])
    if ask:
        start = time.perf_counter()
        tree.nearest(X[:ask], k=5)
    if cut:
        start = time.perf_counter()
        tree.cut(cut)
    return time.perf_counter() - start

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))

few = cut and 2, ask and 50
(cut, ask), few = few, (cut, ask)
work(X[: len(X) // 4])
before = resident("VmRSS")
cut, ask = few
seconds = min(work(X) for _ in range(2))
print(json.dumps([seconds, max(1, resident("VmHWM") - before), resident("VmHWM")]))
"""


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False))
@click.option("--pairs", default=5, show_default=True, help="Runs of each version per job.")
@click.option("--only", default="", metavar="TEXT", help="Only jobs whose names contain this.")
def main(checkout: str, pairs: int, only: str) -> None:
    """Compare this version with the one in CHECKOUT."""
    sources = [str(Path(checkout) / "src"), str(Path(__file__).parents[1] / "src")]
    table = Table("job", "earlier, s", "now, s", "time", "growth", "peak")
    ratios = []
    for name, job in ((name, job) for name, job in JOBS.items() if only in name):
        runs: list[list[tuple[float, ...]]] = [[], []]
        for _ in range(pairs):
            for place, source in enumerate(sources):
                runs[place].append(_run(source, job))
        pairs_of_runs = list(zip(*runs, strict=True))
        ratios.append([
            statistics.median(now[figure] / then[figure] for then, now in pairs_of_runs)
            for figure in range(3)
        ])  # fmt: skip
        medians = [statistics.median(run[0] for run in of_version) for of_version in runs]
        shown = [f"{ratio:.2f}" for ratio in ratios[-1]]
        table.add_row(name, *(f"{m:.3f}" for m in medians), *shown)
        print(f"{name}: time x {shown[0]}, growth x {shown[1]}", file=sys.stderr, flush=True)
    means = (statistics.geometric_mean(column) for column in zip(*ratios, strict=True))
    table.add_row("geometric mean", "", "", *(f"{mean:.3f}" for mean in means))
    Console().print(table)


def _run(source: str, job: tuple[str, int, dict[str, object]]) -> tuple[float, ...]:
    """Seconds; peak resident memory in KiB, beyond that after a smaller job, and in all."""
    data = os.environ.get("PERCHTREE_DATA", "")
    output = subprocess.run(
        [sys.executable, "-c", WORKER, json.dumps(job), data],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        env=os.environ | {"PYTHONPATH": source},
    ).stdout  # fmt: skip
    return tuple(json.loads(output.splitlines()[-1]))


if __name__ == "__main__":
    main()
