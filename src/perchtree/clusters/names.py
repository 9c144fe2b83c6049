"""Keywords of nodes and clusters: words that are more frequent there than among all texts.

Class-based TF-IDF: of a node with n texts, c of which contain a word that C of all N texts contain,
the word's score is

    (c / n) * ln((c / n) / (C / N)) * ln(N / C),

its share in the node, weighted by how much larger it is than its share in all texts, and by its
rarity. A word that is common everywhere has a ratio near one and little weight, and a rare word of
one record has a small share: neither wins. Counts of a node are the sums of its children's, so
every node of a tree can be named.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w(?:[\w'\u2019]*\w)?")


def words_of(text: str) -> list[str]:
    """The words of a text, each once, in the order in which they first appear."""
    return list(dict.fromkeys(_WORD.findall(unicodedata.normalize("NFC", text).casefold())))


class Name(NamedTuple):
    """What a cluster is about."""

    words: tuple[str, ...]
    """Its keywords, best first."""
    exemplar: str | None
    """The text of a record close to its mean."""

    def __str__(self) -> str:
        return ", ".join(self.words) or str(self.exemplar)


class Terms:
    """Which words each text has; texts are known by their position, and can only be added."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._rows: list[NDArray[np.int32]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def extend(self, texts: Iterable[str | None]) -> None:
        """Add texts; one that is missing has no words."""
        for text in texts:
            numbers = []
            for word in words_of("" if text is None else str(text)):
                number = self._numbers.setdefault(word, len(self.words))
                if number == len(self.words):
                    self.words.append(word)
                numbers.append(number)
            self._rows.append(np.array(numbers, np.int32))

    def counts(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each word, how many of these texts have it."""
        rows = [self._rows[place] for place in places.tolist()]
        flat = np.concatenate(rows) if rows else np.empty(0, np.int32)
        return np.bincount(flat, minlength=len(self.words))


def keywords(
    terms: Terms, everything: NDArray[np.int64], groups: Sequence[NDArray[np.int64]], n_words: int
) -> list[list[str]]:
    """The words that tell most of each group of texts, best first; at most so many.

    Of words with the same score, the one that was met first comes first. Words that are no more
    frequent in a group than elsewhere are left out, unless the group is everything.
    """
    overall = terms.counts(everything)
    named = []
    for places in groups:
        counts = terms.counts(places)
        present = np.flatnonzero(counts)
        share = counts[present] / len(places)
        if len(places) == len(everything):
            score = share  # nothing to compare with
        else:
            rarity = np.log(len(everything) / overall[present])
            score = share * (np.log(share) + rarity) * rarity
        score = np.round(score, 9)  # so that ties are ties
        best = np.lexsort((present, -score))[:n_words]
        named.append([terms.words[present[i]] for i in best if score[i] > 0])
    return named
