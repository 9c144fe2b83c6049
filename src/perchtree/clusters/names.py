"""Keywords of nodes and clusters: words that are more frequent there than among other texts.

Class-based TF-IDF: of a group of n texts, c of which contain a word that C of all N texts contain,
the word's score is

    s * ln(s / s') * ln(N / C)   with   s = c / n,   s' = (C - c + 1) / (N - n + 2),

its share in the group, weighted by how much larger it is than its share in all other texts, and by
its rarity. A word that is common everywhere has a ratio near one and little weight, and a rare word
of one record has a small share; in a group of several texts, words that only one of them has do not
count. Counts of a node are the sums of its children's, so every node of a tree can be named.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

_WORD = re.compile(r"\w(?:[\w'\u2019]*\w)?")


def words_of(text: str) -> list[str]:
    """The words of a text, each once, in the order in which they first appear."""
    return list(dict.fromkeys(_WORD.findall(unicodedata.normalize("NFC", text).casefold())))


class Name(NamedTuple):
    """The name of a cluster."""

    words: tuple[str, ...]
    """Its keywords, best first."""
    exemplar: str | None
    """The text of a record close to its mean."""

    def __str__(self) -> str:
        return ", ".join(self.words) or str(self.exemplar)


class Counted(NamedTuple):
    """How many texts of a group have each word; the words ascend."""

    n_texts: int
    words: Numbers
    counts: Numbers

    def joined(self, other: "Counted") -> "Counted":
        """The counts of both groups together."""
        both = np.concatenate([self.words, other.words])
        words, where = np.unique(both, return_inverse=True)
        counts = np.zeros(len(words), np.int64)
        np.add.at(counts, where, np.concatenate([self.counts, other.counts]))
        return Counted(self.n_texts + other.n_texts, words, counts)


class Terms:
    """Which words each text has; texts are known by their place."""

    def __init__(self, texts: Iterable[str | None] = ()) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._rows: list[NDArray[np.int32]] = []
        self.extend(texts)

    def __len__(self) -> int:
        return len(self._rows)

    def extend(self, texts: Iterable[str | None]) -> None:
        """Add texts; one that is missing has no words."""
        self._rows += map(self._row, texts)

    def replace(self, place: int, text: str | None) -> None:
        """Put another text, or none, in a place."""
        self._rows[place] = self._row(text)

    def shorten(self, length: int) -> None:
        """Forget the texts from a place on."""
        del self._rows[length:]

    def _row(self, text: str | None) -> NDArray[np.int32]:
        numbers = []
        for word in words_of("" if text is None else str(text)):
            number = self._numbers.setdefault(word, len(self.words))
            if number == len(self.words):
                self.words.append(word)
            numbers.append(number)
        return np.array(numbers, np.int32)

    def counted(self, places: Numbers, groups: Numbers, n_groups: int) -> list[Counted]:
        """The counts of each of the groups 0, 1, 2, ..., given the group of each place."""
        rows = [self._rows[place] for place in places.tolist()]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        words = np.concatenate(rows) if rows else np.empty(0, np.int32)
        keys = np.repeat(groups, lengths) * len(self.words) + words
        keys, counts = np.unique(keys, return_counts=True)
        group, word = np.divmod(keys, max(len(self.words), 1))
        edges = np.searchsorted(group, np.arange(n_groups + 1)).tolist()
        sizes = np.bincount(groups, minlength=n_groups).tolist()
        return [
            Counted(size, word[start:stop], counts[start:stop])
            for size, start, stop in zip(sizes, edges, edges[1:], strict=False)
        ]


class Keywords:
    """Finds the words that best describe a group of texts.

    Parameters
    ----------
    words : list of str
        What the numbers of words stand for.
    everything : Counted
        All texts, to compare with.
    n_words : int
        The maximum number of words per group.
    """

    def __init__(self, words: list[str], everything: Counted, n_words: int) -> None:
        self._words, self._n_texts, self._most = words, everything.n_texts, n_words
        self._overall = np.zeros(len(words), np.int64)
        self._overall[everything.words] = everything.counts

    def of(self, group: Counted, beyond: Counted | None = None) -> list[str]:
        """Keywords, best first; of words with the same score, first the one that was met first.

        Words that are no more frequent in a group than elsewhere are left out, unless the group is
        everything. `beyond` are those of its texts that are not among all texts.
        """
        n_texts, words, counts = group
        if n_texts > 1:
            words, counts = words[counts > 1], counts[counts > 1]
        share = counts / max(n_texts, 1)
        n_all, overall = self._n_texts, self._overall[words]
        if beyond is not None:
            n_all += beyond.n_texts
            own = np.isin(beyond.words, words)
            overall[np.searchsorted(words, beyond.words[own])] += beyond.counts[own]
        if n_texts == n_all:
            score = share  # nothing to compare with
        else:
            outside = (overall - counts + 1) / (n_all - n_texts + 2)
            score = share * np.log(share / outside) * np.log(n_all / overall)
        score = np.round(score, 9)  # so that ties are ties
        best = np.lexsort((words, -score))[: self._most]
        return [self._words[words[i]] for i in best.tolist() if score[i] > 0]


def name_groups(
    terms: Terms, places: Numbers, groups: Numbers, n_groups: int, n_words: int
) -> list[list[str]]:
    """The keywords of each of the groups 0, 1, 2, ... of all texts at these places."""
    (everything,) = terms.counted(places, np.zeros(len(places), np.int64), 1)
    keywords = Keywords(terms.words, everything, n_words)
    return [keywords.of(group) for group in terms.counted(places, groups, n_groups)]


_FEW = 64
"""Nodes of so many texts are counted by themselves, many at a time; larger ones add up."""


def name_nodes(
    terms: Terms,
    children: Sequence[Sequence[int]],
    members: Callable[[int], Numbers],
    least: int,
    n_words: int,
) -> list[list[str]]:
    """The keywords of nodes with at least so many texts; none for smaller ones.

    Nodes come parents before children, the first holds all texts. `children` are the two places of
    each node's children, or none; `members` has the texts of a node.
    """
    texts = [members(place) for place in range(len(children))]
    few = [len(own) <= _FEW or not below for own, below in zip(texts, children, strict=True)]
    needed = {place for place, own in enumerate(texts) if few[place] and len(own) >= least}
    needed |= {
        child
        for place, below in enumerate(children)
        if not few[place]
        for child in below
        if few[child]
    }
    needed |= {0} if few[0] else set()
    counted = _count_each(terms, {place: texts[place] for place in sorted(needed)})
    for place in range(len(children) - 1, -1, -1):
        if not few[place]:
            left, right = (counted[child] for child in children[place])
            counted[place] = left.joined(right)
    keywords = Keywords(terms.words, counted[0], n_words)
    return [
        keywords.of(counted[place]) if len(own) >= least else [] for place, own in enumerate(texts)
    ]


def _count_each(terms: Terms, groups: dict[int, Numbers]) -> dict[int, Counted]:
    places = np.concatenate(list(groups.values()))
    numbers = np.repeat(np.arange(len(groups)), [len(texts) for texts in groups.values()])
    return dict(zip(groups, terms.counted(places, numbers, len(groups)), strict=True))
