"""A rehearsal: whatever has to be compiled, or loaded, is ready before anybody waits for it.

What is compiled while rows are inserted keeps readers waiting, for seconds the first time. So a
service does once, with a few records in a temporary folder, what requests will ask of it.
"""

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from ..collection import Collection
from ..settings import Settings
from ..warmup import warm_up
from .describing import Topics
from .service import Service
from .versions import How

_ROWS, _LEAVES = 80, 8
"""Enough for every search to search ahead, and for leaves to be collapsed."""


def rehearse(settings: Settings) -> None:
    """Do what a service of a collection with these settings does, on a small scale.

    A service can do without: if there is no room for it, nothing is rehearsed.
    """
    with contextlib.suppress(OSError):
        warm_up(settings)
        _rehearse(settings)


def _rehearse(settings: Settings) -> None:
    small = settings.changed(max_leaves=_LEAVES if settings.collapses else None)
    rows = np.random.default_rng(0).random((_ROWS + 1, 2))
    rows[_ROWS] = rows[0]  # copies share a leaf
    keys = [f"k{i}" for i in range(len(rows))]
    with (
        tempfile.TemporaryDirectory(prefix="perch-") as name,
        Collection.open(
            Path(name) / "rehearsal.perchdb", write=True, sync=False, **small.as_dict()
        ) as collection,
    ):
        collection.add(rows[:_ROWS], keys=keys[:_ROWS])
        if settings.has_linkage:
            collection.keep_clusters(0.1)
        service = Service(collection, name)
        _look(service)
        collection.add(rows[_ROWS:], keys=keys[_ROWS:])
        collection.together(*keys[:2])
        collection.remove(keys[2:4])
        _look(service)


def _look(service: Service) -> None:
    """Ask for all that has to be found in the tree."""
    collection = service.collection
    service.show(service.find(collection.keys[:2].tolist()).tolist())
    service.nearest(np.zeros((1, 2)), 1)
    service.nearest(np.zeros((_LEAVES, 2)), 3)
    for number in service.standing.sizes()[0][:1].tolist():
        service.standing.members(number)
    version = service.versions.current()
    for how in (How("k", 2.0), How("min_size", 2.0), service.usual):
        clustering = version.clustering(how)
        version.handle(version.find(version.handle(version.root)))
        clustering.cohesion  # noqa: B018
    Topics(service).exemplars([collection.ids[:3]])
