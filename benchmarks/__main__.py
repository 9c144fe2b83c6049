"""Run benchmarks by name, or all: `python -m benchmarks [NAME ...]`."""

import importlib
import os
import platform

import click
import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from .common import blas_gflops

NAMES = ["startup", "published", "growth", "memory", "collapsed"]


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
def main(names: tuple[str, ...]) -> None:
    """Measure and print, each figure beside what it should be."""
    console = Console()
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"NumPy {np.__version__}, Numba {numba.__version__}"
    )
    for name in names or NAMES:
        before = blas_gflops()
        rows = importlib.import_module(f"benchmarks.{name}").run()
        title = f"{name}  (BLAS {before:.0f} and {blas_gflops():.0f} Gflop/s before and after)"
        table = Table("what", "measured", "goal", title=title, title_justify="left")
        for row in rows:
            table.add_row(*row)
        console.print(table)


main()
