"""What the page shows: the top of a tree, texts, words and classes, in less than two megabytes."""

import base64
import functools
import html
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_smallest_ids
from .._kernels.schema import NONE
from ..exports.truncated import Truncated

_MOST_BYTES = 1_950_000
_LONGEST_TEXT = 200
_WORDS_FROM = 4
"""Points that a node must have to be described by words."""
_SAMPLE = 60
"""Texts of a node that are looked at for words."""
_WORD = re.compile(r"[^\W_]{3,}")
_CLASSES = 4
"""Classes listed for each node."""

Tokens = Callable[[int], frozenset[str]]


def make_page(
    top: Truncated,
    title: str,
    texts: Sequence[object] | None,
    labels: NDArray[np.int64] | None,
    classes: Sequence[str],
) -> str:
    """The whole page; texts are shortened until it is small enough."""
    smallest = np.full(len(top.table.parents), NONE, np.int64)
    find_smallest_ids(top.table.n_points, top.table.parents, smallest)
    first = smallest[top.numbers].tolist()
    content: dict[str, Any] = {
        "title": title,
        "points": top.table.n_points,
        "pairs": top.parents[1::2].tolist(),  # children come in pairs
        "sizes": top.sizes.tolist(),
        "heights": [float(f"{height:.3g}") for height in top.heights.tolist()],
    }
    if labels is not None:
        content["classes"] = [str(name)[:60] for name in classes]
        content["mix"] = [_mix(labels[top.members(i)]) for i in range(len(first))]
    if texts is None:
        content["ids"] = first
        return _filled(content)
    content["words"] = _words(top, texts)
    longest = _LONGEST_TEXT
    while True:
        content["texts"] = [
            "" if top.children[i] else _shortened(texts[first[i]], longest)
            for i in range(len(first))
        ]
        page = _filled(content)
        if len(page.encode()) <= _MOST_BYTES or longest < 10:
            return page
        longest = longest * 2 // 3


def _filled(content: dict[str, Any]) -> str:
    """The template with its data, compressed: no text can be taken for a part of the page."""
    template = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    title = html.escape(content["title"])
    return template.replace("<!--TITLE-->", title, 1).replace("/*DATA*/", packed, 1)


def _shortened(text: object, longest: int) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _mix(labels: NDArray[np.int64]) -> list[int]:
    """The largest classes: class, count, class, count, ..."""
    if len(labels) < 50:
        pairs = Counter(labels.tolist()).most_common()
        return [value for pair in sorted(pairs, key=lambda p: (-p[1], p[0]))[:_CLASSES]
                for value in pair]  # fmt: skip
    counts = np.bincount(labels)
    order = np.argsort(-counts, kind="stable")[:_CLASSES]
    return [int(v) for k in order if counts[k] for v in (k, counts[k])]


def _words(top: Truncated, texts: Sequence[object]) -> list[str]:
    """What sets a node apart: words much more frequent below it than among all texts."""

    @functools.cache
    def tokens(i: int) -> frozenset[str]:
        return frozenset(word.lower() for word in _WORD.findall(str(texts[i])))

    some = _spread(np.arange(top.table.n_points), 20_000)
    everywhere = Counter(word for i in some for word in tokens(i))
    return [
        _telling([tokens(i) for i in _spread(top.members(place), _SAMPLE)], everywhere, len(some))
        if place > 0 and top.children[place] and top.sizes[place] >= _WORDS_FROM
        else ""
        for place in range(len(top.numbers))
    ]


def _spread(ids: NDArray[np.int64], most: int) -> list[int]:
    """At most so many of the ids, evenly spread."""
    step = -(-len(ids) // most)
    return [int(i) for i in ids[::step]]


def _telling(own: list[frozenset[str]], everywhere: Counter[str], n_texts: int) -> str:
    counts = Counter(word for words in own for word in words)
    scores = {}
    for word, count in counts.items():
        ratio = (count / len(own)) / ((everywhere[word] + 1) / n_texts)
        if count > 1 and ratio > 1:
            scores[word] = count * np.log(ratio) ** 2
    best = sorted(scores, key=lambda word: (-scores[word], word))[:3]
    return " · ".join(word[:20] for word in best)
