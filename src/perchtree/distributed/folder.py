"""The work folder: what a fit has finished, for the case that it is given again.

It may be removed at any time, at the cost of time.
"""

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.numbering import point_nodes
from .._kernels.schema import FIRST, NONE, POINT_ROWS
from ..collection import Collection
from ..errors import CorruptFileError
from ..files.locking import FileInUseError, lock_for_writing
from ..files.replacing import replacing
from ..inputs.batches import Columns, File
from ..tree import ClusterTree
from .job import FOLDER_NAME, Input, Job
from .parts import MissingPartError, load_part, save_part
from .tasks import hash_rows, save_rows

_JOB = "job.json"
_UNFINISHED = re.compile(r"\..*\.(part|lock)")


class WorkFolder:
    """Parts of one job, in a folder of its own, and a snapshot of how far its tree has come."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from working here."""
        if self.path.exists() and not (self.path / _JOB).exists() and not self._has_parts_only():
            raise FileExistsError(
                f"{self.path} has files that are not of an earlier fit: name another folder by "
                "--work"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / _JOB).touch()
        try:
            with lock_for_writing(self.path / _JOB):
                yield
        except FileInUseError:
            raise FileInUseError(f"{self.path} is used by another fit: wait for it") from None

    def _has_parts_only(self) -> bool:
        """Whether nothing is there but parts: workers may write some after the folder was removed,
        until they notice that the driver is gone."""
        names = (entry.name for entry in self.path.iterdir())
        return all(FOLDER_NAME.fullmatch(name) or _UNFINISHED.fullmatch(name) for name in names)

    def job(self, fingerprint: str) -> Job | None:
        """The job that was begun here, if it is the same."""
        try:
            known = json.loads((self.path / _JOB).read_text())
            if known["fingerprint"] != fingerprint:
                return None
            fields = known["job"]
            name, columns, form, shuffle = fields["input"]
            picked = (tuple(value) if isinstance(value, list) else value for value in columns)
            fields["input"] = Input(name, Columns._make(picked), form, shuffle)
            fields["file"] = File(*fields["file"])
            return Job(**fields)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def begin(self, fingerprint: str, job: Job, tree: ClusterTree | None) -> Job:
        """Forget what is here, and begin a job; the points of a tree become parts of it."""
        self._clear()
        if tree is not None:
            n_points = len(_leaves_of(tree)[0])
            job = job._replace(n_base=-(-n_points // job.block_rows))
            for block in range(-job.n_base, 0):
                save_base(job, tree, block)
        self.mark(fingerprint, job)
        return job

    def mark(self, fingerprint: str, job: Job) -> None:
        """Write down what the job is, for the next driver, and a mark that all machines must see.

        The folder is made anew if it is gone.
        """
        save_part(job.mark_path, {})
        about = json.dumps({"fingerprint": fingerprint, "job": job._asdict()})
        # Somebody may be removing the folder just now.
        with contextlib.suppress(FileNotFoundError), replacing(self.path / _JOB) as file:
            file.write(about.encode())

    def _clear(self) -> None:
        """Remove everything but the lock."""
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != _JOB and not entry.name.endswith(".lock"):
                entry.unlink(missing_ok=True)
        (self.path / _JOB).write_text("")

    def remove(self, job: Job) -> None:
        """Everything is done: remove the job's parts, and the folder unless another fit has begun
        in it meanwhile."""
        shutil.rmtree(job.path(), ignore_errors=True)
        with contextlib.suppress(OSError, FileInUseError), lock_for_writing(self.path / _JOB):
            shutil.rmtree(self.path, ignore_errors=True)

    def snapshot(self, job: Job) -> Collection | None:
        """How far the tree had come, if that is known."""
        if not job.snapshot_path.exists():
            return None
        try:
            return Collection.open(job.snapshot_path)
        except (CorruptFileError, OSError):
            return None


def holds_base(job: Job, tree: ClusterTree | None) -> bool:
    """Whether the points that were there when the job began are there, and the same."""
    if tree is None:
        return job.n_base == 0 and job.first_number == 0
    ids, rows = _leaves_of(tree)
    before = ids < job.first_number
    hashes = hash_rows(tree._tree.points[rows[before]])
    try:
        parts = [
            load_part(job.rows_path(block), ("numbers", "hashes"))[1]
            for block in range(-job.n_base, 0)
        ]
    except MissingPartError:
        return False
    empty: dict[str, NDArray[Any]] = {
        "numbers": np.empty(0, np.int32),
        "hashes": np.empty((0, 2), np.uint64),
    }
    known = {name: np.concatenate([part[name] for part in [empty, *parts]]) for name in empty}
    return np.array_equal(known["numbers"], ids[before]) and np.array_equal(known["hashes"], hashes)


def save_base(job: Job, tree: ClusterTree, block: int) -> None:
    """Write a block of the points that were there when the job began."""
    ids, rows = _leaves_of(tree)
    start = (job.n_base + block) * job.block_rows
    stop = min(start + job.block_rows, int(np.searchsorted(ids, job.first_number)))
    save_rows(job, block, tree._tree.points[rows[start:stop]], ids[start:stop], {}, [])


def _leaves_of(tree: ClusterTree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first id of every leaf, in ascending order, and its row of `Tree.points`."""
    arrays = tree._tree
    ids = arrays.nodes[point_nodes(int(arrays.state[POINT_ROWS])), FIRST].astype(np.int64)
    rows = np.flatnonzero(ids != NONE)
    rows = rows[np.argsort(ids[rows])]
    return ids[rows], rows
