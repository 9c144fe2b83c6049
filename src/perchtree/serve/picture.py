"""What the explorer asks of a version: the tree as boxes, records by position, clusters by number.

Boxes and clusters go by a record in them, whose id never changes: a box by one of its records and
its order of size, a cluster by one of its records. So a page that shows an older state still asks
for what its reader means, and the answer says what that is now.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from ..html.boxes import Boxes, Runs, orders_of
from ..html.packing import Columns
from .describing import Topics
from .problems import Problem
from .schemas import ClassCount
from .service import Service
from .versions import Clustering, How, Version

Ids = NDArray[np.int64]

MOST_BOXES = 20_000
_SAMPLED = 48
"""Records of a box or a cluster that its name is found from, evenly spread."""
_CLASSED = 500
"""Records of a cluster whose classes are counted."""
_STEPS = (1, 2, 5)


class Picture:
    """A version with a clustering, as the explorer shows them."""

    def __init__(self, service: Service, how: How | None) -> None:
        self._service = service
        self.version = service.versions.current()
        self._how = how

    @property
    def boxes(self) -> Boxes:
        return self.version.boxes

    @property
    def clustering(self) -> Clustering:
        return self.version.clustering(self._how or self._service.usual)

    def numbers(self, labels: Ids) -> list[int | None]:
        """What clusters go by: as standing ones, or as `perch cut` calls them; None for -1."""
        if self.clustering.how.by != "standing":
            numbers = self.clustering.numbers[np.maximum(labels, 0)]
            return [None if n < 0 else n for n in np.where(labels < 0, NONE, numbers).tolist()]
        given = labels.tolist()
        own = sorted({label for label in given if label >= 0})
        found = self._service.standing.clusters_of(self.clustering.firsts[own].tolist())
        known = dict(zip(own, found, strict=True))
        return [known.get(label) for label in given]

    def firsts(self, labels: Ids) -> list[int | None]:
        """The smallest id of each cluster; None for -1."""
        firsts = self.clustering.firsts
        found = firsts[np.maximum(labels, 0)].tolist()
        pairs = zip(found, labels.tolist(), strict=True)
        return [None if label < 0 else first for first, label in pairs]

    # Boxes

    def columns(self, left: int, right: int, smallest: int) -> Columns:
        """Boxes that can be seen between two positions, column by column; -1 for no cluster."""
        boxes, runs = self.boxes, self.clustering.runs
        found = boxes.within(left, right, smallest)
        while len(found) > MOST_BOXES:
            smallest *= 2
            found = found[boxes.sizes[found] >= smallest]
        starts, sizes = boxes.starts[found], boxes.sizes[found]
        labels = runs.labels_within(starts, starts + sizes)
        return {
            "start": starts, "size": sizes, "level": boxes.levels[found],
            "height": boxes.heights[found].astype(np.float32), "first": boxes.firsts[found],
            "order": orders_of(sizes), "cluster": _with_gaps(self.numbers(labels)),
            "of": _with_gaps(self.firsts(labels)), "edges": self._edges(found, labels, runs),
        }  # fmt: skip

    def _edges(self, found: Ids, labels: Ids, runs: Runs) -> Ids:
        """Where a cluster has its boundary: 1 at the left of a box, 2 at the right, 4 on top."""
        boxes = self.boxes
        starts = boxes.starts[found]
        ends, above = starts + boxes.sizes[found], boxes.parents[found]
        places = np.searchsorted(runs.starts, starts, "right") - 1
        last = np.append(runs.starts[1:], boxes.table.n_points)[places]
        over = runs.labels_within(boxes.starts[above], boxes.starts[above] + boxes.sizes[above])
        edges = 1 * (runs.starts[places] == starts) + 2 * (last == ends)
        edges += 4 * ((above < 0) | (over < 0))
        return np.where(labels < 0, 0, edges)

    def place(self, point_id: int) -> int:
        """The place of a record among all ids; a 404 if this version does not have it."""
        place = self.version.place(point_id)
        if place is None:
            raise Problem(404, f"there is no record {point_id}, as of this version")
        return place

    def position(self, point_id: int) -> int:
        return int(self.boxes.positions[self.place(point_id)])

    def box(self, first: int, order: int) -> int:
        """The box of an order around a record; a 404 if there is none."""
        found = self.boxes.holding(self.position(first), order)
        if found is None:
            raise Problem(404, "there is no such box any more")
        return found

    def path(self, first: int, order: int) -> list[int]:
        """The boxes around a record, from the root down to an order."""
        path, sizes = self.boxes.path(self.position(first)), self.boxes.sizes
        return [box for box in path if int(orders_of(sizes[[box]])[0]) >= order]

    def ids_of_box(self, box: int) -> Ids:
        """The ids of its records, in the order of the tree."""
        start, size = int(self.boxes.starts[box]), int(self.boxes.sizes[box])
        return self.boxes.table.ids[self.boxes.order[start : start + size]]

    def described_box(self, box: int) -> dict[str, Any]:
        boxes = self.boxes
        return {
            "first": int(boxes.firsts[box]),
            "order": int(orders_of(boxes.sizes[[box]])[0]),
            "start": int(boxes.starts[box]), "size": int(boxes.sizes[box]),
            "level": int(boxes.levels[box]), "height": float(boxes.heights[box]),
        }  # fmt: skip

    # Records

    def records(self, ids: Iterable[int]) -> list[dict[str, Any]]:
        """Records with clusters, confidences and positions, as asked for; those that are there."""
        wanted = list(ids)
        held = self._service.read(wanted)
        found = {i: held[i] for i in wanted if i in held}
        places = [self.version.place(i) for i in found]
        clustering = self.clustering
        here = np.array([place for place in places if place is not None], np.int64)
        labels = clustering.labels[here]
        firm = clustering.confidence[here].tolist()
        positions = self.boxes.positions[here].tolist()
        told = iter(zip(self.numbers(labels), self.firsts(labels), firm, positions, strict=True))
        rows = []
        for (point_id, (key, text, class_)), place in zip(found.items(), places, strict=True):
            number, of, sure, position = (None,) * 4 if place is None else next(told)
            rows.append(
                {
                    "id": point_id, "key": key, "text": None if text is None else str(text),
                    "class": class_, "cluster": number, "of": of, "position": position,
                    "confidence": None if sure is None else round(sure, 3),
                }
            )  # fmt: skip
        return rows

    def between(self, left: int, right: int) -> list[dict[str, Any]]:
        """The records from one position up to another, with the row each is drawn in."""
        left, right = max(left, 0), min(right, self.boxes.table.n_points)
        ids = self.boxes.table.ids[self.boxes.order[left:right]]
        rows = self.records(ids.tolist())
        for row in rows:
            path = self.boxes.path(row["position"])
            row["level"] = int(self.boxes.levels[path[-1]]) + 1 if path else 0
        return rows

    # Clusters

    def label(self, of: int) -> int:
        """The cluster that a record is in."""
        return int(self.clustering.labels[self.place(of)])

    def members(self, label: int) -> Ids:
        """The ids of a cluster's records, in the order of the tree."""
        places = self.clustering.members(label)
        return self.boxes.table.ids[places[np.argsort(self.boxes.positions[places])]]

    def listed(self, sort: str, least: int, most: int, holders: Ids | None) -> Ids:
        """Clusters in some order: of so many records, and with one of some, given by ids."""
        clustering = self.clustering
        sizes, firsts = clustering.sizes, clustering.firsts
        order: Ids
        if sort == "size":
            order = clustering.by_size
        elif sort == "small":
            order = np.lexsort((firsts, sizes))
        elif sort in ("doubt", "sure"):
            sign = 1 if sort == "doubt" else -1
            order = np.lexsort((firsts, -sizes, sign * clustering.cohesion))
        else:
            order = self._by_number()[:: -1 if sort == "newest" else 1]
        keep = (sizes >= least) & (sizes <= most)
        if holders is not None:
            ids = self.boxes.table.ids
            there = np.searchsorted(ids, holders[np.isin(holders, ids)])
            wanted = np.zeros(len(sizes), bool)
            wanted[clustering.labels[there]] = True
            keep &= wanted
        return order[keep[order]]

    def _by_number(self) -> Ids:
        labels = np.arange(len(self.clustering))
        numbers = np.array([-1 if n is None else n for n in self.numbers(labels)])
        return np.argsort(numbers, kind="stable")

    def described(self, labels: Ids, topics: Topics) -> list[dict[str, Any]]:
        """Clusters with what they are about."""
        clustering, runs = self.clustering, self.clustering.runs
        sampled = [
            _spread(self.boxes.table.ids[clustering.members(int(label))]) for label in labels
        ]
        named = self.named(sampled, topics)
        rows = []
        for label, number, first, name in zip(
            labels.tolist(), self.numbers(labels), self.firsts(labels), named, strict=True
        ):
            assert first is not None
            start = self.position(first)
            run = int(np.searchsorted(runs.starts, start, "right")) - 1
            end = runs.starts[run + 1] if run + 1 < len(runs.starts) else len(clustering.labels)
            rows.append(
                {
                    "number": number, "of": first, "size": int(clustering.sizes[label]),
                    "start": int(runs.starts[run]), "span": int(end - runs.starts[run]),
                    "cohesion": round(float(clustering.cohesion[label]), 3), **name,
                }
            )  # fmt: skip
        return rows

    def named(self, sampled: list[Ids], topics: Topics) -> list[dict[str, Any]]:
        """Keywords and an exemplar of some sets of records, given by samples."""
        exemplars, keywords = topics.exemplars(sampled), topics.keywords(sampled)
        found = self._service.read([i for i in exemplars if i is not None])
        rows = []
        for exemplar, words in zip(exemplars, keywords, strict=True):
            record = found.get(-1 if exemplar is None else exemplar)
            shown = record and {"id": exemplar, "key": record[0], "text": _text(record[1])}
            rows.append({"keywords": words, "exemplar": shown})
        return rows

    def names_of(self, boxes: list[int], topics: Topics) -> list[dict[str, Any]]:
        return self.named([_spread(self.ids_of_box(box)) for box in boxes], topics)

    def classes(self, ids: Ids) -> list[ClassCount]:
        """How many of some records, evenly spread, are of each class, the most frequent first."""
        found = self._service.read(_spread(ids, _CLASSED).tolist())
        counts = Counter(record[2] for record in found.values() if record[2] is not None)
        return [ClassCount(name=str(name), size=n) for name, n in counts.most_common()]


def thresholds(version: Version) -> list[float]:
    """Distances at which there are about 2, 5, 10, 20, ... clusters, descending."""
    n_points = version.table.n_points
    counts = [step * 10**power for power in range(9) for step in _STEPS]
    heights = version.table.heights  # merges are in the order of their heights
    found = [heights[-count] for count in counts if 1 < count <= n_points // 2]
    return [value for value in dict.fromkeys(float(f"{v:.3g}") for v in found) if value > 0]


def _with_gaps(values: list[int | None]) -> Ids:
    return np.array([NONE if value is None else value for value in values], np.int64)


def _spread(ids: Ids, most: int = _SAMPLED) -> Ids:
    if len(ids) <= most:
        return ids
    return ids[np.linspace(0, len(ids) - 1, most).astype(np.int64)]


def _text(text: Any) -> str | None:
    return None if text is None else str(text)
