"""Encoders that need no model: hashed character n-grams or words, weighted by rarity."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .._arguments import as_count
from .._kernels import hashing
from ..search.threads import count_jobs, run_tasks
from .characters import as_codes, pieces

DIMENSIONS = 256
_BUCKETS = 2**18
_UNIT = 1024
"""Weights are whole multiples of 1 / 1024, so that sums of them are exact."""


class Hashed:
    """Vectors from hashed features of texts, weighted by rarity and projected.

    Each feature adds its weight to 16 components of the vector, which are determined, along with
    their signs, by its hash. Vectors have norm one; texts without common features are nearly
    orthogonal. The vector of a text does not depend on other texts, batches or threads.

    After the encoder has `learned` word frequencies from texts, a feature that occurs in m of n
    texts has the weight 1 + ln((1 + n) / (1 + m)). Features in the same one of 262,144 buckets
    share a weight. Encoders are immutable: `learned` returns a new one.

    Case, normal forms and invisible marks make no difference. All texts without features, such as
    empty ones, get the same vector.

    Parameters
    ----------
    dimensions : int
        Length of the vectors, a multiple of 16.
    n_jobs : int, optional
        Threads: None means 1, -1 all cores. The result is the same.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    _count: ClassVar[Callable[..., None]]
    _project: ClassVar[Callable[..., None]]

    def __init__(self, dimensions: int = DIMENSIONS, *, n_jobs: int | None = None) -> None:
        self.dimensions = checked_dimensions(dimensions)
        self.n_jobs = n_jobs
        self.n_texts = 0
        """How many texts the weights were learned from."""
        self._weights = np.full(_BUCKETS, _UNIT, np.int32)

    def learned(self, texts: Iterable[str]) -> Self:
        """An encoder that knows from these texts, read once, how rare each feature is."""
        counting = hashing.Counting(np.zeros(_BUCKETS, np.int64), np.zeros(_BUCKETS, np.int64))
        n_texts = 0
        for piece in pieces(map(_checked, itertools.count(), texts)):
            type(self)._count(as_codes(piece), counting, n_texts + 1)
            n_texts += len(piece)
        weights = 1 + np.log((1 + n_texts) / (1 + counting.counts))
        return self._with(n_texts, np.rint(_UNIT * weights).astype(np.int32))

    def _with(self, n_texts: int, weights: NDArray[np.int32]) -> Self:
        twin = type(self)(self.dimensions, n_jobs=self.n_jobs)
        twin.n_texts, twin._weights = n_texts, weights
        return twin

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of texts, one row each."""
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        starts, tasks = 0, []
        for piece in pieces(map(_checked, itertools.count(), texts)):
            tasks.append(self._task(piece, vectors[starts : starts + len(piece)]))
            starts += len(piece)
        run_tasks(tasks, count_jobs(self.n_jobs))
        return vectors

    def _task(self, piece: list[str], rows: NDArray[np.float32]) -> Callable[[Any], None]:
        def encode_piece(_go_on: Any) -> None:
            projecting = hashing.Projecting(self._weights, np.empty(self.dimensions, np.int64))
            type(self)._project(as_codes(piece), projecting, rows)

        return encode_piece

    # Kept in files

    def stored(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All that makes up this encoder, as small values and columns of whole numbers."""
        commonest = int(np.bincount(self._weights).argmax())
        buckets = np.flatnonzero(self._weights != commonest)
        meta = {"name": self.name, "version": self.version, "dimensions": self.dimensions,
                "n_texts": self.n_texts, "weight": commonest}  # fmt: skip
        return meta, {"buckets": buckets, "weights": self._weights[buckets].astype(np.int64)}

    @classmethod
    def restored(cls, meta: Mapping[str, Any], columns: Mapping[str, Any]) -> Self:
        """The encoder that was stored; ValueError if there can be none such."""
        if meta["version"] != cls.version:
            raise ValueError(f"an encoder {cls.name!r} of version {meta['version']!r:.50}")
        buckets, given = np.asarray(columns["buckets"]), np.asarray(columns["weights"])
        numbers = np.concatenate([given, [meta["weight"]]])
        if (
            len(buckets) != len(given)
            or (np.diff(buckets, prepend=-1, append=_BUCKETS) <= 0).any()
            or numbers.dtype != np.int64
            or not ((numbers > 0) & (numbers < 2**20)).all()
        ):
            raise ValueError("an encoder with weights that make no sense")
        weights = np.full(_BUCKETS, meta["weight"], np.int32)
        weights[buckets] = given
        n_texts = as_count("n_texts", meta["n_texts"], least=0)
        return cls(meta["dimensions"])._with(n_texts, weights)

    def __repr__(self) -> str:
        learned = f"learned from {self.n_texts:,} texts" if self.n_texts else "nothing learned"
        return f"<{type(self).__name__}({self.dimensions}): {learned}>"


class Chars(Hashed):
    """N-grams of two to four characters: for names, addresses and codes with typing errors.

    Word boundaries, at white space, count as characters.

    Examples
    --------
    >>> from perchtree.encode import Chars
    >>> texts = ["Ann Miller", "Anne Miler", "Bob Stone"]
    >>> vectors = Chars().learned(texts).encode(texts)
    >>> vectors.shape
    (3, 256)
    >>> bool(vectors[0] @ vectors[1] > 0.4 > vectors[0] @ vectors[2])
    True
    """

    name = "chars"
    _count, _project = staticmethod(hashing.count_pieces), staticmethod(hashing.project_pieces)


class Words(Hashed):
    """Words and pairs of neighbouring words: for titles, questions, records.

    A word is a run of letters and digits of any script. Symbols, such as emoji, and characters of
    scripts without spaces are words of their own; other punctuation is ignored.
    """

    name = "words"
    _count, _project = staticmethod(hashing.count_words), staticmethod(hashing.project_words)


def checked_dimensions(dimensions: int) -> int:
    """A length that vectors can have."""
    checked = as_count("dimensions", dimensions, most=2**15)
    if checked % hashing.PLACES:
        raise ValueError(f"dimensions must be a multiple of {hashing.PLACES}, got {checked}")
    return checked


def _checked(place: int, text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"text {place} is {text!r:.50}: expected a string")
    return text
