"""The `perch` command. Heavy imports happen inside the commands, so that --help is quick."""

import sys
from typing import Any

import click

from .about import VERSION, completion, show_overview
from .answering import ask
from .asking import cut, info, predict, score
from .changing import compact, merge, remove
from .correcting import correct
from .demo import demo
from .growing import add, fit, refine
from .looking import changes, clusters
from .planning import plan
from .running import describe, inert_usage_errors, say
from .sampling import sample
from .serving import serve
from .showing import check, export, plot
from .standing import keep
from .vectors import encode
from .warming import warmup


class Commands(click.Group):
    """Commands are listed in groups, in the order in which one needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(str(c.name), c.get_short_help_str(85)) for c in group])

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with inert_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with inert_usage_errors():
            return super().invoke(ctx)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().main(*args, **kwargs)
        except OSError as error:  # help that cannot be written
            say(f"error: {describe(error)}")
            sys.exit(1)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@VERSION
@click.pass_context
def main(ctx: click.Context) -> None:
    """Cluster many points into many clusters, and keep going as more of them arrive.

    `perch fit` builds a tree from a table, `perch clusters` shows its clusters, and `perch cut`
    writes the cluster of every row. Rows can be added at any time with `perch add`, and removed
    with `perch remove`.

    A TREE is either a file, NAME.perch, or a folder, NAME.perchdb. In a folder, every change is on
    disk by the time the command that made it ends.

    Errors are one line on standard error. Exit codes: 0 success, 1 failure, 2 wrong usage.
    """
    if ctx.invoked_subcommand is None:
        show_overview()


GROUPS = {
    "Build a tree": (fit, add, encode, merge, refine, plan),
    "Clusters": (clusters, cut, predict, score, ask, correct),
    "As data comes and goes": (keep, changes, remove, compact, serve),
    "Look at a tree": (info, plot, export, check),
    "For a start": (demo, sample, warmup, completion),
}
"""All commands, by what they are for."""

for group in GROUPS.values():
    for command in group:
        main.add_command(command)
