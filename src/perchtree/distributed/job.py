"""What all tasks of one fit have in common: the input, how it is cut, where parts are."""

import functools
import hashlib
import itertools
import json
import platform
import re
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple, cast

import llvmlite.binding
import numba
import numpy as np

from .. import __version__
from ..inputs.batches import Columns, File, InputError, Ranged
from ..inputs.opening import open_input
from ..inputs.stores import Store, is_address

FEWEST_ROWS, MOST_ROWS = 1024, 2**15
"""Rows of a block. Large ones are compared with what a worker has read while it is in memory."""
_BLOCKS = 64
"""Blocks of an input that is neither small nor large."""
_LARGEST_BLOCK = 2**26
"""Bytes of a block."""
FEWEST_PAIRS, MOST_PAIRS = 2**26, 2**35
"""Pairs that a task compares: a fraction of a second, or about two minutes."""
_TASKS = 1024
"""Tasks of an input that is neither small nor large."""
_TASK_BLOCKS = 16
"""Blocks that a task compares one with, at least: the first ones cost most, as any point may still
be the nearest."""


FOLDER_NAME = re.compile(r"job-[0-9a-f]{16}")
"""Where a job keeps its parts, inside the work folder."""


class Input(NamedTuple):
    """How any machine opens the input."""

    name: str
    columns: Columns
    form: str | None = None
    shuffle: int | None = None

    def open(self) -> Ranged:
        """Open it; InputError if it is of a kind of which no range can be read."""
        source = open_input(self.name, self.columns, form=self.form, shuffle=self.shuffle)
        if not hasattr(source, "between"):
            raise InputError(
                f"{self.name}: a cluster reads .npy and Parquet files, or folders of them: convert "
                "it, or leave out --ray"
            )
        return cast(Ranged, source)

    def has(self, file: File) -> bool:
        """Whether this machine sees a file of it. A folder alone may be an empty mount point."""
        if is_address(self.name):
            return Store(self.name).has(file)
        try:
            return Path(file.name).stat().st_size == file.n_bytes
        except OSError:
            return False


class Job(NamedTuple):
    """Everything that tasks need to know, small enough to go with each of them."""

    folder: str
    input: Input
    first_row: int
    stop_row: int
    n_features: int
    """0 if vectors are made of texts."""
    cosine: bool
    k: int
    first_number: int
    """Row r of the input has the number `first_number` + r; points that were there have their ids.

    Of two points, the one with the smaller id has the smaller number."""
    n_base: int
    """Parts with the points that were there."""
    block_rows: int
    task_blocks: int
    """With how many blocks a task compares its own."""
    versions: dict[str, str]
    token: str
    """Of no other job: what workers have read, and the parts that they write, belong to this one,
    even if a worker of an earlier job in the same work folder comes late."""
    changes: int
    """Of the tree, before the job began."""
    file: File
    """The first one of the input: a machine that does not see it does not share the input."""
    files: str
    """A fingerprint of all of them: whoever reads rows has to see the same ones."""

    @property
    def n_blocks(self) -> int:
        return -(-(self.stop_row - self.first_row) // self.block_rows)

    def rows_of(self, block: int) -> range:
        """The rows of the input that a block consists of."""
        first = self.first_row + block * self.block_rows
        return range(first, min(first + self.block_rows, self.stop_row))

    def spans(self, block: int) -> list[range]:
        """The tasks of a block: with which blocks before it, and itself, it is compared.

        Blocks of points that were there are numbered from -`n_base`. Tasks are of about the same
        size, so that workers end together, though later blocks have more of them.
        """
        n_before = self.n_base + block + 1
        n_tasks = -(-n_before // self.task_blocks)
        edges = [-self.n_base + n_before * task // n_tasks for task in range(n_tasks + 1)]
        return [range(*ends) for ends in itertools.pairwise(edges)]

    # Where parts are

    def path(self, *names: str) -> Path:
        return Path(self.folder, f"job-{self.token}", *names)

    @property
    def mark_path(self) -> Path:
        """A file of the driver's: a machine that does not see it does not share the work folder."""
        return self.path("mark")

    def rows_path(self, block: int) -> Path:
        return self.path("rows" if block >= 0 else "base", f"{abs(block):08}")

    def found_path(self, block: int, span: range) -> Path:
        return self.path("found", f"{block:08}", f"{span.start}_{span.stop}")

    def cells_path(self, since: int) -> Path:
        return self.path("cells", f"{since:010}")

    def looked_path(self, since: int, start: int, stop: int) -> Path:
        return self.path("looked", f"{since:010}", f"{start}_{stop}")

    @property
    def copies_path(self) -> Path:
        return self.path("copies")

    @property
    def axes_path(self) -> Path:
        return self.path("axes")

    @property
    def snapshot_path(self) -> Path:
        return self.path("snapshot.perch")


def cut(n_rows: int, n_features: int, block_rows: int | None) -> tuple[int, int]:
    """Rows of a block, and blocks that a task compares one with.

    They follow from the input alone: with more workers, finished parts can still be used.
    """
    pairs = min(max(n_rows**2 // 2 // _TASKS, FEWEST_PAIRS), MOST_PAIRS)
    if block_rows is None:
        wanted = 1 << max(0, n_rows // _BLOCKS - 1).bit_length()
        long = 1 << (isqrt(pairs // _TASK_BLOCKS).bit_length() - 1)
        fitting = _LARGEST_BLOCK // (4 * max(1, n_features))
        block_rows = max(1, min(max(wanted, FEWEST_ROWS), long, MOST_ROWS, fitting))
    return block_rows, max(1, pairs // block_rows**2)


def own_versions() -> dict[str, str]:
    """What must be the same everywhere, or distances could differ in the last bit."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "perchtree": f"{__version__} ({_digest_of_sources()})",
        "numpy": np.__version__,
        "numba": numba.__version__,
        "processor": numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name(),
    }


@functools.cache
def _digest_of_sources() -> str:
    digest = hashlib.blake2b(digest_size=4)
    root = Path(__file__).parent.parent
    for source in sorted(root.rglob("*.py")):
        digest.update(str(source.relative_to(root)).encode() + source.read_bytes())
    return digest.hexdigest()


def fingerprint_of(files: list[File]) -> str:
    """By which machines tell that they see the same files; their clocks may differ."""
    return fingerprint(files=[(file.name, file.n_bytes) for file in files])


def fingerprint(**facts: Any) -> str:
    """Of what parts were made: other facts, other parts."""
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
