"""remove and merge: commands that take records out of a tree, or bring two together."""

import sys
from typing import TYPE_CHECKING, Any

import click

from .options import FOLDER, FORCE, N_JOBS, QUIET, TREE, TreePath
from .running import Command, count, say

if TYPE_CHECKING:
    from ..collection import Collection


@click.command(cls=Command)
@TREE
@click.option("--id", "ids", multiple=True, metavar="KEY", help="A record; may be repeated.")
@click.option(
    "--ids", "file", metavar="FILE", help="A file with one id per line; - for standard input."
)
@click.option(
    "--missing",
    type=click.Choice(["error", "ok"]),
    default="error",
    show_default=True,
    help="What to do about ids that no record has (any more): change nothing, or skip them.",
)
@QUIET
def remove(tree: str, ids: tuple[str, ...], file: str | None, missing: str, quiet: bool) -> None:
    """Remove records from TREE, whose file is replaced in one step when all are out.

    Nothing of their ids, texts, classes and vectors stays in the file. (A leaf that --max-leaves
    has collapsed keeps its bounding box until its last record is removed.) From a folder,
    NAME.perchdb, they are erased by the next `perch compact`, or by themselves after many removals.
    The tree is repaired around each of them; other clusters stay as they are.

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
        raise click.UsageError("name records by --id KEY, or by --ids FILE")
    check_writable(tree)
    with open_collection(tree, write=True) as collection, listening() as stop:
        before = len(collection)
        try:
            collection.remove(
                keys_from_texts(collection, given),
                missing=missing,
                verbose=not quiet and sys.stderr.isatty(),
            )
        except KeyboardInterrupt:
            stop.asked = True
        stop.ignore()
        n_removed = before - len(collection)
        if n_removed:
            collection.save(tree)
        if not quiet or stop.asked:
            skipped = len(given) - n_removed if not stop.asked else 0
            saved = f"saved as {tree}" if n_removed else f"{tree} is as it was"
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
    """Erase removed records from every file of a folder, along with its history.

    TREE is a folder, NAME.perchdb. Its present tree becomes the beginning from which it is opened.
    If another process still reads an earlier state, this fails and says so.
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
        say(f"{tree} has {folder_bytes(tree):,} bytes, {before:,} before; nothing removed is left")


def _read_lines(name: str) -> list[str]:
    from pathlib import Path

    from ..inputs.lines import Lines

    lines = (line.rstrip("\r\n") for line in Lines(None if name == "-" else Path(name)))
    return [line for line in lines if line]


@click.command(cls=Command)
@click.argument("first", type=TreePath())
@click.argument("second", type=TreePath())
@click.option("-o", "--output", required=True, metavar="TREE", help="The file of the new tree.")
@click.option(
    "--update",
    is_flag=True,
    help="Let records of SECOND replace those of FIRST with the same id. [default: an error]",
)
@N_JOBS
@FORCE
@QUIET
def merge(
    first: str,
    second: str,
    output: str,
    update: bool,
    n_jobs: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """Merge the records of FIRST and SECOND into a new tree; both files stay as they are.

    The records of the smaller one are inserted into a copy of the larger one. The two must have the
    same settings and features, and both ids of your own or neither.

    \b
    Example:
      perch merge north.perch south.perch -o all.perch
    """
    from .opening import check_tree_output, open_collection

    if output == "-":
        raise click.UsageError("a tree is not written to standard output: give a file's name")
    check_tree_output(output, force=force, inputs=[first, second])
    one, other = (open_collection(path, n_jobs) for path in (first, second))
    union = _merged(one, other, update=update, verbose=not quiet and sys.stderr.isatty())
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
