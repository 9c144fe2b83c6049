"""`fit` and `add`, for use from Python."""

from pathlib import Path
from typing import Any

from .._progress import progress
from ..collection import Collection
from ..collection.intake import Stop, only_texts
from ..encode.interface import Encoder, Learner, plain_texts
from ..inputs.batches import Columns
from ..inputs.stores import is_address, whole_name
from .cluster import connected
from .fitting import Asked, Fit, check_settings
from .job import Input
from .running import Figures


def fit(
    source: str | Path,
    *,
    into: Collection | None = None,
    ray: str = "auto",
    encoder: str | Encoder | None = None,
    features: tuple[str, ...] = (),
    keys: str | None = None,
    classes: str | None = None,
    texts: str | tuple[str, ...] = (),
    shuffle: int | None = None,
    skip_bad: bool = False,
    work: str | Path | None = None,
    block_rows: int | None = None,
    verbose: bool = False,
    **settings: Any,
) -> Collection:
    """Make a collection of the rows of files that all machines of a Ray cluster see.

    The tree is the one that a single machine makes, node for node.

    Parameters
    ----------
    source : path
        A `.npy` or Parquet file, or a folder of them, which are taken in the order of their names.
        Parquet files may also be in an object store (s3://BUCKET/FOLDER) that pyarrow can reach.
    into : Collection, optional
        Add the rows to this one, which keeps its settings and its encoder; see also `add`.
    ray : str
        "auto" for the cluster that this machine is part of, HOST:PORT for another one, "local" for
        one that is started here and ends with this call. If this process is connected to a cluster
        already, that is used.
    encoder : str or Encoder, optional
        As of `Collection`: vectors are made of the texts, by the workers.
    features, keys, classes, texts : names of columns
        Of Parquet files: all columns that are not named otherwise are features.
    shuffle : int, optional
        Seed of a random order, for `.npy` files. Row numbers then become the keys.
    skip_bad : bool
        Leave out rows that cannot be used, instead of raising an error.
    work : path, optional
        A folder that all machines see, for finished parts: if the same call is repeated after an
        interruption, it goes on from there. By default beside the source, `SOURCE.work`. It is
        removed at the end.
    block_rows : int, optional
        Rows that are searched together. The tree does not depend on it.
    verbose : bool
        Show a progress bar.
    **settings
        Those of `Collection`.

    Raises
    ------
    ConnectionError
        If there is no cluster.
    ValueError
        If the input cannot be used, or machines are not alike; the message says what to do.
    """
    if into is None:
        collection = Collection(encoder=encoder, **settings)
    elif encoder is not None or settings:
        names = ", ".join([*settings, *(["encoder"] if encoder is not None else [])])
        raise ValueError(f"the collection has settings of its own: leave out {names}")
    else:
        collection = into
    check_settings(collection.settings)
    name = whole_name(str(source))
    known = tuple(collection.feature_names or ())
    columns = Columns(
        tuple(features), keys, classes, texts, known, only_texts=collection.encoder is not None
    )
    input = Input(name, columns, None, shuffle)
    _learn(collection, input)
    if collection.encoder is not None:
        input = input._replace(columns=columns._replace(only_texts=True))
    if work is None:
        if is_address(name):
            raise ValueError("name a folder that all machines see, by work")
        work = f"{name}.work"
    asked = Asked(input, Path(work), skip_bad=skip_bad, block_rows=block_rows)
    with connected(ray, collection.settings.n_jobs) as workers:
        grown = Fit(collection, asked, workers)
        with progress(grown.size or 0, verbose) as bar:
            shown = 0

            def show(_figures: Figures, next_id: int) -> None:
                nonlocal shown
                bar.update(next_id - first - shown)
                shown = next_id - first

            first = collection.next_id
            grown.show = show
            stop = Stop()
            grown.run(stop)
        if stop.asked:
            raise KeyboardInterrupt(
                f"{collection.next_id - first:,} rows are in, and the collection is whole; the "
                "same call goes on from its last snapshot"
            )
        grown.done()
    return collection


def add(collection: Collection, source: str | Path, **options: Any) -> None:
    """Add the rows of files to a collection, by the workers of a Ray cluster.

    The options are those of `fit`, without an encoder and settings: a collection has its own.
    """
    fit(source, into=collection, **options)


def _learn(collection: Collection, input: Input) -> None:
    """Let an encoder that learns see all texts once, as on one machine."""
    source = input.open()
    batches = source.between(0, source.size or 0, 10_000)
    first = next(batches, None)
    if len(collection) or first is None:
        return
    if collection.encoder is None and only_texts(first):
        collection.use_encoder("auto")
    encoder = collection.encoder
    if isinstance(encoder, Learner) and encoder.n_texts == 0:
        again = source.between(0, source.size or 0, 10_000)
        texts = (text for batch in again for text in plain_texts(batch.companions["texts"]))
        collection.encoder = encoder.learned(texts)
