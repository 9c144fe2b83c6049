"""Texts as code points, such that texts of the same characters are the same."""

import functools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .._kernels.hashing import ALONE, LETTER, MARK, OTHER, SEPARATOR, Texts

_CHARACTERS = 0x110000
_PIECE = 2**20
"""Characters that are looked at together; a longer text is a piece of its own."""
_MOST = 2**14
"""Texts that are looked at together."""

_KINDS = {"Z": SEPARATOR, "L": LETTER, "N": LETTER, "M": MARK, "S": ALONE}
"""By the first letter of a character's category in Unicode."""

_WITHOUT_SPACES = [(0x3041, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
                   (0x20000, 0x323AF)]  # fmt: skip
"""Kana and ideographs, of which each counts as a word."""


@functools.cache
def kinds_of_characters() -> NDArray[np.uint8]:
    """What each character is to a text: a letter, a separator, ..."""
    category = unicodedata.category
    kinds = np.fromiter(
        (_KINDS.get(category(chr(code))[0], OTHER) for code in range(_CHARACTERS)), np.uint8
    )
    kinds[:32] = kinds[127:160] = SEPARATOR  # control characters: tabs, ends of lines, NUL
    for first, last in _WITHOUT_SPACES:
        kinds[first : last + 1] = ALONE
    return kinds


@functools.cache
def _invisible() -> dict[int, None]:
    """Characters that only say how others are shown, such as marks of direction."""
    marked = (code for code in range(_CHARACTERS) if unicodedata.category(chr(code)) == "Cf")
    return dict.fromkeys(marked)


def folded(text: str) -> str:
    """A text in lower case; canonically equivalent texts (NFC, NFD) become equal."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold().translate(_invisible())


def as_codes(texts: Sequence[str]) -> Texts:
    """Folded texts as kernels take them."""
    parts = list(map(folded, texts))
    codes = np.frombuffer("".join(parts).encode("utf-32-le", "surrogatepass"), "<u4")
    ends = np.cumsum(list(map(len, parts)), dtype=np.int64)
    return Texts(codes.astype(np.uint32, copy=False), ends, kinds_of_characters())


def pieces(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts, in order, in lists of bounded length."""
    piece: list[str] = []
    n_characters = 0
    for text in texts:
        if piece and (n_characters + len(text) > _PIECE or len(piece) == _MOST):
            yield piece
            piece, n_characters = [], 0
        piece.append(text)
        n_characters += len(text)
    if piece:
        yield piece
