"""Clusterings as lists: the one that stands, and those of a recent version."""

import re
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .handles import Handle
from .problems import Problem
from .schemas import Cluster, ClusterId, Cut
from .service import Service
from .versions import How

Ids = NDArray[np.int64]

_AFTER = re.compile(r"([0-9]{1,15})-([0-9]{1,15})")
_NUMBER = re.compile(r"[0-9]{1,15}")
_AVERAGED = 200
"""Members whose confidence is averaged, of standing clusters."""


class Listed(Protocol):
    """A clustering whose clusters have names, sizes and members."""

    def cut(self) -> Cut: ...

    def page(self, sort: str, after: str | None, limit: int) -> tuple[list[Cluster], str | None]:
        """Some clusters, and how to go on after them; None on the last page."""

    def members(self, name: ClusterId) -> Ids:
        """The ids of a cluster's points, ascending; a 404, 409 or 410 if there is none."""

    def confidences(self, ids: list[int]) -> list[float | None]: ...

    def cohesion(self, name: ClusterId, members: Ids) -> float | None: ...


def listed(service: Service, how: How | None) -> Listed:
    """The clustering that is asked for; without a wish, the one that stands."""
    if how is None and service.standing.is_kept:
        return Standing(service)
    return OfVersion(service, how)


class Standing:
    """The standing clustering, as it is now."""

    def __init__(self, service: Service) -> None:
        self._service, self._standing = service, service.standing

    def cut(self) -> Cut:
        collection = self._service.collection
        return Cut(
            by="standing", value=self._standing.distance, operation=collection.operation,
            event=self._standing.last_event, n_clusters=self._standing.n_clusters or 0,
            n_points=len(collection),
        )  # fmt: skip

    def page(self, sort: str, after: str | None, limit: int) -> tuple[list[Cluster], str | None]:
        numbers, sizes = self._standing.sizes()
        order = _order(sort, numbers, sizes)
        start = 0
        if after is not None:
            found = _AFTER.fullmatch(after)
            if found is None:
                raise _wrong_page()
            start = _place_after(sort, numbers[order], sizes[order], int(found[2]), int(found[1]))
        page = order[start : start + limit]
        clusters = [
            Cluster(cluster=number, size=size)
            for number, size in zip(numbers[page].tolist(), sizes[page].tolist(), strict=True)
        ]
        more = start + limit < len(order)
        return clusters, f"{clusters[-1].size}-{clusters[-1].cluster}" if more else None

    def members(self, name: ClusterId) -> Ids:
        if not _NUMBER.fullmatch(str(name)):
            raise Problem(404, "standing clusters have numbers; for others, say k, min_size, ...")
        return self._standing.members(int(name))

    def confidences(self, ids: list[int]) -> list[float | None]:
        version = self._service.versions.peek()
        if version is None:
            return [None] * len(ids)
        places = map(version.place, ids)
        return [None if p is None else self._service.confidence(version, p) for p in places]

    def cohesion(self, name: ClusterId, members: Ids) -> float | None:
        firm = [c for c in self.confidences(members[:_AVERAGED].tolist()) if c is not None]
        return round(sum(firm) / len(firm), 3) if firm else None


class OfVersion:
    """A clustering of a recent version of the tree."""

    def __init__(self, service: Service, how: How | None) -> None:
        self._clustering = service.clustering(how)
        self._version = self._clustering.version

    def cut(self) -> Cut:
        how, version = self._clustering.how, self._version
        return Cut(
            by=how.by, value=how.value, operation=version.operation, event=version.event,
            n_clusters=len(self._clustering), n_points=version.table.n_points,
        )  # fmt: skip

    def page(self, sort: str, after: str | None, limit: int) -> tuple[list[Cluster], str | None]:
        clustering = self._clustering
        order = clustering.by_size if sort == "size" else np.arange(len(clustering))
        start = 0
        if after is not None:
            handle = Handle.parse(after)
            if handle is None:
                raise _wrong_page()
            firsts, sizes = clustering.firsts[order], clustering.sizes[order]
            start = _place_after(sort, firsts, sizes, handle.first, handle.size)
        labels = order[start : start + limit].tolist()
        clusters = [
            Cluster(cluster=str(clustering.handle(label)), size=int(clustering.sizes[label]))
            for label in labels
        ]
        return clusters, str(clusters[-1].cluster) if start + limit < len(order) else None

    def members(self, name: ClusterId) -> Ids:
        return self._version.table.ids[self._clustering.members(self._find(name))]

    def _find(self, name: ClusterId) -> int:
        handle = Handle.parse(str(name))
        if handle is None:
            raise Problem(404, "there is no such cluster")
        return self._clustering.find(handle)

    def confidences(self, ids: list[int]) -> list[float | None]:
        firm = self._clustering.confidence[np.searchsorted(self._version.table.ids, ids)]
        return [round(value, 3) for value in firm.tolist()]

    def cohesion(self, name: ClusterId, members: Ids) -> float | None:
        return round(float(self._clustering.cohesion[self._find(name)]), 3)


def _order(sort: str, numbers: Ids, sizes: Ids) -> Any:
    return np.lexsort((numbers, -sizes)) if sort == "size" else np.arange(len(numbers))


def _place_after(sort: str, firsts: Ids, sizes: Ids, first: int, size: int) -> int:
    """Where a list goes on after a cluster, which need not be in it any longer."""
    behind = firsts > first
    if sort == "size":
        behind = (sizes < size) | ((sizes == size) & behind)
    return int(behind.argmax()) if behind.any() else len(behind)


def _wrong_page() -> Problem:
    return Problem(422, "after: give `next` of the page before")
