"""A tree from rows that a cluster has read and compared; it grows here, and is the same."""

import contextlib
import functools
import hashlib
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collection import Collection
from ..collection.intake import Intake, Stop, Taken, check_features, fitting_keys
from ..encode.making import store_encoder
from ..inputs.batches import Batch, Problem
from ..inputs.parquet import Parquet
from ..search.cells import CellsSearch
from ..settings import Settings
from ..tree import ClusterTree
from .celled import CellsOfWorkers
from .cluster import Workers
from .folder import WorkFolder, holds_base, save_base
from .job import Input, Job, cut, fingerprint, fingerprint_of, own_versions
from .numbering import Numbering
from .parts import from_bytes
from .replaying import replay
from .running import Figures, Run, running
from .searching import FoundSearch

_PEEKED = 1024
"""Rows that are looked at here, to see what an input is like."""
SNAPSHOT_SECONDS = 600.0


class Asked(NamedTuple):
    """What a fit is asked to do."""

    input: Input
    work: Path
    skip_rows: int = 0
    begun: int | None = None
    """The first row that a folder does not have yet, if it has taken in some."""
    skip_bad: bool = False
    block_rows: int | None = None
    name: str = ""
    """Under which a folder remembers how far the input was taken in."""
    seconds: float = SNAPSHOT_SECONDS
    """Between snapshots of a tree that no folder keeps."""


def check_settings(settings: Settings) -> None:
    """Refuse searches that depend on the shape of the tree."""
    why = None
    if settings.collapses:
        why = "with max_leaves, leaves change with every insert"
    elif settings.search == "beam":
        why = "a beam search looks at the tree as it is"
    if why is not None:
        raise ValueError(f"{why}: only one machine can do that; leave it out, or --ray")


class Fit:
    """Brings an input into a collection by the workers of a cluster."""

    live = False

    def __init__(
        self,
        collection: Collection,
        asked: Asked,
        workers: Workers,
        show: Callable[[Figures, int], None] = lambda _figures, _row: None,
    ) -> None:
        check_settings(collection.settings)
        self.collection, self._asked, self._workers, self.show = collection, asked, workers, show
        self._folder = WorkFolder(asked.work)
        self._source = asked.input.open()
        self.name, self.size = self._source.name, self._source.size
        self._found: FoundSearch | None = None
        self._numbering: Numbering
        self._run: Run
        self._job: Job | None = None
        """Known once rows can be inserted."""
        self._block: tuple[int, NDArray[np.int32]]
        self._installed = contextlib.ExitStack()
        self.n_resumed = 0
        """Points that an earlier fit, which was interrupted, had inserted."""

    @property
    def feature_names(self) -> list[str] | None:
        return self._source.feature_names

    def run(self, stop: Stop) -> Taken:
        """Insert everything. After an interruption, what was inserted is in the collection."""
        with self._folder.locked(), self._installed:
            try:
                first_row = self._begin()
            except KeyboardInterrupt:
                stop.asked = True
                stop.ignore()
                return Taken(self._asked.begun or self._asked.skip_rows, [], 0)
            intake = _Intake(self, first_row, self._asked)
            if not self.collection.is_kept:
                intake.checkpoint_to(str(self._run.job.snapshot_path), self._asked.seconds)
            taken = intake.run(stop)
            if stop.asked:
                self._save_snapshot()
            return taken

    def _save_snapshot(self) -> None:
        """Save how far it has come, for the same command if it is given again."""
        if len(self.collection) and not self.collection.is_kept:
            self.keep_folder()
            self.collection.save(self._run.job.snapshot_path)

    def done(self) -> None:
        """The tree is saved: forget what was only kept for an interruption."""
        if self._job is not None:
            self._folder.remove(self._job)

    def keep_folder(self) -> None:
        """Make the work folder anew if somebody has removed it."""
        self._run.keep_mark()

    # Beginning

    def _begin(self) -> int:
        """Read the input, and go on with an earlier fit if there is one; the next row to insert."""
        collection, mark = self.collection, fingerprint(**self._facts())
        job, came = self._folder.job(mark), collection
        is_as_it_began = job is not None and self._changes == job.changes
        if job is not None and is_as_it_began and not collection.is_kept:
            came = self._folder.snapshot(job) or collection
        next_row = None
        if job is not None and holds_base(job, came._tree):
            self._start(job, mark)
            next_row = job.first_row
            if came.next_id > job.first_number:
                next_row = replay(job, self._run, came, self._numbering)
        if next_row is None:  # nothing was begun, or something else has happened since
            self._installed.close()
            job, came = self._folder.begin(mark, self._new_job(), collection._tree), collection
            self._start(job, mark)
            next_row = job.first_row
        if came is not collection:
            self.n_resumed = came.next_id - collection.next_id
            collection.take_over(came)
        assert job is not None
        self._run.begin((next_row - job.first_row) // job.block_rows, search=not self._in_cells)
        self._use_search()
        self._job = job
        return next_row

    def _save_base(self, block: int) -> None:
        save_base(self._run.job, self.collection.tree, block)

    @property
    def _in_cells(self) -> bool:
        return self.collection.settings.search == "cells"

    def _start(self, job: Job, mark: str) -> None:
        self._folder.mark(mark, job)
        self._workers.begin(job, self.collection.encoder)
        self._numbering = Numbering(job.first_number, job.stop_row, job.first_row)
        self._run = self._installed.enter_context(running(job, self._workers, self._shown))
        self._run.own[job.mark_path] = functools.partial(self._folder.mark, mark, job)
        for block in range(-job.n_base, 0):
            self._run.own[job.rows_path(block)] = functools.partial(self._save_base, block)
        group = 1
        if isinstance(self._source, Parquet):  # a row group is read as a whole
            group = -(-self._source.largest_group // job.block_rows)
        self._run.read(group)
        if not self._in_cells:
            self._run.find_copies_and_axes()

    def _facts(self) -> dict[str, Any]:
        collection = self.collection
        settings = collection.settings.as_dict()
        settings.pop("n_jobs")
        encoder = None
        if collection.encoder is not None:
            meta, columns = store_encoder(collection.encoder)
            digest = hashlib.blake2b(digest_size=16)
            for name in sorted(columns):
                digest.update(np.asarray(columns[name]).tobytes())
            encoder = [meta, digest.hexdigest()]
        return self._asked.input._asdict() | {
            "files": self._source.files(), "settings": settings, "encoder": encoder,
            "skip_rows": self._asked.skip_rows, "block_rows": self._asked.block_rows,
            "versions": own_versions(),
        }  # fmt: skip

    @property
    def _changes(self) -> int:
        tree = self.collection._tree
        return 0 if tree is None else tree.changes

    def _new_job(self) -> Job:
        collection, asked = self.collection, self._asked
        n_rows, first_row = self.size or 0, asked.skip_rows if asked.begun is None else asked.begun
        if first_row >= n_rows:
            raise ValueError(f"{self.name}: there are no rows to insert")
        peeked = next(self._source.between(first_row, min(first_row + _PEEKED, n_rows), _PEEKED))
        if len(peeked.X):
            check_features(collection, peeked)
        n_features = peeked.X.shape[1]
        block_rows, task_blocks = cut(n_rows - first_row, n_features, asked.block_rows)
        files = self._source.files()
        return Job(
            folder=str(asked.work.resolve()),
            input=asked.input,
            first_row=first_row,
            stop_row=n_rows,
            n_features=n_features,
            cosine=collection.settings.is_cosine,
            k=collection.settings.neighbors,
            first_number=collection.next_id,
            n_base=0,
            block_rows=block_rows,
            task_blocks=task_blocks,
            versions=own_versions(),
            token=secrets.token_hex(8),
            changes=self._changes,
            file=files[0],
            files=fingerprint_of(files),
        )

    def _shown(self, figures: Figures) -> None:
        self.show(figures, self.collection.next_id)

    # What the intake asks for

    def batches(self, n_rows: int) -> Iterator[Batch]:
        """The rows of one block after the other, as workers have read them."""
        job = self._run.job
        for block in range(self._run.first_block, job.n_blocks):
            self._run.inserted = block
            part = self._run.rows(block)
            rows = part["numbers"].astype(np.int64) - job.first_number
            self._block = block, part["numbers"]
            yield Batch(
                part["rows"], from_bytes(part["companions"]), rows, self._source.place,
                [Problem(*problem) for problem in from_bytes(part["bad"])], job.rows_of(block).stop,
            )  # fmt: skip

    def insert(self, batch: Batch) -> None:
        """Insert rows of the block that was handed out last."""
        collection, job = self.collection, self._run.job
        block, numbers = self._block
        own = batch.rows + job.first_number
        self._numbering.note(own, collection.next_id + np.arange(len(own)))
        answers, first_id = None, collection.next_id
        if not self._in_cells:
            answers = self._run.answers(block, numbers).of(np.isin(numbers, own))
        X, companions = batch.X, batch.companions
        if len(collection) == 0 and collection.encoder is None:
            collection.feature_names = self.feature_names
        if collection._tree is None:  # the first point needs no neighbour
            collection.add_points(X[:1], **{name: v[:1] for name, v in companions.items()})
            X, companions = X[1:], {name: v[1:] for name, v in companions.items()}
            self._use_search()
        if answers is not None and self._found is not None:
            self._found.expect(first_id, answers)
        if len(X):
            collection.add_points(X, **companions)

    def _use_search(self) -> None:
        """Let the tree ask for what workers find, once there is a tree."""
        tree = self.collection._tree
        if tree is None:
            return
        if self._in_cells:
            self._installed.enter_context(self._looking(tree))
        else:
            self._found = FoundSearch(tree.leaf_search, self._numbering)
            self._installed.enter_context(tree.searching_by(self._found))

    def _looking(self, tree: ClusterTree) -> contextlib.AbstractContextManager[None]:
        search = tree.leaf_search
        assert isinstance(search, CellsSearch)
        return search.looking_elsewhere(
            tree._tree, CellsOfWorkers(self._run, self._numbering, search)
        )


class _Intake(Intake):
    """Takes in what workers have read: it is checked and encoded."""

    def __init__(self, fit: Fit, first_row: int, asked: Asked) -> None:
        super().__init__(
            fit.collection, fit, n_rows=1, first_row=first_row, skip_bad=asked.skip_bad,
            name=asked.name,
        )  # fmt: skip
        self._fit = fit

    def _fitting(self, batch: Batch) -> Batch:
        return fitting_keys(self.collection, batch) if len(batch.X) else batch

    def _insert(self, batch: Batch) -> None:
        self._fit.insert(batch)

    def _save_if_due(self, stop: Stop) -> None:
        self._fit.keep_folder()
        with contextlib.suppress(FileNotFoundError):  # it is removed just now
            super()._save_if_due(stop)
