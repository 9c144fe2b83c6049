"""Overview, versions for bug reports, and completion for shells."""

from typing import Any

import click

from .running import QuickCommand

OVERVIEW = """\
perch {version}: clustering that grows with your data

  perch fit titles.csv -o titles.perch --id id --text title    build a tree from a table
  perch clusters titles.perch                                  look at its clusters
  perch cut titles.perch -o clusters.csv                       write the cluster of every row
  perch add titles.perch more.csv --id id --text title         add more rows later

New here?       perch demo      clusters bundled data in about a minute and explains the result
No data yet?    perch sample    writes a sample table to experiment with
All commands    perch --help    and, for example, perch fit --help for one command
"""

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite")
EXTRAS = ("pyarrow", "pandas", "matplotlib", "fastapi", "uvicorn", "httpx", "wordllama")
SHELLS = ("bash", "zsh", "fish")


def show_overview() -> None:
    """What `perch` alone prints."""
    from .. import __version__

    click.echo(OVERVIEW.format(version=__version__), nl=False)


def show_versions(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    """Print the versions that a bug report should include, without importing the packages."""
    if not value or ctx.resilient_parsing:
        return
    import platform
    import sqlite3

    from .. import __version__

    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    click.echo(f"perch {__version__}")
    click.echo(f"Python {platform.python_version()} on {system}")
    found = [*_installed(PACKAGES), f"SQLite {sqlite3.sqlite_version}"]
    click.echo(", ".join(found))
    click.echo(f"optional: {', '.join(_installed(EXTRAS)) or 'none installed'}")
    ctx.exit()


def _installed(names: tuple[str, ...]) -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


VERSION = click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show_versions,
    help="Show the versions that matter, for bug reports, and exit.",
)


@click.command(cls=QuickCommand)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that makes SHELL complete the commands, options and file names of `perch`.

    \b
    To set it up, once:
      bash:  echo 'eval "$(perch completion bash)"' >> ~/.bashrc
      zsh:   echo 'eval "$(perch completion zsh)"' >> ~/.zshrc
      fish:  perch completion fish > ~/.config/fish/completions/perch.fish
    """
    from click.shell_completion import get_completion_class

    kind: Any = get_completion_class(shell)
    click.echo(kind(ctx.find_root().command, {}, "perch", "_PERCH_COMPLETE").source())
