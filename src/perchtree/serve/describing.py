"""What clusters are about: a record that stands for each, and its keywords."""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..clusters.exemplars import find_exemplar
from ..clusters.names import Counted, Keywords, Terms
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
        self._background: frozenset[int] = frozenset()
        self._everything = Counted(0, np.empty(0, np.int64), np.empty(0, np.int64))
        """What texts of the background say."""
        self._next_id = 0

    def keywords(self, clusters: Sequence[Ids]) -> list[list[str]]:
        """Keywords of clusters, given by ids, whatever else is asked for; none without texts."""
        with self._lock:
            self._refresh()
            sampled = [_spread(ids, _MOST_MEMBERS).tolist() for ids in clusters]
            self._know([i for ids in sampled for i in ids])
            found = Keywords(self._terms.words, self._everything, KEYWORDS)
            return [
                found.of(
                    self._counted(ids), self._counted([i for i in ids if i not in self._background])
                )
                for ids in sampled
            ]

    def _counted(self, ids: Sequence[int]) -> Counted:
        places = np.array([self._places[i] for i in ids], np.int64)
        return self._terms.counted(places, np.zeros_like(places), 1)[0]

    def _refresh(self) -> None:
        """Take another sample if there are a tenth more records, or too many words are kept."""
        collection = self._service.collection
        grown = collection.next_id > self._next_id * 1.1 + 10
        if not grown and len(self._terms) < 5 * _BACKGROUND:
            return
        self._terms, self._places = Terms(), {}
        self._next_id = collection.next_id
        background = _spread(collection.ids, _BACKGROUND).tolist()
        self._know(background)
        self._background, self._everything = frozenset(background), self._counted(background)

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
