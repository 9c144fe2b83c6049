"""Run benchmarks: `python -m benchmarks [NAME ...]` prints, `--write` makes RESULTS.md."""

import importlib
import json
import os
import platform
import resource
import subprocess
import sys
from datetime import date
from pathlib import Path

import click
import numba
import numpy as np
import sklearn
from rich.console import Console
from rich.table import Table

from .common import Row, blas_gflops

NAMES = [
    "startup", "published", "growth", "phases", "choice", "limit", "imagenet", "peers",
    "measures", "same_tree", "memory", "mapped", "files", "collapsed", "streaming", "overhead",
    "latency", "removal", "machines", "machines_model", "machines_same",
]  # fmt: skip
RESULTS = Path(__file__).parent / "RESULTS.md"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--write", is_flag=True, help="Write RESULTS.md as well.")
@click.option("--worker", is_flag=True, hidden=True)
def main(names: tuple[str, ...], write: bool, worker: bool) -> None:
    """Measure, each benchmark in a process of its own, each figure beside what it should be."""
    if worker:
        print(json.dumps(measure(names[0])))
        return
    console = Console()
    console.print(machine())
    sections = read_sections()
    for name in names or NAMES:
        with console.status(f"{name} ..."):
            command = [sys.executable, "-m", "benchmarks", name, "--worker"]
            worker_run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(worker_run.stdout.splitlines()[-1])
        rows = [Row(*row) for row in result["rows"]]
        note = (
            f"BLAS {result['before']:.0f} and {result['after']:.0f} Gflop/s before and after; "
            f"peak memory {result['peak'] / 1e6:,.0f} MB"
        )
        table = Table("what", "measured", "goal", title=f"{name}  ({note})", title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        doc = importlib.import_module(f"benchmarks.{name}").__doc__
        lines = [
            f"{doc}\n",
            f"{date.today()}. {note}.\n",
            "| what | measured | goal |",
            "|---|---|---|",
        ]
        lines += [f"| {row.what.strip()} | {row.figure} | {row.goal} |" for row in rows]
        sections[name] = "\n".join(lines) + "\n"
        if write:
            write_sections(sections)
    if write:
        console.print(f"wrote {RESULTS}")


def read_sections() -> dict[str, str]:
    """The results there are, by name: a run of some benchmarks leaves the others as they were."""
    if not RESULTS.exists():
        return {}
    parts = RESULTS.read_text().split("\n## ")[1:]
    return dict(part.split("\n\n", 1) for part in parts)


def write_sections(sections: dict[str, str]) -> None:
    head = f"# Benchmark results\n\nWritten by `make bench`.\n\n{machine()}\n"
    texts = [f"\n## {name}\n\n{sections[name].rstrip()}\n" for name in NAMES if name in sections]
    RESULTS.write_text(head + "".join(texts))


def machine() -> str:
    processor = platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        processor = f"{names[0]} ({processor})" if names else processor
    return (
        f"{processor}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"NumPy {np.__version__}, Numba {numba.__version__}, scikit-learn {sklearn.__version__}"
    )


def measure(name: str) -> dict[str, object]:
    before = blas_gflops()
    rows = importlib.import_module(f"benchmarks.{name}").run()
    kind = (
        resource.RUSAGE_CHILDREN if name in ("memory", "mapped", "collapsed", "startup") else None
    )
    peak = resource.getrusage(resource.RUSAGE_SELF if kind is None else kind).ru_maxrss * 1024
    return {"rows": rows, "before": before, "after": blas_gflops(), "peak": peak}


if __name__ == "__main__":
    main()
