"""From an input to answers, block after block: which tasks are due, which are done."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.scan import merge_answers
from ..search.products import Nearest
from .cluster import Handle, Workers
from .job import Job
from .parts import MissingPartError, load_part
from .worker import AXES, COPIES, READ, SEARCH, Missing, UnseenError

_AHEAD = 4
"""Tasks that wait for each worker, so that none is idle while the tree takes in a block."""
_POLL = 0.5


class Task(NamedTuple):
    """A task, and the part that it leaves behind."""

    path: Path
    kind: str
    about: tuple[Any, ...]


class Figures(NamedTuple):
    """How far it is."""

    doing: str
    n_workers: int
    n_blocks: int
    read: int
    searched: int
    inserted: int
    """Blocks that are read, that are compared with all before them, and that are in the tree."""
    tasks_done: int
    n_tasks: int
    """Tasks of searching, all of about the same size."""


class Answers(NamedTuple):
    """The nearest rows of each row of a block, by their numbers.

    - `near`: float32 (rows, k); `numbers`: int32 (rows, k), NONE where there are fewer.
    """

    near: NDArray[np.float32]
    numbers: NDArray[np.int32]
    n_pairs: int
    n_computed: int

    def of(self, kept: NDArray[np.bool_]) -> "Answers":
        """Those of some of the rows."""
        return self._replace(near=self.near[kept], numbers=self.numbers[kept])


class Run:
    """One fit on a cluster."""

    def __init__(self, job: Job, workers: Workers, show: Callable[[Figures], None]) -> None:
        self.job, self._workers, self._show = job, workers, show
        self._due: deque[Task] = deque()
        self._searches: Iterator[Task] = iter(())
        """Tasks that come after all that are due; there may be millions of them."""
        self._drawn = job.n_blocks, 0
        """The block, and the first block compared with it, of the last of these that was taken."""
        self._begun: dict[Handle, Task] = {}
        self._done: set[Path] = set()
        self._doing = "reading"
        self._shown_at = 0.0
        self._left = [len(job.spans(block)) for block in range(job.n_blocks)]
        """Tasks of each block that are not done."""
        self._n_tasks, self._read = sum(self._left), 0
        self.own: dict[Path, Callable[[], None]] = {}
        """Parts that only the driver can make, and how."""
        self._unmarked: set[Handle] = set()
        """Tasks that were begun before the mark was written once more."""
        self.first_block = self.inserted = 0
        self._copies = self._first = np.empty(0, np.int32)

    def read(self, group: int) -> None:
        """Read the input; `group` blocks are read by one task."""
        job = self.job
        for start in range(0, job.n_blocks, group):
            blocks = range(start, min(start + group, job.n_blocks))
            if not all(job.rows_path(block).exists() for block in blocks):
                self._due.append(Task(job.rows_path(blocks[-1]), READ, (blocks,)))
            else:
                self._read += len(blocks)
        self._finish()

    def find_copies_and_axes(self) -> None:
        """What comparing blocks needs beside them."""
        job, self._doing = self.job, "comparing"
        for path, kind in ((job.copies_path, COPIES), (job.axes_path, AXES)):
            if not path.exists():
                self._due.append(Task(path, kind, ()))
        self._finish()
        arrays = self.result(Task(job.copies_path, COPIES, ()))[1]
        self._copies, self._first = arrays["copies"], arrays["first"]

    def begin(self, first_block: int, *, search: bool) -> None:
        """Blocks before the first one are in the tree; compare the others with all before them,
        or leave it to somebody else to order what is needed."""
        job, self._doing = self.job, "searching"
        self.first_block = self.inserted = first_block
        if not search:
            self._left, self._n_tasks = [], 0
            return
        self._left[:first_block] = [0] * first_block
        self._drawn = first_block, -job.n_base - 1
        self._searches = (
            self._search_task(block, span)
            for block in range(first_block, job.n_blocks)
            for span in job.spans(block)
        )
        self.advance(0)

    def _search_task(self, block: int, span: range) -> Task:
        return Task(self.job.found_path(block, span), SEARCH, (block, span))

    # Blocks

    def rows(self, block: int) -> dict[str, NDArray[Any]]:
        """What was read of a block."""
        names = ("rows", "numbers", "companions", "bad")
        task = Task(self.job.rows_path(block), READ, (range(block, block + 1),))
        return self.result(task, names)[1]

    def answers(self, block: int, numbers: NDArray[np.int32]) -> Answers:
        """What was found for the rows of a block, which have these numbers."""
        copied, first = self._copies_among(numbers)
        found = Nearest.unknown(len(numbers), self.job.k)
        own = np.ones(len(numbers), bool)
        own[copied] = False
        merged = Nearest(found.near[own], found.ids[own])
        n_pairs = n_computed = 0
        for span in self.job.spans(block):
            meta, arrays = self.result(self._search_task(block, span))
            merge_answers(*merged, arrays["near"], arrays["numbers"])
            n_pairs, n_computed = n_pairs + meta["n_pairs"], n_computed + meta["computed"]
        found.near[own], found.ids[own] = merged
        found.near[copied, 0], found.ids[copied, 0] = 0, first
        return Answers(*found, n_pairs, n_computed)

    def _copies_among(
        self, numbers: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The places of rows that equal an earlier one, and the numbers of those."""
        places = np.searchsorted(self._copies, numbers)
        known = np.append(self._copies, np.int32(-1))[places] == numbers
        return np.flatnonzero(known), self._first[places[known]]

    def result(
        self, task: Task, names: tuple[str, ...] | None = None
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Wait for a part; if it is missing or damaged, have it made again."""
        while True:
            while task.path not in self._done and self._is_coming(task):
                self.advance(_POLL)
            try:
                return load_part(task.path, names)
            except MissingPartError:
                self._undo(task)
                self._due.appendleft(task)

    def _is_coming(self, task: Task) -> bool:
        if task.kind == SEARCH and (task.about[0], task.about[1].start) > self._drawn:
            return True
        return task in self._due or task in self._begun.values()

    # Tasks

    def _finish(self) -> None:
        while self._due or self._begun:
            self.advance(_POLL)

    def advance(self, seconds: float) -> None:
        """Keep workers busy, and take notice of what is done; wait for that, if asked to."""
        self._begin_more()
        if self._begun:
            for handle, missing in self._workers.wait(list(self._begun), seconds):
                self._take_notice(handle, missing)
            self._begin_more()
        if time.monotonic() - self._shown_at > _POLL:
            self._shown_at = time.monotonic()
            self._show(self.figures)

    def _begin_more(self) -> None:
        most = max(1, _AHEAD * self._workers.n_workers)
        while len(self._begun) < most and (task := self._next()) is not None:
            self._begun[self._workers.submit(task.kind, *task.about)] = task

    def _next(self) -> Task | None:
        """The next task to begin, if there is one."""
        if self._due:
            return self._due.popleft()
        for task in self._searches:
            self._drawn = task.about[0], task.about[1].start
            if not task.path.exists():
                return task
            self._count(task)
        return None

    def _take_notice(self, handle: Handle, missing: Missing | None) -> None:
        task = self._begun.pop(handle)
        if missing is None:
            self._count(task)
            return
        self._due.appendleft(task)  # once the other part is there
        if missing.path == self.job.mark_path:
            self._mark_again(missing, was_begun_before=handle in self._unmarked)
        elif missing.path in self.own:
            self.own[missing.path]()
        else:
            maker = self._maker_of(missing.path)
            self._undo(maker)
            self._due.appendleft(maker)

    def _mark_again(self, missing: Missing, *, was_begun_before: bool) -> None:
        """Somebody has removed the work folder, or a machine does not see it."""
        if missing.path.exists() and not was_begun_before:
            raise UnseenError(missing.machine, self.job.folder)
        self.keep_mark()

    def keep_mark(self) -> None:
        """See that the work folder is there."""
        mark = self.job.mark_path
        if not mark.exists():
            self.own[mark]()
            self._unmarked = set(self._begun)

    def _count(self, task: Task) -> None:
        """A task is done."""
        if task.path in self._done:
            return
        self._done.add(task.path)
        if task.kind == READ:
            self._read += len(task.about[0])
        if task.kind == SEARCH:
            self._left[task.about[0]] -= 1

    def _undo(self, task: Task) -> None:
        """What a task has made is gone, or damaged."""
        task.path.unlink(missing_ok=True)
        if task.path in self._done:
            self._done.remove(task.path)
            if task.kind == READ:
                self._read -= len(task.about[0])
            if task.kind == SEARCH:
                self._left[task.about[0]] += 1

    def _maker_of(self, path: Path) -> Task:
        """The task that makes a part which a worker did not find."""
        job = self.job
        for made, kind in ((job.copies_path, COPIES), (job.axes_path, AXES)):
            if path == made:
                return Task(path, kind, ())
        block = int(path.name)
        return Task(path, READ, (range(block, block + 1),))

    @property
    def figures(self) -> Figures:
        return Figures(
            self._doing, self._workers.n_workers, self.job.n_blocks, self._read,
            self._left.count(0), self.inserted, self._n_tasks - sum(self._left), self._n_tasks,
        )  # fmt: skip

    def order(self, task: Task) -> None:
        """Have a part made, unless it is there."""
        if not task.path.exists():
            self._due.append(task)

    def forget(self, kind: str) -> None:
        """Cancel tasks of a kind whose results are no longer needed."""
        self._due = deque(task for task in self._due if task.kind != kind)
        off = [handle for handle, task in self._begun.items() if task.kind == kind]
        self._workers.cancel(off)
        for handle in off:
            del self._begun[handle]

    def stop(self) -> None:
        """Cancel tasks that nobody waits for."""
        self._due.clear()
        self._searches = iter(())
        self._workers.cancel(list(self._begun))
        self._begun.clear()


@contextlib.contextmanager
def running(job: Job, workers: Workers, show: Callable[[Figures], None]) -> Iterator[Run]:
    """A run of which no task outlives the context."""
    run = Run(job, workers, show)
    try:
        yield run
    finally:
        run.stop()
