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
    help="The modes of `perch fit` that will be used; may be given several times.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def warmup(modes: tuple[str, ...], quiet: bool) -> None:
    """Compile for this machine all that other commands may need: for images and CI.

    Commands compile what they need when they first need it, and keep it in a folder of the user's.
    This does it beforehand. Set NUMBA_CACHE_DIR to keep it in another folder, such as one inside an
    image; it is of use on machines with the same kind of processor.

    \b
    Examples:
      perch warmup
      NUMBA_CACHE_DIR=/opt/perch perch warmup --mode grafted --mode bc
    """
    from .patience import patience

    start = time.monotonic()
    with patience("compiling for this machine, once", quiet=quiet):
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
