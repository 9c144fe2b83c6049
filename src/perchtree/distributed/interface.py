"""`fit` and `add`, for use from Python."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .._progress import progress
from ..collection import Collection
from ..collection.intake import Stop, only_texts
from ..encode.interface import Learner, plain_texts
from ..inputs.batches import Columns
from ..inputs.stores import is_address, whole_name
from .cluster import connected
from .fitting import Asked, Fit, check_settings
from .job import Input
from .running import Figures


def fit(source: str | Path, *, ray: str = "auto", **options: Any) -> Collection:
    """Make a collection of the rows of files that all machines of a Ray cluster see.

    The tree is the one that a single machine makes, node for node.

    Parameters
    ----------
    source : path
        A `.npy` or Parquet file, or a folder of them, as for `add`.
    ray : str
        The cluster, as for `add`.
    **options
        Those of `add`; `encoder` and the settings of `Collection`.

    Returns
    -------
    Collection
    """
    defaults = add.__kwdefaults__ or {}
    of_add = {name: options.pop(name) for name in defaults if name in options}
    collection = Collection(**options)
    add(collection, source, ray=ray, **of_add)
    return collection


def add(
    collection: Collection,
    source: str | Path,
    *,
    ray: str = "auto",
    features: tuple[str, ...] = (),
    keys: str | None = None,
    classes: str | None = None,
    texts: str | tuple[str, ...] = (),
    shuffle: int | None = None,
    skip_bad: bool = False,
    work: str | Path | None = None,
    block_rows: int | None = None,
    verbose: bool = False,
) -> None:
    """Add the rows of files that all machines of a Ray cluster see to a collection.

    The tree is the one that a single machine makes, node for node.

    Parameters
    ----------
    collection : Collection
        If it has an encoder, workers make vectors of the texts.
    source : path
        A `.npy` or Parquet file, or a folder of them, which are taken in the order of their names.
        Parquet files may also be in an object store (s3://BUCKET/FOLDER) that pyarrow can reach.
    ray : str
        "auto" for the cluster that this machine is part of, HOST:PORT for another one, "local" for
        one that is started here and ends with this call. If this process is connected to a cluster
        already, that is used.
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

    Raises
    ------
    ConnectionError
        If there is no cluster.
    ValueError
        If the input cannot be used, or machines are not alike; the message says what to do.
    KeyboardInterrupt
        After an interruption: rows that are in stay in, and the same call inserts the others.
    """
    check_settings(collection.settings)
    name = whole_name(str(source))
    if work is None and is_address(name):
        raise ValueError("name a folder that all machines see, by work")
    columns = Columns(tuple(features), keys, classes, texts, tuple(collection.feature_names or ()))
    input = _learned(collection, Input(name, columns, None, shuffle))
    asked = Asked(input, Path(work or f"{name}.work"), skip_bad=skip_bad, block_rows=block_rows)
    stop = Stop()
    with connected(ray, collection.settings.n_jobs) as workers:
        grown = Fit(collection, asked, workers)
        with _shown(collection, grown.size or 0, verbose) as grown.show:
            grown.run(stop)
    if stop.asked:
        raise KeyboardInterrupt(
            f"there are {len(collection):,} points now: the same call inserts the other rows"
        )
    grown.done()


@contextlib.contextmanager
def _shown(
    collection: Collection, n_rows: int, verbose: bool
) -> Iterator[Callable[[Figures, int], None]]:
    """A bar that shows how many rows are in, if it is wanted."""
    shown = collection.next_id
    with progress(n_rows, verbose) as bar:

        def show(_figures: Figures, next_id: int) -> None:
            nonlocal shown
            bar.update(next_id - shown)
            shown = next_id

        yield show
        bar.update(collection.next_id - shown)


def _learned(collection: Collection, input: Input) -> Input:
    """The input as the collection reads it; its encoder has seen all texts once if it learns, as
    on one machine."""
    if len(collection) == 0:
        source = _read_by(collection, input).open()
        first = next(source.between(0, source.size or 0, 10_000), None)
        if first is not None and collection.encoder is None and only_texts(first):
            collection.use_encoder("auto")
        encoder = collection.encoder
        if isinstance(encoder, Learner) and encoder.n_texts == 0:
            batches = source.between(0, source.size or 0, 10_000)
            texts = (text for batch in batches for text in plain_texts(batch.companions["texts"]))
            collection.encoder = encoder.learned(texts)
    return _read_by(collection, input)


def _read_by(collection: Collection, input: Input) -> Input:
    """The input without features, if vectors are made of the texts."""
    is_encoded = collection.encoder is not None
    return input._replace(columns=input.columns._replace(only_texts=is_encoded))
