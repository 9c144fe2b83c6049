"""serve: a collection over HTTP."""

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..inert import inert_line
from .options import FOLDER, QUIET, taken, together
from .patience import COMPILING, patience
from .running import Command, say

if TYPE_CHECKING:
    from ..serve.security import Access
    from ..serve.service import Service

PORT = 8732
_DEMO_DISTANCE = 40.0
"""Between handwritten digits that are much alike."""

_CONTENT = together(
    click.option("--demo", is_flag=True, help="Serve bundled data from a temporary folder."),
    click.option("--new", is_flag=True, help=f"Make the folder, NAME{FOLDER}, if there is none."),
    click.option(
        "--encoder", help="For a new folder: how to turn texts into vectors, for example words."
    ),
    click.option(
        "--distance",
        type=click.FloatRange(0, max=1e30),
        help="Keep clusters at this distance up to date. [default: the folder's own setting]",
    ),
)
"""What is served."""

_ADDRESS = together(
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--port",
        default=PORT,
        show_default=True,
        type=click.IntRange(0, 65535),
        help="Port to listen on; 0 for any free port.",
    ),
    click.option("--certificate", type=click.Path(exists=True), help="For HTTPS: a PEM file."),
    click.option("--private-key", type=click.Path(exists=True), help="For HTTPS: a PEM file."),
)
"""Where it is served."""

_ACCESS = together(
    click.option(
        "--token-file",
        type=click.Path(exists=True, dir_okay=False),
        help="Require the token in this file. [or set PERCHTREE_TOKEN]",
    ),
    click.option(
        "--read-token-file",
        type=click.Path(exists=True, dir_okay=False),
        help="A token that only allows reading. [or set PERCHTREE_READ_TOKEN]",
    ),
    click.option(
        "--insecure", is_flag=True, help="Require no token from other machines. Not recommended."
    ),
    click.option(
        "--allow-host",
        multiple=True,
        metavar="NAME",
        help="An additional host name of the service.",
    ),
    click.option(
        "--allow-origin",
        multiple=True,
        metavar="URL",
        help="Another origin whose pages may use the service.",
    ),
)
"""Whom it answers."""


class _Content(NamedTuple):
    """What to serve: the values of `_CONTENT`."""

    demo: bool
    new: bool
    encoder: str | None
    distance: float | None

    def service(self, folder: str | None) -> "Service":
        """A service of it, whose clusters are kept up to date if that is wanted."""
        service = _demo() if folder is None else _opened(folder, self.new, self.encoder)
        if self.distance is not None:
            service.collection.keep_clusters(self.distance)
        elif service.collection.standing is None:
            say(
                "no clusters are kept up to date: use --distance to keep them and receive their "
                "events"
            )
        return service


class _Access(NamedTuple):
    """Who has access: the values of `_ACCESS`."""

    token_file: str | None
    read_token_file: str | None
    insecure: bool
    allow_host: tuple[str, ...]
    allow_origin: tuple[str, ...]

    def at(self, host: str) -> "Access":
        """Who may ask a service at an address; a UsageError if that is not safe."""
        from ..serve.security import Access, host_names, is_loopback

        write = _token(self.token_file, "PERCHTREE_TOKEN")
        read = _token(self.read_token_file, "PERCHTREE_READ_TOKEN")
        if not is_loopback(host) and write is None and read is None and not self.insecure:
            raise click.UsageError(
                f"other machines can reach {host}: give --token-file (`openssl rand -hex 32` makes "
                "a token), or --insecure if everybody may read and change everything"
            )
        hosts = host_names(host, self.allow_host)
        if not hosts:
            raise click.UsageError(
                f"{host} is every address of this machine: name it as others do, --allow-host NAME"
            )
        origins = frozenset(origin.rstrip("/") for origin in self.allow_origin)
        return Access(hosts, origins, write, read)


@click.command(cls=Command)
@click.argument("folder", required=False, type=click.Path())
@_CONTENT
@_ADDRESS
@_ACCESS
@click.option("--workers", default=1, help="Must be 1: a collection belongs to one process.")
@QUIET
def serve(folder: str | None, workers: int, quiet: bool, **options: Any) -> None:
    """Serve FOLDER over HTTP, for reading, writing and watching, until Ctrl-C or SIGTERM.

    Only this machine can reach the service unless you give another --host, which requires a token.
    See docs/service.md.
    """
    if workers != 1:
        raise click.UsageError(
            "only one worker is possible: the tree is in the memory of the one process that "
            "may change it, and its threads share the work"
        )
    if (folder is None) != options["demo"]:
        raise click.UsageError("give a folder, or --demo for bundled data")
    try:
        from ..serve.rehearsing import rehearse
        from ..serve.running import Place, leave, run
    except ImportError as error:
        raise ImportError(f"{error.name} is missing: pip install 'perchtree[serve]'") from None
    place, content = taken(Place, options), taken(_Content, options)
    if (place.certificate is None) != (place.private_key is None):
        raise click.UsageError("https needs both --certificate and --private-key")
    access = taken(_Access, options).at(place.host)
    click.get_current_context().call_on_close(leave)  # after everything else
    service = content.service(folder)
    with patience(COMPILING, quiet=quiet):
        rehearse(service.collection.settings)
    _log_requests(quiet)

    def started(address: str) -> None:
        click.echo(inert_line(f"perch: {len(service.collection):,} records at {address}"))

    try:
        run(service, access, place, started)
    finally:
        service.collection.close()


def _token(path: str | None, variable: str) -> str | None:
    """A token from a file or the environment."""
    import os
    from pathlib import Path

    from ..serve.security import checked_token

    if path is not None:
        return checked_token(Path(path).read_text(errors="replace"), path)
    return checked_token(os.environ[variable], variable) if variable in os.environ else None


def _opened(folder: str, new: bool, encoder: str | None) -> "Service":
    from pathlib import Path

    from ..collection import Collection
    from ..serve.service import Service
    from ..store.folder import DATABASE

    if not folder.rstrip("/\\").endswith(FOLDER):
        raise click.UsageError(
            f"a service needs a folder: `perch fit {folder} -o NAME{FOLDER}` makes one of a file"
        )
    exists = (Path(folder) / DATABASE).is_file()
    if not exists and not new:
        raise FileNotFoundError(f"there is no collection in {folder}: --new makes one")
    if exists and encoder is not None and new:
        encoder = None
    return Service(Collection.open(folder, write=True, encoder=encoder), Path(folder))


def _demo() -> "Service":
    """scikit-learn's handwritten digits, with a text each, in a folder that is removed."""
    import tempfile
    from pathlib import Path

    from sklearn.datasets import load_digits

    from ..collection import Collection
    from ..serve.service import Service

    held = tempfile.TemporaryDirectory(prefix="perch-")
    click.get_current_context().call_on_close(held.cleanup)
    path = Path(held.name) / f"demo{FOLDER}"
    X, classes = load_digits(return_X_y=True)
    collection = Collection.open(path, write=True, sync=False)
    say("inserting 1,797 handwritten digits (compiling takes up to a minute the first time) ...")
    collection.add(
        X, keys=[f"image {i}" for i in range(len(X))], classes=classes.tolist(),
        texts=[f"a handwritten {digit}" for digit in classes],
    )  # fmt: skip
    collection.keep_clusters(_DEMO_DISTANCE)
    collection.sync = True
    collection.barrier()
    return Service(collection, path)


def _log_requests(quiet: bool) -> None:
    """One line per request on standard error."""
    import logging

    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("perchtree.serve").setLevel(logging.WARNING if quiet else logging.INFO)
