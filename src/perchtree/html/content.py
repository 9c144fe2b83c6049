"""What the page shows: the top of a tree, with ids, words, texts and classes."""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_smallest_ids
from .._kernels.schema import NONE
from ..exports.aligned import numbered_classes
from ..exports.truncated import Truncated
from ..inert import one_line

_LONGEST_CLASS = 60
_CLASSES = 4
"""Classes listed for each node."""
_WORDS_FROM = 4
"""Points that a node must have to be described by words."""
_SAMPLE = 60
"""Texts of a node that are looked at for words."""
_WORD = re.compile(r"[^\W_]{3,}")


class Content:
    """The shown nodes of a tree as plain lists, parents first."""

    def __init__(self, top: Truncated, texts: Sequence[object] | None, classes: Any) -> None:
        self._top, self._texts = top, texts
        smallest = np.full(len(top.table.parents), NONE, np.int64)
        find_smallest_ids(top.table.n_points, top.table.parents, smallest)
        self._first = smallest[top.numbers].tolist()
        ids = top.table.ids[self._first].tolist()
        self._nodes: dict[str, Any] = {
            "points": top.table.n_points,
            "pairs": top.parents[1::2].tolist(),  # children come in pairs
            "sizes": top.sizes.tolist(),
            "heights": [float(f"{height:.3g}") for height in top.heights.tolist()],
            # Only those of branches are shown, and zeros compress to nothing.
            "ids": [0 if below else own for own, below in zip(ids, top.children, strict=True)],
        }
        if classes is not None:
            distinct, numbers = numbered_classes(classes, top.table)
            names = distinct.tolist()
            self._nodes["classes"] = [one_line(name, _LONGEST_CLASS) for name in names]
            self._nodes["mix"] = [_mix(numbers[top.members(i)]) for i in range(len(ids))]
        if texts is not None:
            self._nodes["words"] = _words(top, texts)

    def shortened(self, longest: int) -> dict[str, Any]:
        """Everything to show, texts cut to so many characters."""
        if self._texts is None:
            return self._nodes
        texts = [
            "" if below else one_line(self._texts[first], longest)
            for first, below in zip(self._first, self._top.children, strict=True)
        ]
        return self._nodes | {"texts": texts}


def _mix(classes: NDArray[np.int64]) -> list[int]:
    """The largest classes: class, count, class, count, ..."""
    if len(classes) < 50:
        pairs = Counter(classes.tolist()).most_common()
        return [value for pair in sorted(pairs, key=lambda p: (-p[1], p[0]))[:_CLASSES]
                for value in pair]  # fmt: skip
    counts = np.bincount(classes)
    order = np.argsort(-counts, kind="stable")[:_CLASSES]
    return [int(v) for k in order if counts[k] for v in (k, counts[k])]


def _words(top: Truncated, texts: Sequence[object]) -> list[str]:
    """What sets a node apart: words much more frequent below it than among all texts."""

    @functools.cache
    def tokens(point: int) -> frozenset[str]:
        return frozenset(word.lower() for word in _WORD.findall(str(texts[point])))

    some = _spread(np.arange(top.table.n_points), 20_000)
    everywhere = Counter(word for point in some for word in tokens(point))
    return [
        _telling([tokens(p) for p in _spread(top.members(place), _SAMPLE)], everywhere, len(some))
        if place > 0 and top.children[place] and top.sizes[place] >= _WORDS_FROM
        else ""
        for place in range(len(top.numbers))
    ]


def _spread(points: NDArray[np.int64], most: int) -> list[int]:
    """At most so many of the points, evenly spread."""
    step = -(-len(points) // most)
    return [int(point) for point in points[::step]]


def _telling(own: list[frozenset[str]], everywhere: Counter[str], n_texts: int) -> str:
    counts = Counter(word for words in own for word in words)
    scores = {}
    for word, count in counts.items():
        ratio = (count / len(own)) / ((everywhere[word] + 1) / n_texts)
        if count > 1 and ratio > 1:
            scores[word] = count * np.log(ratio) ** 2
    best = sorted(scores, key=lambda word: (-scores[word], word))[:3]
    return " · ".join(word[:20] for word in best)
