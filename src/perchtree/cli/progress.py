"""What is shown while a tree grows."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..collection import Collection
from ..inputs.batches import Batch, Source

_EVERY = 10.0
"""Seconds between lines where there is no terminal."""
_SHARE_FOR_DEPTH = 0.01


class Watch:
    """Figures about a growing tree, without slowing it down."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._start, self._known = time.monotonic(), len(collection)
        self._depth, self._depth_seconds, self._depth_at = 0, 0.0, 0.0

    @property
    def points_per_second(self) -> float:
        return (len(self._collection) - self._known) / max(time.monotonic() - self._start, 1e-9)

    @property
    def depth(self) -> int:
        """Measured now and then: it takes a traversal of the tree."""
        now = time.monotonic()
        if now - self._depth_at > self._depth_seconds / _SHARE_FOR_DEPTH:
            self._depth = self._collection.tree.depth.max
            self._depth_at = time.monotonic()
            self._depth_seconds = self._depth_at - now
        return self._depth

    def __str__(self) -> str:
        if len(self._collection) == 0:
            return "waiting for the first points"
        return (
            f"{len(self._collection):,} points, {self.points_per_second:,.0f}/s, "
            f"{self._collection.tree.n_leaves:,} leaves, depth {self.depth}"
        )


@contextlib.contextmanager
def shown_progress(
    collection: Collection, source: Source, *, quiet: bool
) -> Iterator[Callable[[Batch | None], None]]:
    """A bar in a terminal, a line now and then elsewhere; the function takes what was inserted."""
    watch = Watch(collection)
    if quiet:
        yield lambda _batch: None
    elif sys.stderr.isatty():
        doing = "inserting" if collection.encoder is None else "encoding and inserting"
        with bar(source.size, doing) as (progress, task):

            def update(batch: Batch | None) -> None:
                done = {} if batch is None else {"completed": batch.done}
                progress.update(task, figures=f"{watch}{_durable(collection, batch)}", **done)

            yield update
    else:
        last = time.monotonic()

        def print_now_and_then(_batch: Batch | None) -> None:
            nonlocal last
            if _batch is not None and time.monotonic() - last >= _EVERY:
                last = time.monotonic()
                print(f"perch: {watch}{_durable(collection, _batch)}", file=sys.stderr, flush=True)

        yield print_now_and_then


def _durable(collection: Collection, batch: Batch | None) -> str:
    """The row up to which everything is on disk, if the tree is in a folder."""
    if batch is None or len(batch.rows) == 0 or not collection.is_kept:
        return ""
    return f", durable up to row {int(batch.rows[-1]) + 1}"


@contextlib.contextmanager
def bar(size: int | None, doing: str) -> Iterator[tuple[Any, Any]]:
    """A bar in the terminal, and its task."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns: list[Any] = [TextColumn("[bold]{task.description}"), BarColumn(20)]
    if size is not None:
        columns += [TaskProgressColumn(), Remaining(compact=True, elapsed_when_finished=True)]
    columns.append(TextColumn("{task.fields[figures]}"))
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=4) as progress:
        task = progress.add_task(doing, total=size, figures="reading")
        yield progress, task
