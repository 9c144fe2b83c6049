"""demo: the whole job on bundled data."""

import click

from .options import FORCE
from .running import Command


@click.command(cls=Command)
@click.option("--seed", default=0, show_default=True, help="Seed of the order of arrival.")
@click.option(
    "-o",
    "--output",
    default="perch-demo",
    show_default=True,
    metavar="FOLDER",
    help="Where the tree, its clusters and a page to look at are saved.",
)
@FORCE
def demo(seed: int, output: str, force: bool) -> None:
    """Cluster scikit-learn's handwritten digits online, in every mode, next to Birch."""
    from .digits import run_demo

    run_demo(seed, output, force=force)
