"""fit and add with --ray: the same, searched by a cluster."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import Reading
from .running import count, say

if TYPE_CHECKING:
    from ..collection import Collection
    from ..collection.intake import Stop, Taken
    from ..distributed.running import Figures

_EVERY = 10.0
"""Seconds between lines where there is no terminal."""


def check_options(collection: "Collection", options: dict[str, Any], *, update: bool) -> None:
    """Refuse what a cluster cannot do, before anything is read."""
    if options["ray"] is None:
        if options["work"] is not None:
            raise click.UsageError("--work belongs to --ray")
        return
    if update:
        raise click.UsageError(
            "--update takes points out of the tree while others are searched for: leave out --ray"
        )
    from ..distributed.cluster import load_ray
    from ..distributed.fitting import check_settings

    check_settings(collection.settings)
    load_ray()


def fit_on_cluster(
    collection: "Collection",
    path: str,
    name: str,
    reading: Reading,
    options: dict[str, Any],
    remembered: str,
    begun: int | None,
    stop: "Stop",
    *,
    quiet: bool,
) -> "tuple[Taken, str]":
    """Insert an input and save the tree; what came of it, and by whom it was searched.

    If it is interrupted, a tree that no folder keeps is saved in the work folder.
    """
    from ..distributed.cluster import connected
    from ..distributed.fitting import SNAPSHOT_SECONDS, Asked, Fit
    from ..distributed.job import Input
    from ..inputs.stores import whole_name

    columns = reading.columns(collection.feature_names, only_texts=collection.encoder is not None)
    asked = Asked(
        Input(whole_name(name), columns, reading.form, options["shuffle"]),
        Path(options["work"] or path.rstrip("/") + ".work"),
        skip_rows=options["skip_rows"],
        begun=begun,
        skip_bad=reading.skip_bad,
        name=remembered,
        seconds=options["checkpoint"] or SNAPSHOT_SECONDS,
    )
    with connected(options["ray"], collection.settings.n_jobs) as workers:
        fit = Fit(collection, asked, workers)
        with _shown(fit.size or 0, quiet) as fit.show:
            taken = fit.run(stop)
        n_workers = workers.n_workers
    if fit.n_resumed and not quiet:
        say(f"{count(fit.n_resumed, 'point')} were in a snapshot of {asked.work} already")
    if not stop.asked:
        collection.save(path)
        fit.done()
    elif not collection.is_kept and len(collection):
        collection.save(asked.work / "snapshot.perch")
    return taken, f", searched by {count(n_workers, 'worker')}"


@contextlib.contextmanager
def _shown(n_rows: int, quiet: bool) -> "Iterator[Callable[[Figures, int], None]]":
    """A bar in a terminal, a line now and then elsewhere."""
    told = _Told(n_rows)
    if quiet:
        yield lambda _figures, _next_id: None
    elif sys.stderr.isatty():
        from .progress import bar

        with bar(1000, "starting") as (progress, task):

            def update(figures: "Figures", next_id: int) -> None:
                done = told.share(figures, next_id)
                progress.update(
                    task, description=figures.doing, completed=int(1000 * done),
                    figures=told.line(figures, next_id),
                )  # fmt: skip

            yield update
    else:
        last = time.monotonic()

        def print_now_and_then(figures: "Figures", next_id: int) -> None:
            nonlocal last
            if time.monotonic() - last >= _EVERY:
                last = time.monotonic()
                say(f"{figures.doing}: {told.line(figures, next_id)}{told.left(figures, next_id)}")

        yield print_now_and_then


class _Told:
    """What is said about progress."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows, self._start = n_rows, time.monotonic()
        self._begin: tuple[float, float] | None = None
        self._first_id: int | None = None

    def share(self, figures: "Figures", next_id: int) -> float:
        """How much is done: of all comparisons or, in cells, of all rows."""
        if figures.doing != "searching":
            return 0.0
        if figures.n_tasks == 0:
            return min(1.0, next_id / max(1, self._n_rows))
        return figures.tasks_done / figures.n_tasks

    def line(self, figures: "Figures", next_id: int) -> str:
        workers = count(figures.n_workers, "worker")
        if figures.doing != "searching":
            return f"{figures.read:,} of {count(figures.n_blocks, 'block')} read, {workers}"
        if self._first_id is None:
            self._first_id, self._start = next_id, time.monotonic()
        speed = (next_id - self._first_id) / max(time.monotonic() - self._start, 1e-9)
        blocks = f"{figures.searched:,} of {count(figures.n_blocks, 'block')} searched, "
        inserted = f"{count(next_id, 'point')} inserted, {speed:,.0f}/s, {workers}"
        return blocks + inserted if figures.n_tasks else inserted

    def left(self, figures: "Figures", next_id: int) -> str:
        """When searching will be over, from how long it has taken."""
        share, now = self.share(figures, next_id), time.monotonic()
        if figures.doing != "searching":
            return ""
        if self._begin is None:
            self._begin = share, now
        before, since = self._begin
        if share <= before:
            return ""
        seconds = (now - since) * (1 - share) / (share - before)
        return f", about {_as_time(seconds)} left"


def _as_time(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
