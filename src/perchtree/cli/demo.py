"""demo: all steps on bundled data."""

import click

from .options import FORCE
from .running import QuickCommand


@click.command(cls=QuickCommand)
@click.option("--seed", default=0, show_default=True, help="Seed for the order of arrival.")
@click.option(
    "-o",
    "--output",
    default="perch-demo",
    show_default=True,
    metavar="FOLDER",
    help="Where to save the tree, its clusters and an interactive page.",
)
@click.option(
    "--modes", is_flag=True, help="Also run the modes of the paper, which takes minutes to compile."
)
@FORCE
def demo(seed: int, output: str, modes: bool, force: bool) -> None:
    """Cluster bundled images of handwritten digits, and explain the result.

    It takes about a minute the first time, because it compiles for this machine, and seconds
    after that. Needs no data and no network.
    """
    from .patience import patience

    with patience("starting"):
        from .digits import run_demo

    run_demo(seed, output, modes=modes, force=force)
