"""The `perch` command. Heavy imports happen inside the commands, so that --help is quick."""

import sys
from typing import Any

import click

from .answering import ask
from .asking import cut, info, predict, score
from .changing import compact, merge, remove
from .correcting import correct
from .demo import demo
from .growing import add, fit, refine
from .looking import changes, clusters
from .planning import plan
from .running import describe, inert_usage_errors, say
from .serving import serve
from .showing import check, export, plot
from .standing import keep
from .vectors import encode


class Commands(click.Group):
    """Commands are listed in the order in which one needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="perchtree", prog_name="perch")
def main() -> None:
    """Online hierarchical clustering for very many points and very many clusters.

    From data to clusters: `perch fit data.npy -o data.perch`, then `perch cut data.perch -k 1000 -o
    clusters.csv`. More points may be added at any time, by `perch add`, and taken out, by `perch
    remove`.

    Errors are one line on standard error. Exit codes: 0 fine, 1 failure, 2 wrong usage.
    """


for command in (
    fit,
    add,
    encode,
    remove,
    merge,
    compact,
    refine,
    correct,
    ask,
    cut,
    clusters,
    keep,
    changes,
    predict,
    score,
    info,
    plan,
    plot,
    export,
    check,
    serve,
    demo,
):
    main.add_command(command)
