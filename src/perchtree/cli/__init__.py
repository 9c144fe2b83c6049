"""The `perch` command. Heavy imports happen inside the commands, so that --help is quick."""

import click

from .asking import cut, info, predict, score
from .demonstrating import demo
from .growing import add, fit, refine
from .showing import check, export, plot


class InOrder(click.Group):
    """Commands are listed in the order in which one needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="perchtree", prog_name="perch")
def main() -> None:
    """Online hierarchical clustering for very many points and very many clusters.

    From data to clusters: `perch fit data.npy -o data.perch`, then `perch cut data.perch -k 1000 -o
    clusters.csv`. More points may be added at any time, by `perch add`.

    Errors are one line on standard error. Exit codes: 0 fine, 1 failure, 2 wrong usage.
    """


for command in (fit, add, refine, cut, predict, score, info, plot, export, check, demo):
    main.add_command(command)
