"""Encoders from other packages: ready-made models of meaning, each loaded when it is first used."""

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .interface import Encoder

_INSTEAD = "; --encode words and --encode chars need no model"


class Model:
    """A ready-made model of word or sentence embeddings, with vectors of norm one.

    A text without a direction, such as an empty one, gets the vector (1, 0, 0, ...).
    """

    def __init__(self, name: str, model: Any) -> None:
        self.name = name
        self._model = model

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts, one row each."""
        vectors = np.array(self._model(list(texts)), np.float32)
        norms = np.linalg.norm(vectors, axis=1)
        lost = ~(np.isfinite(norms) & (norms > 0))
        vectors[lost] = np.eye(1, vectors.shape[1], dtype=np.float32)
        norms[lost] = 1
        vectors /= norms[:, np.newaxis]
        return vectors

    def __repr__(self) -> str:
        return f"<Model({self.name!r})>"


def load_wordllama(name: str) -> Model:
    """The model that is part of the wheel of wordllama; nothing is fetched.

    Its own loader asks the network for the tokenizer, which the wheel has in another folder.
    """
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ImportError(f"wordllama is missing: pip install 'perchtree[wordllama]'{_INSTEAD}")
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(spec.origin).parent
    weights = folder / "weights" / "l2_supercat_256.safetensors"
    tokens = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    if not (weights.exists() and tokens.exists()):
        raise ImportError(f"this version of wordllama lacks its model: install 0.4{_INSTEAD}")
    (table,) = load_file(weights).values()
    table = table.astype(np.float32)
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def mean_of_tokens(texts: list[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), table.shape[1]), np.float32)
        for row, encoded in enumerate(tokenizer.encode_batch(texts, add_special_tokens=False)):
            if encoded.ids:
                rows[row] = table[np.minimum(encoded.ids, len(table) - 1)].mean(axis=0)
        return rows

    return Model(name, mean_of_tokens)


def load_model2vec(name: str) -> Model:
    """A static model of model2vec, by its name or folder."""
    package = _imported("model2vec")
    model = _fetched(name, package.StaticModel.from_pretrained)
    return Model(name, model.encode)


def load_sentence_transformers(name: str) -> Model:
    """A model of sentence-transformers, by its name or folder."""
    package = _imported("sentence_transformers", "sentence-transformers")
    model = _fetched(name, package.SentenceTransformer)
    return Model(name, lambda texts: model.encode(texts, show_progress_bar=False))


def load_object(name: str) -> Encoder:
    """The user's own encoder: `module:object`, where the object, or what it returns, has
    `encode`."""
    module_name, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ImportError(f"there is no encoder {name}: {error}") from None
    if isinstance(found, type) or not hasattr(found, "encode"):
        found = found() if callable(found) else found
    if not callable(getattr(found, "encode", None)):
        raise TypeError(f"{name} is no encoder: it needs a method encode(list of str) -> array")
    encoder: Encoder = found
    return encoder


def _imported(module: str, package: str = "") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        package = package or module
        raise ImportError(f"{package} is missing: pip install {package}{_INSTEAD}") from None


def _fetched(name: str, load: Any) -> Any:
    _, _, model = name.partition(":")
    if not model:
        raise ValueError(f"which model? {name.rstrip(':')}:NAME, NAME being its name or folder")
    try:
        return load(model)
    except Exception as error:  # whatever a download, or a file of others, can raise
        raise OSError(
            f"the model {model!r} cannot be loaded ({type(error).__name__}): check its name and "
            f"the network, or give a folder{_INSTEAD}"
        ) from None
