"""Records as answers show them: with their clusters, their confidence, and their paths."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import schemas
from .formats import Batch
from .service import Service
from .versions import Version


class Shower:
    """Makes answers about records."""

    def __init__(self, service: Service) -> None:
        self._service, self._collection = service, service.collection

    def added(self, batch: Batch, ids: NDArray[np.int64], unchanged: int) -> schemas.Added:
        """What has become of records that were to be added."""
        clusters = self._service.standing.clusters_of(ids.tolist())
        keys = ids.tolist() if batch.keys is None else batch.keys
        points = [
            schemas.Placed(key=key, cluster=cluster)
            for key, cluster in zip(keys, clusters, strict=True)
        ]
        return schemas.Added(
            operation=self._collection.operation, added=len(ids) - unchanged, unchanged=unchanged,
            points=points,
        )  # fmt: skip

    def stored(self, key: Any, created: bool) -> schemas.Stored:
        """What has become of a record that was to be put under a key."""
        ids = self._service.find([key]).tolist()
        cluster = self._service.standing.clusters_of(ids)[0] if ids[0] >= 0 else None
        operation = self._collection.operation
        return schemas.Stored(operation=operation, cluster=cluster, created=created)

    def several(self, names: list[str]) -> schemas.FoundSeveral:
        keys = [self._service.as_key(name) for name in names]
        ids = self._service.find(keys).tolist()
        shown = self._service.show([i for i in ids if i >= 0])
        return schemas.FoundSeveral(
            points=[shown[i] for i in dict.fromkeys(ids) if i in shown],
            missing=[k for k, i in zip(keys, ids, strict=True) if i not in shown],
        )

    def one(self, name: str, with_vector: bool) -> schemas.Found:
        """A record with its path; a 404 if there is none."""
        service, key = self._service, self._service.as_key(name)
        point_id = service.find_one(key)
        shown = service.show([point_id]).get(point_id)
        if shown is None:
            service.find_one(key)  # it has just been removed, or replaced
            return self.one(name, with_vector)
        vector = None
        if with_vector:
            vector = self._collection.tree.vectors(np.array([point_id]))[0].tolist()
        found = schemas.Found(
            **shown.model_dump(by_alias=False), vector=vector, operation=self._collection.operation
        )
        version = service.versions.peek()
        place = None if version is None else version.place(point_id)
        if version is not None and place is not None:
            found.version = version.operation
            found.path = _path(version, place)
            found.confidence = service.confidence(version, place)
        return found


def _path(version: Version, place: int) -> list[schemas.Node]:
    """The nodes from a point's leaf up to the root."""
    table = version.table
    return [
        schemas.Node(
            node=str(version.handle(number)), size=int(table.sizes[number]),
            height=float(table.heights[number]),
        )
        for number in version.path(int(table.leaves[place]))
    ]  # fmt: skip
