"""Columns of numbers or texts, one value per row, as arrays of a file.

Numbers are an array NAME of int64 or float64. Texts are two: NAME.bytes, all of them in UTF-8 one
after the other, and NAME.ends, where each ends. If values are missing, NAME.gaps has a 1 for each
row without one, which has the number 0 or an empty text; so a missing text is not an empty one.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CorruptFileError
from .container import Reader

Column = Sequence[Any] | NDArray[Any]

_BYTES, _ENDS, _GAPS = _SUFFIXES = (".bytes", ".ends", ".gaps")
_NUMBERS = {"i": np.int64, "u": np.int64, "b": np.int64, "f": np.float64}
# UTF-8 has no code for half of a surrogate pair, which JSON lines and file names can contain.
_SURROGATES = "surrogatepass"


def pack(name: str, column: Column) -> dict[str, NDArray[Any]]:
    """The arrays that hold a column. None stands for a missing value.

    Values that are all numbers and fit into int64 or float64 stay numbers; otherwise all of them
    become texts. Truth values become 0 and 1. What pandas marks as missing is missing.
    """
    if name.endswith(_SUFFIXES):
        raise ValueError(f"a column cannot be called {name!r}: choose a name without this ending")
    if isinstance(column, np.ndarray) and column.dtype.kind in _NUMBERS and _fits(column):
        return {name: column.astype(_NUMBERS[column.dtype.kind], copy=False)}
    values = _plain(column.tolist() if hasattr(column, "tolist") else list(column))
    gaps = np.array([value is None for value in values], np.uint8)
    packed = {name + _GAPS: gaps} if gaps.any() else {}
    dtype = _number_type([value for value in values if value is not None])
    if dtype is not None:
        numbers = np.array([0 if value is None else value for value in values], dtype)
        return {name: numbers} | packed
    return _pack_texts(name, ["" if value is None else str(value) for value in values]) | packed


def unpack(reader: Reader, section: str, name: str) -> NDArray[Any] | list[Any]:
    """A column again: an array of numbers, or a list of texts.

    A column with missing values is a list, of numbers or texts, with None in their place.
    """
    stored = reader.names(section)
    values: NDArray[Any] | list[Any]
    if name in stored:
        values = _vector(reader, section, name, ("<i8", "<f8"))
    else:
        values = _unpack_texts(reader, section, name)
    if name + _GAPS not in stored:
        return values
    gaps = _vector(reader, section, name + _GAPS, ("|u1",))
    if len(gaps) != len(values) or (gaps > 1).any():
        raise CorruptFileError(f"{reader.path} has missing values that make no sense: {name!r}")
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    pairs = zip(gaps.tolist(), plain, strict=True)
    return [None if gap else value for gap, value in pairs]


def column_names(reader: Reader, section: str) -> list[str]:
    """Names of the columns of a section that has nothing but columns."""
    return list(dict.fromkeys(_column_of(array) for array in reader.names(section)))


def _column_of(array: str) -> str:
    """The column to which an array belongs."""
    for suffix in _SUFFIXES:
        if array.endswith(suffix):
            return array.removesuffix(suffix)
    return array


def _fits(numbers: NDArray[Any]) -> bool:
    """Whether no number is beyond int64; of the others, float64 has the nearest."""
    return numbers.dtype != np.uint64 or bool((numbers < 2**63).all())


def _plain(values: list[Any]) -> list[Any]:
    """Python's own objects, with None for what pandas marks as missing."""
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in values}
    marks = {kind for kind in kinds if kind.__name__ in ("NAType", "NaTType")}
    if not marks and not {str, float} <= kinds:
        return values
    # Among texts, NaN is such a mark as well; among numbers it is a number.
    return [
        None if type(value) in marks or (str in kinds and value != value) else value
        for value in values
    ]


def _number_type(values: list[Any]) -> type[np.generic] | None:
    """The type of number that can hold all values exactly; None if there is none."""
    kinds = {type(value) for value in values}
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return np.int64
    if kinds == {bool}:
        return np.int64
    if kinds in ({float}, {float, bool}):
        return np.float64
    if kinds == {int, float} and all(abs(value) <= 2**53 for value in values if type(value) is int):
        return np.float64
    return None


def _pack_texts(name: str, texts: list[str]) -> dict[str, NDArray[Any]]:
    joined = "".join(texts)
    # Where every character is one byte, the texts need not be encoded one by one.
    lengths = (
        [len(text) for text in texts]
        if joined.isascii()
        else [len(text.encode(errors=_SURROGATES)) for text in texts]
    )
    return {
        name + _BYTES: np.frombuffer(joined.encode(errors=_SURROGATES), np.uint8),
        name + _ENDS: np.cumsum(lengths, dtype=np.int64),
    }


def _unpack_texts(reader: Reader, section: str, name: str) -> list[str]:
    stored = reader.names(section)
    if name + _BYTES not in stored or name + _ENDS not in stored:
        raise CorruptFileError(f"{reader.path} has only half of a column of texts: {name!r}")
    whole = _vector(reader, section, name + _BYTES, ("|u1",)).tobytes()
    ends = _vector(reader, section, name + _ENDS, ("<i8",))
    edges = np.concatenate([[0], ends])
    if (edges[1:] < edges[:-1]).any() or edges[-1] != len(whole):
        raise CorruptFileError(f"{reader.path} has texts without an end: {name!r}")
    places = edges.tolist()
    try:
        return [
            whole[start:end].decode(errors=_SURROGATES) for start, end in itertools.pairwise(places)
        ]
    except UnicodeDecodeError:
        raise CorruptFileError(f"{reader.path} has texts that are not UTF-8: {name!r}") from None


def _vector(reader: Reader, section: str, name: str, dtypes: Sequence[str]) -> NDArray[Any]:
    part = reader.part(section, name)
    if len(part.shape) != 1 or part.dtype not in dtypes:
        raise CorruptFileError(f"{reader.path} has another shape or type of {name!r} than it needs")
    return reader.read(section, name)
