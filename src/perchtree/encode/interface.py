"""The interface of encoders, and how vectors are requested from them."""

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._validate import as_list


class Encoder(Protocol):
    """Anything that turns texts into vectors, one row each. It may have a `name`."""

    def encode(self, texts: list[str]) -> Any:
        """The vectors of texts: an array of numbers of shape (texts, dimensions)."""
        ...


@runtime_checkable
class Learner(Protocol):
    """An encoder that can learn from texts before it encodes them."""

    n_texts: int
    """How many texts it has learned from."""

    def learned(self, texts: Iterable[str]) -> "Encoder":
        """A new encoder that has learned from these texts."""
        ...

    def encode(self, texts: list[str]) -> Any: ...


def name_of(encoder: Encoder) -> str:
    """What files and messages call an encoder: its name, or where its class is."""
    name = getattr(encoder, "name", None)
    kind = type(encoder)
    return name if isinstance(name, str) else f"{kind.__module__}:{kind.__qualname__}"


def plain_texts(texts: Any) -> list[str]:
    """A column of any kind as a list of strings; what is missing is an empty text."""
    if isinstance(texts, str | bytes) or not hasattr(texts, "__len__"):
        raise TypeError(f"texts must be a list or an array of strings, got {texts!r:.100}")
    return ["" if text is None or text != text else str(text) for text in as_list(texts)]


def encode_texts(encoder: Encoder, texts: list[str]) -> NDArray[Any]:
    """Ask an encoder for the vectors of texts, and check the result."""
    vectors = np.asarray(encoder.encode(texts))
    if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.dtype.kind not in "iuf":
        raise ValueError(
            f"the encoder {name_of(encoder)} made {vectors.dtype} of shape {vectors.shape} of "
            f"{len(texts)} texts: expected one row of numbers per text"
        )
    return vectors
