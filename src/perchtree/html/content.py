"""What the page shows: boxes with their names, records, clusterings, in the order of the tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._centres import node_centres
from .._kernels.schema import LEAF, Tree
from ..clusters.names import Terms, name_groups
from ..exports.aligned import numbered_classes
from ..inert import one_line
from .boxes import Boxes
from .offered import Offered, Said
from .packing import Columns

_LONGEST_CLASS = 60
_KEYWORDS, _LONGEST_WORD = 4, 24
_WORDS_FROM = 4
"""Points that a box must have to be described by words."""
_SAMPLED = 64
"""Points of a box among which its exemplar is looked for, evenly spread."""
_MOST_SAID = 1000


class Content:
    """A tree, as small values and columns. Records are chosen last: as many as there is room for.

    Parameters
    ----------
    tree : Tree
        The arrays of the tree.
    boxes : Boxes
    known : dict
        "keys", "texts" and "classes" in the order of ids, each a list or None.
    most : int
        Boxes that are shown, the largest.
    """

    def __init__(
        self,
        tree: Tree,
        boxes: Boxes,
        known: dict[str, Any],
        corrections: Sequence[Said],
        most: int,
    ) -> None:
        self._boxes, self._known, table = boxes, known, boxes.table
        smallest = 2
        if len(boxes.sizes) > most:
            smallest = int(np.sort(boxes.sizes)[-most]) + 1
        self._shown = np.flatnonzero(boxes.sizes >= smallest)
        shown = self._shown
        edges = np.searchsorted(shown, boxes.edges)
        self.values: dict[str, Any] = {
            "points": table.n_points,
            "nodes": len(boxes.sizes),
            "smallest": smallest,
            "edges": edges.tolist(),
            "clusterings": [],
            "has": {name: values is not None for name, values in known.items()},
        }
        self.columns: Columns = {
            "box_start": boxes.starts[shown].astype(np.uint32),
            "box_size": boxes.sizes[shown].astype(np.uint32),
            "box_level": boxes.levels[shown].astype(np.uint8),
            "box_height": boxes.heights[shown].astype(np.float32),
            "box_exemplar": boxes.positions[self._exemplars(tree)].astype(np.uint32),
        }
        if known["texts"] is not None:
            self.values["words"] = self._words(known["texts"])
        if known["classes"] is not None:
            self._add_classes(known["classes"])
        self.values["n_said"] = len(corrections)
        self.values["said"] = [
            [kind, *boxes.positions[np.searchsorted(table.ids, pair)].tolist()]
            for kind, *pair in corrections[:_MOST_SAID]
        ]

    def _groups(self) -> Any:
        """Shown boxes of one order at a time: their places, and the box of each position or -1."""
        edges, shown = self.values["edges"], self._shown
        for low, high in zip(edges[1:], edges[:-1], strict=True):
            if low < high:
                own = shown[low:high]
                group = np.full(self._boxes.table.n_points + 1, 0, np.int64)
                np.add.at(group, self._boxes.starts[own], np.arange(1, len(own) + 1) + 0)
                ends = self._boxes.starts[own] + self._boxes.sizes[own]
                np.add.at(group, ends, -np.arange(1, len(own) + 1))
                yield low, high, np.cumsum(group)[:-1] - 1

    def _words(self, texts: Sequence[object]) -> list[str]:
        """The keywords of boxes, by one pass over all texts for each order of size."""
        terms, boxes = Terms(map(str, texts)), self._boxes
        words = [""] * len(self._shown)
        for low, high, group in self._groups():
            if boxes.sizes[self._shown[low:high]].max() < _WORDS_FROM:
                continue
            groups = np.where(group < 0, high - low, group)
            named = name_groups(terms, boxes.order, groups, high - low + 1, _KEYWORDS)
            for place, found in zip(range(low, high), named, strict=False):
                if boxes.sizes[self._shown[place]] >= _WORDS_FROM:
                    words[place] = " · ".join(one_line(word, _LONGEST_WORD) for word in found)
        return words

    def _exemplars(self, tree: Tree) -> NDArray[np.int64]:
        """The number of a point close to the mean of each box, among some of its points."""
        boxes, found = self._boxes, np.empty(len(self._shown), np.int64)
        leaf_of = tree.ids[boxes.table.ids, LEAF]
        for place, box in enumerate(self._shown.tolist()):
            start, size = int(boxes.starts[box]), int(boxes.sizes[box])
            some = boxes.order[start + np.linspace(0, size - 1, min(size, _SAMPLED)).astype(int)]
            centres = node_centres(tree, leaf_of[some])
            far = ((centres - centres.mean(axis=0)) ** 2).sum(axis=1)
            found[place] = some[far.argmin()]
        return found

    def _add_classes(self, classes: Any) -> None:
        distinct, numbers = numbered_classes(classes, self._boxes.table)
        self.values["classes"] = [one_line(name, _LONGEST_CLASS) for name in distinct.tolist()]
        ordered = numbers[self._boxes.order]
        self.columns["class"] = ordered.astype(np.uint32)
        main, counts = np.zeros((2, len(self._shown)), np.int64)
        for low, high, group in self._groups():
            inside = group >= 0
            keys, n = np.unique(group[inside] * len(distinct) + ordered[inside], return_counts=True)
            best = np.lexsort((keys, -n, keys // len(distinct)))
            owner = keys[best] // len(distinct)
            first = best[np.append(True, owner[1:] != owner[:-1])]
            main[low:high], counts[low:high] = keys[first] % len(distinct), n[first]
        self.columns["box_class"] = main.astype(np.uint32)
        self.columns["box_class_size"] = counts.astype(np.uint32)

    def add_clustering(self, offered: Offered) -> None:
        """Offer one more clustering."""
        number = len(self.values["clusterings"])
        runs = self._boxes.runs(offered.labels)
        of_label = np.empty(int(offered.labels.max()) + 1, np.int64)
        of_label[offered.labels] = offered.numbers
        self.values["clusterings"].append(
            {"by": offered.cut.by, "value": offered.cut.value, "options": offered.cut.options,
             "n_clusters": len(of_label)}
        )  # fmt: skip
        ends = np.append(runs.starts[1:], self._boxes.table.n_points)
        self.columns[f"runs_{number}"] = (ends - runs.starts).astype(np.uint32)
        self.columns[f"labels_{number}"] = of_label[runs.labels].astype(np.uint32)
        if offered.confidence is not None:
            firm = np.round(100 * offered.confidence[self._boxes.order])
            self.columns[f"firm_{number}"] = firm.astype(np.uint8)

    def with_records(self, n_records: int) -> tuple[dict[str, Any], Columns]:
        """Everything, with so many records: half of them exemplars, the others evenly spread."""
        boxes, n_points = self._boxes, self._boxes.table.n_points
        values, columns = dict(self.values), dict(self.columns)
        positions = np.arange(n_points)
        if n_records < n_points:
            n_spread = max(n_records - n_records // 2, 1)
            spread = np.linspace(0, n_points - 1, n_spread).astype(np.int64)
            # Exemplars of the largest boxes come first.
            named = dict.fromkeys(columns["box_exemplar"].tolist())
            positions = np.union1d(spread, list(named)[: n_records // 2]).astype(np.int64)
            columns["positions"] = positions.astype(np.uint32)
        points = boxes.order[positions]
        columns["ids"] = boxes.table.ids[points].astype(np.uint32)
        values["records"] = len(positions)
        for name in ("keys", "texts"):
            given = self._known[name]
            if given is not None:
                values[name] = [_as_text(given[point]) for point in points.tolist()]
        return values, columns


def _as_text(value: object) -> str:
    """A text as it is, but for halves of surrogate pairs, which no file can hold."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode()
