"""What clusters are about: a record that stands for each, and its keywords."""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..clusters.exemplars import find_exemplar
from ..clusters.names import Terms, name_groups
from .service import Service

Ids = NDArray[np.int64]

_BACKGROUND = 10_000
"""Texts that a cluster is compared with: all, or so many of them, evenly spread."""
_MOST_MEMBERS = 500
"""Members of a cluster whose texts are looked at, evenly spread; and whose mean is taken."""
KEYWORDS = 5


class Topics:
    """Names clusters. Words of texts are looked for once, until the collection has grown."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._terms = Terms()
        self._places: dict[int, int] = {}
        self._background: list[int] = []
        self._next_id = 0

    def keywords(self, clusters: Sequence[Ids]) -> list[list[str]]:
        """Keywords of clusters, given by ids; none if there are no texts."""
        with self._lock:
            self._refresh()
            sampled = [_spread(ids, _MOST_MEMBERS).tolist() for ids in clusters]
            self._know([i for ids in sampled for i in ids])
            if not self._terms.words:
                return [[] for _ in clusters]
            of_cluster = {i: number for number, ids in enumerate(sampled) for i in ids}
            everything = list(dict.fromkeys([*of_cluster, *self._background]))
            places = np.array([self._places[i] for i in everything])
            groups = np.array([of_cluster.get(i, len(clusters)) for i in everything])
            named = name_groups(self._terms, places, groups, len(clusters) + 1, KEYWORDS)
            return named[: len(clusters)]

    def _refresh(self) -> None:
        """Take another sample if there are a tenth more records, or too many words are kept."""
        collection = self._service.collection
        grown = collection.next_id > self._next_id * 1.1 + 10
        if not grown and len(self._terms) < 5 * _BACKGROUND:
            return
        self._terms, self._places = Terms(), {}
        self._next_id = collection.next_id
        self._background = _spread(collection.ids, _BACKGROUND).tolist()
        self._know(self._background)

    def _know(self, ids: list[int]) -> None:
        new = [i for i in dict.fromkeys(ids) if i not in self._places]
        found = self._service.read(new)
        for point_id in new:
            text = found[point_id][1] if point_id in found else None
            self._places[point_id] = len(self._terms)
            self._terms.extend([text])

    def exemplars(self, clusters: Sequence[Ids]) -> list[int | None]:
        """The id of a record close to the mean of each cluster; None if all its points are gone."""
        tree, found = self._service.collection.tree, []
        for ids in clusters:
            with tree.reading() as arrays:
                some = _spread(ids, _MOST_MEMBERS)
                living = some[tree.holds(some)]
                found.append(find_exemplar(arrays, living) if len(living) else None)
        return found


def _spread(ids: Ids, most: int) -> Ids:
    """Some of the ids, evenly spread."""
    if len(ids) <= most:
        return ids
    return ids[np.linspace(0, len(ids) - 1, most).astype(np.int64)]
