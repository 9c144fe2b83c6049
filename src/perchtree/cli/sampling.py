"""sample: tables to experiment with."""

import click

from .options import FORCE
from .running import QuickCommand, count, say

_KINDS = ("people", "questions", "messages")


@click.command(cls=QuickCommand)
@click.argument("kind", type=click.Choice(_KINDS))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="-",
    help="A .csv, .tsv, .jsonl or .parquet file. [default: CSV on standard output]",
)
@click.option(
    "--rows",
    default=1000,
    show_default=True,
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Rows to make.",
)
@click.option("--seed", default=0, show_default=True, help="Seed for generating the rows.")
@FORCE
def sample(kind: str, output: str, rows: int, seed: int, force: bool) -> None:
    """Write a sample table to experiment with: people, questions or messages.

    people: records with typing errors, nicknames and missing fields, about three per person, for
    deduplication. questions: from customers of a shop, on eight topics. messages: from a few
    machines, with a new kind of problem halfway through. The last column is the true answer.

    \b
    Examples:
      perch sample people -o people.csv
      perch sample questions --rows 5000 -o questions.csv
    """
    from ..outputs import SUFFIXES, check_output, open_table
    from ..samples import SAMPLES

    if output != "-":
        check_output(output, SUFFIXES, force=force)
    with open_table(output) as write:
        write(SAMPLES[kind](rows, seed))
    if output != "-":
        say(f"{count(rows, 'row')} written to {output}")
