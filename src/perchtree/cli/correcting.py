"""correct: record which points belong together, and which do not."""

from typing import TYPE_CHECKING

import click

from .options import QUIET, TREE
from .running import Command, count, say

if TYPE_CHECKING:
    from ..collection import Collection

Pairs = tuple[tuple[str, str], ...]


@click.command(cls=Command)
@TREE
@click.option(
    "--together",
    nargs=2,
    multiple=True,
    metavar="A B",
    help="Two ids that belong together; like the next two options, may be repeated.",
)
@click.option(
    "--apart", nargs=2, multiple=True, metavar="A B", help="Two ids that do not belong together."
)
@click.option(
    "--take-back",
    nargs=2,
    multiple=True,
    metavar="A B",
    help="Withdraw the correction for two ids. This is done before anything else.",
)
@click.option(
    "--from",
    "file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="A .csv or .tsv file (optionally .gz) with the columns a, b (ids) and same (yes or no), "
    "as written by `perch ask`.",
)
@click.option("--list", "listed", is_flag=True, help="Print all corrections in the same format.")
@QUIET
def correct(
    tree: str,
    together: Pairs,
    apart: Pairs,
    take_back: Pairs,
    file: str | None,
    listed: bool,
    quiet: bool,
) -> None:
    """Correct TREE: record which points belong together and which do not.

    Every flat clustering respects corrections: `cut`, `predict` and `score` join clusters whose
    points belong together, and split clusters with points that do not, changing as little as
    possible. The tree itself is not changed. A correction that contradicts earlier ones is
    rejected, and then nothing is saved.

    \b
    Examples:
      perch correct people.perch --together ann anna --apart ann bob
      perch correct people.perch --from checked.csv
      perch correct people.perch --list
      perch correct people.perch --take-back ann bob
    """
    from ..collection.intake import keys_from_texts
    from ..outputs import check_writable
    from .opening import open_collection

    changing = bool(together or apart or take_back or file)
    if not changing and not listed:
        raise click.UsageError("give --together, --apart, --from, --take-back or --list")
    if changing:
        check_writable(tree)
    with open_collection(tree, write=changing) as collection:
        before = collection.pairs.changes
        for pair in take_back:
            collection.take_back(*keys_from_texts(collection, pair))
        if file is not None:
            _take_file(collection, file)
        for pair in together:
            collection.together(*keys_from_texts(collection, pair))
        for pair in apart:
            collection.apart(*keys_from_texts(collection, pair))
        n_changes = collection.pairs.changes - before
        if n_changes:
            collection.save(tree)
        if listed:
            _list(collection)
    if changing and not quiet:
        saved = f"saved as {tree}" if n_changes else f"{tree} is unchanged"
        say(f"{count(n_changes, 'change')}, {count(len(collection.pairs), 'correction')}; {saved}")


def _take_file(collection: "Collection", file: str) -> None:
    from pathlib import Path

    from ..collection.intake import keys_from_texts
    from ..inputs.batches import InputError
    from ..inputs.pairs import read_pairs

    try:
        for pair in read_pairs(Path(file)):
            if pair.same is None:
                continue
            say_it = collection.together if pair.same else collection.apart
            try:
                say_it(*keys_from_texts(collection, (pair.a, pair.b)))
            except ValueError as error:
                raise InputError(f"line {pair.line}: {error}") from None
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _list(collection: "Collection") -> None:
    from ..outputs import open_table

    said = collection.corrections
    with open_table("-") as write:
        write(
            {
                "a": [correction.a for correction in said],
                "b": [correction.b for correction in said],
                "same": ["yes" if correction.kind == "together" else "no" for correction in said],
            }
        )
