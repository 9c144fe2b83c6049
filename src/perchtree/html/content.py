"""What the page shows: the top of a tree, with ids, words, texts and classes."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_smallest_ids
from .._kernels.schema import NONE
from ..clusters.names import Terms, name_nodes
from ..exports.aligned import numbered_classes
from ..exports.truncated import Truncated
from ..inert import one_line

_LONGEST_CLASS = 60
_CLASSES = 4
"""Classes listed for each node."""
_WORDS_FROM = 4
"""Points that a node must have to be described by words."""
_KEYWORDS, _LONGEST_WORD = 3, 20
_MOST_SAID, _LONGEST_SAID = 1000, 80

Said = tuple[str, int, int]
"""A correction: "together" or "apart", and two ids."""


class Content:
    """The shown nodes of a tree as plain lists, parents first."""

    def __init__(
        self,
        top: Truncated,
        texts: Sequence[object] | None,
        classes: Any,
        corrections: Sequence[Said] = (),
    ) -> None:
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
        if corrections:
            self._nodes["said"] = _said(top, corrections, texts)
            self._nodes["n_said"] = len(corrections)

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
    """The keywords of nodes with enough points; what is at an end shows its text."""
    named = name_nodes(Terms(map(str, texts)), top.children, top.members, _WORDS_FROM, _KEYWORDS)
    return [
        " · ".join(one_line(word, _LONGEST_WORD) for word in words) if place and below else ""
        for place, (words, below) in enumerate(zip(named, top.children, strict=True))
    ]


def _said(
    top: Truncated, corrections: Sequence[Said], texts: Sequence[object] | None
) -> list[list[Any]]:
    """The first corrections: the ends that hold the two points, if they are together, texts."""
    end_of = top.ends()

    def described(point_id: int) -> tuple[int, str]:
        point = int(np.searchsorted(top.table.ids, point_id))
        text = "" if texts is None else one_line(texts[point], _LONGEST_SAID)
        return int(end_of[point]), text or f"point {point_id}"

    said = []
    for kind, a, b in corrections[:_MOST_SAID]:
        (one, first), (other, second) = described(a), described(b)
        said.append([one, other, int(kind == "together"), first, second])
    return said
