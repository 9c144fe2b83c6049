"""fit and add with --ray: a cluster searches."""

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
    from ..distributed.cluster import RayWorkers
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


def joined_cluster(
    collection: "Collection", address: str | None
) -> "contextlib.AbstractContextManager[RayWorkers | None]":
    """The cluster at an address, if one is wanted: it is asked for before anything that takes long
    is done."""
    if address is None:
        return contextlib.nullcontext()
    from ..distributed.cluster import connected

    return connected(address, collection.settings.n_jobs)


def fit_on_cluster(
    workers: "RayWorkers",
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
    """Insert an input and save the tree, unless it is interrupted; the result, and who searched."""
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
    fit = Fit(collection, asked, workers)
    n_rows = (fit.size or 0) - (asked.skip_rows if begun is None else begun)
    with _shown(_Told(collection.next_id, n_rows), quiet) as fit.show:
        taken = fit.run(stop)
    if fit.n_resumed and not quiet:
        say(f"{count(fit.n_resumed, 'point')} were in a snapshot of {asked.work} already")
    if not stop.asked:
        collection.save(path)
        fit.done()
    return taken, f", searched by {count(workers.n_workers, 'worker')}"


@contextlib.contextmanager
def _shown(told: "_Told", quiet: bool) -> "Iterator[Callable[[Figures, int], None]]":
    """A bar in a terminal, a line now and then elsewhere."""
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
            line = f"{figures.doing}: {told.line(figures, next_id)}{told.left(figures, next_id)}"
            if time.monotonic() - last >= _EVERY:
                last = time.monotonic()
                say(line)

        yield print_now_and_then


class _Told:
    """What is said about progress."""

    def __init__(self, first_id: int, n_rows: int) -> None:
        self._first_id, self._n_rows = first_id, n_rows
        self._searching: tuple[int, float] | None = None
        """How many points there were when searching began, and when that was."""
        self._begin: tuple[float, float] | None = None

    def share(self, figures: "Figures", next_id: int) -> float:
        """How much is done: of all comparisons, or of all rows if inserting them takes longer."""
        if figures.doing != "searching":
            return 0.0
        inserted = min(1.0, (next_id - self._first_id) / max(1, self._n_rows))
        return min(inserted, figures.tasks_done / figures.n_tasks) if figures.n_tasks else inserted

    def line(self, figures: "Figures", next_id: int) -> str:
        workers, n_blocks = count(figures.n_workers, "worker"), count(figures.n_blocks, "block")
        if figures.doing != "searching":
            return f"{figures.read:,} of {n_blocks} read, {workers}"
        if self._searching is None:
            self._searching = next_id, time.monotonic()
        before, since = self._searching
        speed = (next_id - before) / max(time.monotonic() - since, 1e-9)
        blocks = f"{figures.inserted:,} of {n_blocks} inserted"
        if figures.n_tasks:
            blocks = f"{figures.searched:,} of {n_blocks} searched, {figures.inserted:,} inserted"
        return f"{blocks}, {speed:,.0f} rows/s, {workers}"

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
