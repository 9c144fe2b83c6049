"""Encoders by name, and how they are stored in files."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .choosing import Auto
from .hashed import DIMENSIONS, Chars, Hashed, Words
from .interface import Encoder, encode_texts, name_of
from .models import load_model2vec, load_object, load_sentence_transformers, load_wordllama

MAKERS: dict[str, type[Hashed] | type[Auto]] = {"chars": Chars, "words": Words, "auto": Auto}
BUILT_IN: dict[str, type[Hashed]] = {"chars": Chars, "words": Words}
LOADERS = {
    "wordllama": load_wordllama,
    "model2vec": load_model2vec,
    "sentence-transformers": load_sentence_transformers,
}
KINDS = "auto, chars, words, wordllama, model2vec:NAME, sentence-transformers:NAME, module:object"

_PROBE = "A text by which an encoder is recognised: 42"


def make_encoder(given: str | Encoder, n_jobs: int | None = None) -> Encoder:
    """An encoder by its name, such as "words" or "words:512"; any other encoder as it is."""
    if not isinstance(given, str):
        if not callable(getattr(given, "encode", None)):
            raise TypeError(
                f"{given!r:.100} is no encoder: give a name ({KINDS}), or an object with a method "
                "encode(list of str) -> array"
            )
        return given
    kind, _, rest = given.partition(":")
    if kind in MAKERS:
        if rest and not rest.isdecimal():
            raise ValueError(f"{given}: after the colon comes the number of dimensions")
        return MAKERS[kind](int(rest or DIMENSIONS), n_jobs=n_jobs)
    if kind in LOADERS:
        return LOADERS[kind](given)
    if rest:
        return load_object(given)
    raise ValueError(f"there is no encoder {given!r:.100}: there are {KINDS}")


class Remembered:
    """An encoder of which a file knows only the name and the vector of one text.

    No file may choose what is imported or fetched: the user has to name such an encoder again. A
    model that comes with an installed package is loaded when it is needed.
    """

    def __init__(self, name: str, probe: NDArray[np.float64]) -> None:
        self.name, self.probe = name, probe
        self._model: Encoder | None = None

    def encode(self, texts: list[str]) -> Any:
        """The vectors of texts, if the encoder is at hand."""
        if self._model is None:
            if self.name != "wordllama":
                raise ValueError(
                    f"these vectors were made by the encoder {self.name}: give it again, by "
                    f"Collection.open(path, encoder=...) or --encode"
                )
            self._model = self.recognised(load_wordllama(self.name))
        return self._model.encode(texts)

    def recognised(self, encoder: Encoder) -> Encoder:
        """The encoder, if it still makes the same vectors; otherwise a ValueError."""
        found = encode_texts(encoder, [_PROBE])[0]
        if found.shape != self.probe.shape or not np.allclose(found, self.probe, atol=1e-3):
            raise ValueError(
                f"the encoder {self.name} makes other vectors now than when this file was made: "
                "use the same model, or fit again"
            )
        return encoder


def same_encoder(known: Encoder, given: str | Encoder) -> Encoder:
    """The encoder to continue with if a user names one for vectors that already have one."""
    wanted = make_encoder(given)
    if name_of(wanted) != name_of(known):
        raise ValueError(
            f"these vectors were made by the encoder {name_of(known)}, not by {name_of(wanted)}: "
            "leave it out, or begin anew"
        )
    return known.recognised(wanted) if isinstance(known, Remembered) else known


def store_encoder(encoder: Encoder) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a file keeps of an encoder: small values, and columns."""
    if isinstance(encoder, Hashed):
        return encoder.stored()
    if isinstance(encoder, Remembered):
        return {"name": encoder.name}, {"probe": encoder.probe}
    probe = encode_texts(encoder, [_PROBE])[0].astype(np.float64)
    return {"name": name_of(encoder)}, {"probe": probe}


def restore_encoder(meta: Mapping[str, Any], columns: Mapping[str, Any]) -> Encoder:
    """The encoder that a file keeps; ValueError if it makes no sense."""
    try:
        name = meta["name"]
        if not isinstance(name, str):
            raise TypeError
        if name in BUILT_IN:
            return BUILT_IN[name].restored(meta, columns)
        return Remembered(name, np.asarray(columns["probe"], np.float64))
    except (KeyError, TypeError, IndexError, OverflowError):
        raise ValueError("an encoder that makes no sense") from None
