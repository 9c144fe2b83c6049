"""Which rows of an input are in a tree already, and under which ids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from ..collection import Collection
from ..collection.intake import as_key
from .job import Job
from .numbering import Numbering
from .parts import from_bytes
from .running import Run


def replay(job: Job, run: Run, collection: Collection, numbering: Numbering) -> int | None:
    """Note the ids of all rows that are in; the first row that is not.

    None if the points that came since the job began are not the first rows of its input.
    """
    next_id, stop = job.first_number, collection.next_id
    next_row = job.first_row
    for block in range(job.n_blocks):
        part = run.rows(block)
        places = _places(collection, part, next_id, stop)
        ids = next_id + np.arange(len(places))
        tree = collection.tree
        if not tree.holds(ids).all():
            return None
        if not np.array_equal(tree.vectors(ids), part["rows"][places]):
            return None
        numbers = part["numbers"][places].astype(np.int64)
        numbering.note(numbers, ids)
        next_id += len(places)
        if len(numbers):
            next_row = int(numbers[-1]) - job.first_number + 1
        if next_id == stop:
            return next_row
    return None


def _places(
    collection: Collection, part: dict[str, NDArray[Any]], next_id: int, stop: int
) -> NDArray[np.int64]:
    """Which rows of a block were inserted, if its first one was to get the id `next_id`."""
    n_rows = len(part["numbers"])
    if not collection.has_keys:
        return np.arange(min(n_rows, stop - next_id))
    kind = collection.records.kind
    assert kind is not None
    keys = [as_key(kind, key) for key in from_bytes(part["companions"])["keys"]]
    found = np.full(n_rows, NONE, np.int64)
    known = [place for place, key in enumerate(keys) if key is not None]
    found[known] = collection.records.find([keys[place] for place in known])
    ids, first = np.unique(found, return_index=True)  # of equal keys the first one is in
    return np.sort(first[(ids >= next_id) & (ids < stop)])
