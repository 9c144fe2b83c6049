"""Vectors from the texts of an input: which encoder, and a first pass in which it learns."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from .options import Reading
from .patience import COMPILING, patience
from .running import count, say

if TYPE_CHECKING:
    from ..collection import Collection
    from ..inputs.batches import Batch, Source

_FEW = 1000
"""Texts of a stream from which little can be learned."""


def open_for(
    collection: "Collection",
    reading: Reading,
    name: str,
    shuffle: int | None = None,
    *,
    quiet: bool = True,
) -> "Source":
    """Open an input whose rows go into a collection, or are compared with its records.

    If vectors are to be made of the texts of a file, the collection's encoder has learned from all
    of them afterwards. From a stream it learns when the first rows are added.
    """
    if reading.encode is not None and not (len(collection) and reading.encode == "auto"):
        collection.use_encoder(reading.encode)
    if len(collection) == 0 and reading.text and _can_be_read_twice(name):
        _learn(collection, reading, name, quiet)
    only_texts = collection.encoder is not None
    return reading.open(name, shuffle, collection.feature_names, only_texts=only_texts)


def _can_be_read_twice(name: str) -> bool:
    from ..inputs.stores import is_address

    return is_address(name) or (name != "-" and (Path(name).is_file() or Path(name).is_dir()))


def _learn(collection: "Collection", reading: Reading, name: str, quiet: bool) -> None:
    """Read all texts once, if vectors are to be made of them."""
    from ..encode.hashed import Hashed
    from ..encode.interface import Learner
    from ..inputs.batches import InputError

    source = reading.open(name)
    batches = source.batches(reading.batch)
    first = next(batches, None)
    if first is None or (reading.encode is None and first.X.shape[1]):
        return
    if collection.encoder is None:
        collection.use_encoder("auto")
    if isinstance(collection.encoder, Hashed):
        with patience(COMPILING, quiet=quiet):
            collection.encoder.learned([""])
    if isinstance(collection.encoder, Learner):
        with _shown_learning(source, quiet) as show:
            texts = _texts(reading, chain([first], batches), show)
            try:
                collection.encoder = collection.encoder.learned(texts)
            except InputError as error:
                raise InputError(f"{source.name}: {error}") from None
    if not quiet:
        say_encoder(collection, reading)


def _texts(
    reading: Reading, batches: "Iterable[Batch]", show: "Callable[[Batch], None]"
) -> Iterator[str]:
    from ..collection.intake import refuse_bad
    from ..encode.interface import plain_texts

    for batch in batches:
        if not reading.skip_bad:
            refuse_bad(batch)
        yield from plain_texts(batch.companions["texts"])
        show(batch)


@contextlib.contextmanager
def _shown_learning(source: "Source", quiet: bool) -> "Iterator[Callable[[Batch], None]]":
    from .progress import bar

    if quiet or not sys.stderr.isatty():
        yield lambda _batch: None
        return
    with bar(source.size, "learning") as (progress, task):
        yield lambda batch: progress.update(task, completed=batch.done, figures="word frequencies")


def say_encoder(collection: "Collection", reading: Reading) -> None:
    """Say how vectors were made, and from how many texts that was learned."""
    from ..encode.choosing import describe_choice
    from ..encode.hashed import Hashed
    from ..encode.interface import name_of

    encoder = collection.encoder
    if encoder is None:
        return
    told = f"making vectors from texts with the encoder {name_of(encoder)}"
    if isinstance(encoder, Hashed):
        if reading.encode in (None, "auto"):
            told += f", because {describe_choice(encoder)} (see --encode)"
        told += f"; learned word frequencies from {count(encoder.n_texts, 'text')}"
    say(told)


def warn_of_small_sample(collection: "Collection") -> None:
    """Say so if an encoder had only the first few rows of a stream to learn from."""
    n_texts = getattr(collection.encoder, "n_texts", None)
    if n_texts is not None and n_texts < min(_FEW, len(collection)):
        say(
            f"warning: word frequencies were learned only from the first {count(n_texts, 'text')} "
            "of the stream; to learn from more, fit a file of texts first and add the stream to it"
        )
