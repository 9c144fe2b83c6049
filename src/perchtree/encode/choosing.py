"""Chooses an encoder for texts if the user has named none."""

import itertools
from collections.abc import Iterable, Sequence
from typing import NoReturn

import numpy as np

from .hashed import DIMENSIONS, Chars, Hashed, Words

LONG = 120
"""Characters in the median from which texts are told apart by words rather than by their pieces.

Measured on clinc150 and hist50k, with one or several of their texts of one class joined
(docs/text.md): up to 55 characters pieces of words were better, by 0.02 to 0.04 of purity; from
160 on words were as good or better, by 0.01; in between neither is better on both.
"""

_SAMPLE = 1000


def choose_encoder(texts: Sequence[str]) -> type[Hashed]:
    """The kind of encoder for texts like these, of which the first ones are looked at."""
    lengths = [len(text) for text in texts[:_SAMPLE]]
    return Words if lengths and np.median(lengths) > LONG else Chars


def describe_choice(encoder: Hashed) -> str:
    """Why `choose_encoder` has chosen this one."""
    than = "more than" if isinstance(encoder, Words) else "at most"
    return f"half of them have {than} {LONG} characters"


class Auto:
    """Becomes the encoder that suits the texts it learns from."""

    name = "auto"
    n_texts = 0

    def __init__(self, dimensions: int = DIMENSIONS, *, n_jobs: int | None = None) -> None:
        self.dimensions, self.n_jobs = dimensions, n_jobs

    def learned(self, texts: Iterable[str]) -> Hashed:
        """The encoder chosen for these texts, which has learned from them."""
        rest = iter(texts)
        first = list(itertools.islice(rest, _SAMPLE))
        encoder = choose_encoder(first)(self.dimensions, n_jobs=self.n_jobs)
        return encoder.learned(itertools.chain(first, rest))

    def encode(self, _texts: list[str]) -> NoReturn:
        """Not possible before it has learned."""
        raise ValueError("nothing is chosen yet: take what `learned(texts)` returns")
