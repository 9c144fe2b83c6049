"""remove and merge: commands that take records out of a tree, or bring two together."""

import sys
from typing import TYPE_CHECKING, Any

import click

from .options import COMPRESS, FOLDER, FORCE, N_JOBS, NEW_TREE, QUIET, TREE, TreePath
from .patience import patience
from .running import Command, count, say

if TYPE_CHECKING:
    from ..collection import Collection

_MANY = 1000
"""Records from which on a bar shows how many are removed."""


@click.command(cls=Command)
@TREE
@click.option(
    "--id",
    "ids",
    multiple=True,
    metavar="KEY",
    help="The id of a record to remove; may be repeated.",
)
@click.option(
    "--ids", "file", metavar="FILE", help="A file with one id per line; - for standard input."
)
@click.option(
    "--missing",
    type=click.Choice(["error", "ok"]),
    default="error",
    show_default=True,
    help="What to do if no record has a given id: fail without changing anything, or skip it.",
)
@QUIET
def remove(tree: str, ids: tuple[str, ...], file: str | None, missing: str, quiet: bool) -> None:
    """Remove records from TREE. The file is replaced atomically at the end.

    No trace of their ids, texts, classes or vectors stays in the file, except that a leaf collapsed
    by --max-leaves keeps its bounding box until its last record is removed. In a folder,
    NAME.perchdb, removed records are erased from disk by `perch compact`, or automatically after
    many removals. The tree is repaired around each removed record; other clusters do not change.

    \b
    Examples:
      perch remove people.perch --id ann --id bob
      perch remove people.perch --ids gone.txt --missing ok
    """
    from ..collection.intake import keys_from_texts
    from ..outputs import check_writable
    from .opening import open_collection
    from .signals import listening

    given = [*ids, *_read_lines(file)] if file is not None else list(ids)
    if not given:
        raise click.UsageError("give the records to remove with --id or --ids")
    check_writable(tree)
    with open_collection(tree, write=True) as collection, listening() as stop:
        before = len(collection)
        has_bar = not quiet and sys.stderr.isatty() and len(given) >= _MANY
        try:
            with patience("removing (and compiling, the first time)", quiet=quiet or has_bar):
                collection.remove(
                    keys_from_texts(collection, given), missing=missing, verbose=has_bar
                )
        except KeyboardInterrupt:
            stop.asked = True
        stop.ignore()
        n_removed = before - len(collection)
        if n_removed:
            collection.save(tree)
        if not quiet or stop.asked:
            skipped = len(given) - n_removed if not stop.asked else 0
            saved = f"saved as {tree}" if n_removed else f"{tree} is unchanged"
            if n_removed and collection.is_kept:
                saved += "; `perch compact` erases them from the disk"
            say(
                f"{'stopped; ' * stop.asked}{count(n_removed, 'record')} removed"
                f"{f', {skipped:,} not found' if skipped else ''}, {len(collection):,} left; "
                f"{saved}"
            )
        if stop.asked:
            sys.exit(1)


@click.command(cls=Command)
@TREE
@QUIET
def compact(tree: str, quiet: bool) -> None:
    """Erase removed records, and the history of operations, from all files of a folder.

    TREE must be a folder, NAME.perchdb. The current tree becomes the state from which the folder is
    opened. This fails with a message if another process is still reading an earlier state.
    """
    from .opening import folder_bytes, open_collection

    if not tree.rstrip("/").endswith(FOLDER):
        raise click.UsageError("only a folder, NAME.perchdb, can be compacted")
    before = folder_bytes(tree)
    with open_collection(tree, write=True, may_be_empty=True) as collection:
        done = collection.compact()
    if not done:
        sys.exit(1)
    if not quiet:
        say(f"{tree} compacted from {before:,} to {folder_bytes(tree):,} bytes")


def _read_lines(name: str) -> list[str]:
    from pathlib import Path

    from ..inputs.lines import Lines

    lines = (line.rstrip("\r\n") for line in Lines(None if name == "-" else Path(name)))
    return [line for line in lines if line]


@click.command(cls=Command)
@click.argument("first", type=TreePath())
@click.argument("second", type=TreePath())
@NEW_TREE
@click.option(
    "--update",
    is_flag=True,
    help="If both have a record with the same id, keep that of SECOND. [default: fail]",
)
@COMPRESS
@N_JOBS
@FORCE
@QUIET
def merge(
    first: str,
    second: str,
    output: str,
    update: bool,
    compress: bool | None,
    n_jobs: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """Merge the records of FIRST and SECOND into a new tree, leaving both unchanged.

    The records of the smaller tree are inserted into a copy of the larger one. Both must have the
    same settings and features, and either both or neither must have your own ids.

    \b
    Example:
      perch merge north.perch south.perch -o all.perch
    """
    from .opening import check_tree_output, choose_compression, open_collection

    if output == "-":
        raise click.UsageError("a tree is not written to standard output: give a file's name")
    check_tree_output(output, force=force, inputs=[first, second])
    one, other = (open_collection(path, n_jobs) for path in (first, second))
    has_bar = not quiet and sys.stderr.isatty()
    with patience("merging (and compiling, the first time)", quiet=quiet or has_bar):
        union = _merged(one, other, update=update, verbose=has_bar)
    choose_compression(union, compress, output)
    union.save(output)
    if not quiet:
        say(
            f"{count(len(one), 'record')} and {count(len(other), 'record')} merged into "
            f"{len(union):,}; saved as {output}"
        )


def _merged(one: "Collection", other: "Collection", **options: Any) -> "Collection":
    try:
        return one.merge(other, **options)
    except ValueError as error:
        raise ValueError(str(error).replace("update=True", "--update")) from None
