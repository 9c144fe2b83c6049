"""encode: the step from texts to vectors by itself."""

from typing import TYPE_CHECKING, Any

import click

from .options import FORCE, INPUT, INPUT_COLUMNS, N_JOBS, QUIET, Reading
from .patience import patience
from .running import Command, count, say, written_to

if TYPE_CHECKING:
    from ..inputs.batches import Batch


@click.command(cls=Command)
@INPUT
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="A .parquet or .jsonl file with a column of lists, a .csv or .tsv file (optionally .gz) "
    "with one column per dimension, or - for CSV on standard output.",
)
@click.option(
    "--tree",
    type=click.Path(exists=True, dir_okay=False),
    help="Use the encoder of this tree.",
)
@N_JOBS
@INPUT_COLUMNS
@FORCE
@QUIET
def encode(
    input: str,
    output: str,
    tree: str | None,
    n_jobs: int | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Turn the texts of INPUT into vectors and write them. `perch fit` does this automatically.

    The output has each row's id (--id, or the row number), its text, its class if --class is given,
    and its vector.

    \b
    Examples:
      perch encode titles.csv -o vectors.parquet --id id --text title --encode words
      perch fit vectors.parquet -o titles.perch --id id --text text --features vector
    """
    reading = Reading.taken_from(options)
    if not reading.text:
        raise click.UsageError("name the column with the texts: --text NAME")
    if tree is None and reading.encode is None:
        reading = reading._replace(encode="auto")

    from ..collection import Collection
    from ..collection.intake import check_features, refuse_bad
    from ..inputs.batches import InputError
    from ..outputs import SUFFIXES, check_output, open_table
    from .encoding import open_for, say_encoder
    from .opening import open_collection

    if output != "-":
        check_output(output, SUFFIXES, force=force, inputs=[input])
    collection = Collection(n_jobs=n_jobs) if tree is None else open_collection(tree, n_jobs)
    source = open_for(collection, reading, input, quiet=quiet)
    in_lists = output.lower().removesuffix(".gz").endswith((".parquet", ".jsonl"))
    n_rows, n_bad = 0, 0
    try:
        with open_table(output) as write:
            for batch in source.batches(reading.batch):
                if not reading.skip_bad:
                    refuse_bad(batch)
                n_bad += len(batch.bad)
                if len(batch.rows):
                    check_features(collection, batch)
                    n_rows += len(batch.rows)
                    with patience("encoding (and compiling, the first time)", quiet=quiet):
                        vectors = _vectors(collection, batch)
                    write(_as_table(batch, vectors, in_lists))
            if n_rows == 0:
                raise InputError("there are no rows that can be used")
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    if n_bad:
        say(f"{count(n_bad, 'bad row')} skipped")
    if not quiet:
        if source.live:
            say_encoder(collection, reading)
        say(f"{count(n_rows, 'row')}; {written_to(output)}")


def _vectors(collection: Any, batch: "Batch") -> Any:
    """Vectors of a batch; from the first one of a stream the encoder learns."""
    from ..encode.interface import Learner, plain_texts

    encoder, texts = collection.encoder, batch.companions["texts"]
    if isinstance(encoder, Learner) and encoder.n_texts == 0:
        collection.encoder = encoder.learned(plain_texts(texts))
    return collection.encode(texts)


def _as_table(batch: "Batch", vectors: Any, in_lists: bool) -> dict[str, Any]:
    own = batch.companions
    table = {"id": own.get("keys", batch.rows), "class": own.get("classes"), "text": own["texts"]}
    table = {name: column for name, column in table.items() if column is not None}
    if in_lists:
        return table | {"vector": vectors}
    return table | {f"v{place}": column for place, column in enumerate(vectors.T)}
