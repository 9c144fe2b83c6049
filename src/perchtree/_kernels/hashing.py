"""Features of texts as hashes, counted or projected one by one: no row is ever as wide as the
vocabulary.

A text is a run of code points. Whatever its features are (pieces of words, or words), each is a
32-bit hash that goes straight to `take`: into a table of counts, or onto a few of the places of a
vector, with signs that follow from the hash. Sums are of whole numbers, so they are exact: a vector
depends neither on the order of its terms nor on the processor.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import entry_point, kernel, specialise
from .schema import Counts, Doubles, Floats, Ints

SEPARATOR, LETTER, MARK, ALONE, OTHER = range(5)
"""What a character is: it separates words, is part of one, extends one, is one, or is ignored."""

PLACES = 16
"""Entries of a vector that one feature adds to, one in each of so many equal parts."""

PAIR_HALVINGS = 2
"""A pair of words counts a quarter of what a word as rare does: most pairs are in one text only.

With whole weights for pairs, purity was 0.45 instead of 0.58 (clinc150), 0.86 instead of 0.93
(hist50k, 8,000 rows each).
"""

_LOW = 0xFFFFFFFF
_SHORTEST, _LONGEST = 2, 4
"""Lengths of pieces of words, with one boundary counted on either side."""
_EMPTY = 0x5BD1E995
"""The only feature of a text that has no other."""
_BOUNDARY = 0x20


class Texts(NamedTuple):
    """Texts, one after the other.

    - `codes`: uint32 (n,), code points;
    - `ends`: int64 (m,), for each text the place where it ends;
    - `kinds`: uint8 (0x110000,), what each character is.
    """

    codes: NDArray[np.uint32]
    ends: Counts
    kinds: NDArray[np.uint8]


class Counting(NamedTuple):
    """How many texts contain a feature; features in the same bucket share counts.

    - `counts`: int64 (buckets,), a power of two of them;
    - `last`: int64 (buckets,), the last text that was counted there.
    """

    counts: Counts
    last: Counts


class Projecting(NamedTuple):
    """One vector in the making.

    - `weights`: int32 (buckets,), what a feature counts;
    - `sums`: int64 (d,).
    """

    weights: Ints
    sums: Counts


# Bound by `specialise`.
take: Callable[[Any, int, int, int], None]
each_feature: Callable[[Texts, int, int, int, Any], int]


@kernel
def mixed(number: int) -> int:
    """Scramble 32 bits; products may wrap around, which leaves the lower bits right."""
    number = (number ^ (number >> 16)) & _LOW
    number = (number * 0x7FEB352D) & _LOW
    number = number ^ (number >> 15)
    number = (number * 0x846CA68B) & _LOW
    return number ^ (number >> 16)


@kernel
def extended(feature: int, code: int) -> int:
    """The hash of a sequence with one more member."""
    return mixed(feature * 0x01000193 + code + 1)


@kernel
def count_feature(counting: Counting, text: int, feature: int, _halvings: int) -> None:
    bucket = feature & (counting.counts.shape[0] - 1)
    if counting.last[bucket] != text:
        counting.last[bucket] = text
        counting.counts[bucket] += 1


@kernel
def project_feature(projecting: Projecting, _text: int, feature: int, halvings: int) -> None:
    bucket = feature & (projecting.weights.shape[0] - 1)
    add_signed(projecting.sums, feature, projecting.weights[bucket] >> halvings)


@kernel
def add_signed(sums: NDArray[Any], feature: int, weight: Any) -> None:
    """Add a weight, with a sign each, to one place in each part of a vector."""
    width = sums.shape[0] // PLACES
    for pair in range(PLACES // 2):
        bits = mixed(feature + (pair + 1) * 0x9E3779B9)
        place = 2 * pair * width + (((bits & 0x7FFF) * width) >> 15)
        sums[place] += weight * (1 - ((bits >> 14) & 2))  # without a branch: half would be missed
        bits = bits >> 16
        place = (2 * pair + 1) * width + (((bits & 0x7FFF) * width) >> 15)
        sums[place] += weight * (1 - ((bits >> 14) & 2))


def each_piece(texts: Texts, text: int, start: int, stop: int, work: Any) -> int:
    """Take all pieces of the words of a text, whose boundaries count as characters."""
    n_features = 0
    end = start
    while start < stop:
        if texts.kinds[texts.codes[start]] == SEPARATOR:
            start += 1
            continue
        end = start
        while end < stop and texts.kinds[texts.codes[end]] != SEPARATOR:
            end += 1
        for first in range(start - 1, end):
            feature = 0
            for place in range(first, min(first + _LONGEST, end + 1)):
                inside = start <= place < end
                code = int(texts.codes[place]) if inside else _BOUNDARY
                feature = extended(feature, code)
                if place - first + 1 >= _SHORTEST:
                    take(work, text, feature, 0)
                    n_features += 1
        start = end
    return n_features


def each_word(texts: Texts, text: int, start: int, stop: int, work: Any) -> int:
    """Take all words of a text, and all pairs of neighbouring words."""
    n_words = 0
    before = 0
    place = start
    while place < stop:
        kind = texts.kinds[texts.codes[place]]
        word = extended(0, int(texts.codes[place]))
        place += 1
        if kind == LETTER:
            while place < stop and is_inside(texts.kinds[texts.codes[place]]):
                word = extended(word, int(texts.codes[place]))
                place += 1
        elif kind != ALONE:
            continue
        take(work, text, word, 0)
        if n_words > 0:
            take(work, text, extended(before, word), PAIR_HALVINGS)
        before = word
        n_words += 1
    return n_words


@kernel
def is_inside(kind: int) -> bool:
    """Whether a character goes on with the word before it."""
    return kind in (LETTER, MARK)


def count_texts(texts: Texts, counting: Counting, first_text: int) -> None:
    """Count, for each bucket, the texts with a feature in it; texts have numbers, from 1."""
    start = 0
    for row in range(texts.ends.shape[0]):
        stop = texts.ends[row]
        if each_feature(texts, first_text + row, start, stop, counting) == 0:
            take(counting, first_text + row, _EMPTY, 0)
        start = stop


def project_texts(texts: Texts, projecting: Projecting, rows: Floats) -> None:
    """Make the vector of each text, of norm one: `rows` (texts, d)."""
    start = 0
    for row in range(texts.ends.shape[0]):
        stop = texts.ends[row]
        projecting.sums[:] = 0
        n_features = each_feature(texts, row, start, stop, projecting)
        if n_features == 0 or squared_norm(projecting.sums) == 0:
            take(projecting, row, _EMPTY, 0)
        norm = np.sqrt(squared_norm(projecting.sums))
        for j in range(rows.shape[1]):
            rows[row, j] = projecting.sums[j] / norm
        start = stop


@kernel
def squared_norm(sums: Counts) -> float:
    total = 0.0
    for j in range(sums.shape[0]):
        total += np.float64(sums[j]) * np.float64(sums[j])
    return total


@entry_point
def project_sparse(
    starts: Counts, columns: Counts, values: Doubles, sums: Doubles, rows: Doubles
) -> None:
    """Project the rows of a sparse matrix; a column's number stands for its feature."""
    for row in range(rows.shape[0]):
        sums[:] = 0
        for entry in range(starts[row], starts[row + 1]):
            add_signed(sums, mixed(int(columns[entry]) + 1), values[entry])
        for j in range(rows.shape[1]):
            rows[row, j] = sums[j]


def make_kernels(each: Any) -> tuple[Any, Any]:
    """Compile what counts the features of texts, and what projects them."""
    counts = {"take": count_feature}
    projects = {"take": project_feature}
    count = specialise(count_texts, each_feature=kernel(specialise(each, **counts)), **counts)
    project = specialise(
        project_texts, each_feature=kernel(specialise(each, **projects)), **projects
    )
    return entry_point(count), entry_point(project)


count_pieces, project_pieces = make_kernels(each_piece)
count_words, project_words = make_kernels(each_word)
