"""What a worker has read, and keeps as long as there is room."""

import contextlib
import os
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..search.axes import Axes, Image
from ..search.images import rotate_rows
from ..search.products import Points
from .job import Job
from .parts import load_part

_SHARE = 0.4
"""Of the memory that each processor of a machine has, what a worker keeps."""
_LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
"""Where Linux says how much memory a container may use: a number, if there is a limit."""


def memory_of_machine() -> int:
    """Bytes of this machine, or of the container that this process is in."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with contextlib.suppress(OSError, ValueError):
            memory = min(memory, int(Path(limit).read_text()))
    return memory


def kept_by_worker() -> int:
    """Bytes that a worker on this machine keeps of what it has read."""
    return int(_SHARE * memory_of_machine() / (os.cpu_count() or 1))


class Block(NamedTuple):
    """Rows that have a leaf of their own, with their numbers, and their image if there are axes."""

    points: Points
    bounds: NDArray[np.float32]
    image: Image | None

    @property
    def n_bytes(self) -> int:
        arrays = [*self.points, *(self.image or ())]
        return sum(array.nbytes for array in arrays)


class Held:
    """Blocks of one job, those used last; and what belongs to all of them."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._copies = load_part(job.copies_path)[1]["copies"]
        self.axes = load_axes(job)
        self._blocks: OrderedDict[int, Block] = OrderedDict()
        self._room = kept_by_worker()

    def block(self, number: int) -> Block:
        """A block, from memory or from its file."""
        block = self._blocks.pop(number, None)
        if block is None:
            block = self._load(number)
        self._blocks[number] = block
        while len(self._blocks) > 2 and sum(b.n_bytes for b in self._blocks.values()) > self._room:
            self._blocks.popitem(last=False)
        return block

    def give_up_axes(self) -> None:
        """Compare by all features from now on, for the rest of the job."""
        self.axes = None
        for number, block in self._blocks.items():
            self._blocks[number] = block._replace(image=None)

    def _load(self, number: int) -> Block:
        _, arrays = load_part(self._job.rows_path(number), ("rows", "numbers"))
        rows, numbers = arrays["rows"], arrays["numbers"]
        own = ~np.isin(numbers, self._copies, assume_unique=True)
        if not own.all():
            rows, numbers = np.ascontiguousarray(rows[own]), np.ascontiguousarray(numbers[own])
        bounds = np.zeros((2, rows.shape[1]), np.float32)
        if len(rows):
            bounds = np.stack([rows.min(axis=0), rows.max(axis=0)])
        image = None if self.axes is None else rotate_rows(self.axes, rows, 1)
        if image is not None and not image.is_finite:
            image = None
        return Block(Points(rows, numbers), bounds, image)


def save_axes(axes: Axes | None) -> dict[str, NDArray[np.float64]]:
    """Axes as arrays of a part; none are no arrays."""
    if axes is None:
        return {}
    numbers = np.array([axes.scale, axes.split, axes.cost])
    return {"centre": axes.centre, "vectors": axes.vectors, "numbers": numbers}


def load_axes(job: Job) -> Axes | None:
    """The axes on which all workers compare rows."""
    _, arrays = load_part(job.axes_path)
    if not arrays:
        return None
    scale, split, cost = arrays["numbers"].tolist()
    return Axes(arrays["centre"], scale, arrays["vectors"], int(split), cost)
