"""warmup: compile everything now, not when it is first needed."""

import time

import click

from .presets import COLLAPSED, MODES, parameters
from .running import QuickCommand, say


@click.command(cls=QuickCommand)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(list(MODES)),
    multiple=True,
    default=["grafted"],
    show_default=True,
    help="A mode of `perch fit` to compile; may be repeated.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def warmup(modes: tuple[str, ...], quiet: bool) -> None:
    """Compile ahead of time everything that other commands may need, for images and CI.

    Otherwise, commands compile what they need on first use and keep it in the user's cache folder.
    Set NUMBA_CACHE_DIR to use another folder, such as one inside a container image. Compiled code
    can be reused on machines with the same kind of processor.

    \b
    Examples:
      perch warmup
      NUMBA_CACHE_DIR=/opt/perch perch warmup --mode grafted --mode bc
    """
    from .patience import COMPILING, patience

    start = time.monotonic()
    with patience(COMPILING, quiet=quiet):
        from .._kernels.disk_cache import cache_folder
        from ..settings import Settings
        from ..warmup import warm_up_everything

        for mode in modes:
            leaves = {"max_leaves": 8} if mode in COLLAPSED else {}
            warm_up_everything(Settings.of(parameters(mode, leaves)))
    if not quiet:
        folder = cache_folder()
        where = "nowhere: the folder cannot be written" if folder is None else folder
        say(f"compiled in {time.monotonic() - start:.0f} s; kept in {where}")
