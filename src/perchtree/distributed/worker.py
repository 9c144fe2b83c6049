"""The one function that runs on workers, and what their processes keep between two calls of it."""

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..encode.interface import Encoder
from ..inputs.batches import Ranged
from ..inputs.parquet import Parquet
from . import tasks
from .holding import Held
from .job import Job, fingerprint_of, own_versions
from .looking import HeldRows, look_into_cells
from .parts import MissingPartError

T = TypeVar("T")

READ, COPIES, AXES, SEARCH, CELLS = "read", "copies", "axes", "search", "cells"
NOTHING = "nothing"
"""A task without work, to measure what one costs."""

_held: dict[tuple[str, Callable[[Job], Any]], Any] = {}
"""What the last tasks of this process needed for their job, by its token, and what makes it."""


class OtherMachineError(ValueError):
    """A machine of the cluster is not like the one that the fit was started on."""


class UnseenError(OtherMachineError):
    """A machine does not see what all have to see."""

    def __init__(self, machine: str, path: str) -> None:
        super().__init__(machine, path)
        self.machine, self.path = machine, path

    def __str__(self) -> str:
        return (
            f"machine {self.machine} cannot see {self.path}: put it on a path that all machines "
            "share"
        )


class Missing(NamedTuple):
    """A part that a task needs, and that is missing or damaged; and who says so."""

    path: Path
    machine: str


def carry_out(job: Job, encoder: Encoder | None, kind: str, *about: Any) -> Missing | None:
    """Do one task, or say what it lacks."""
    check_machine(job)
    try:
        if not job.mark_path.exists():
            raise MissingPartError(job.mark_path)
        _KINDS[kind](job, encoder, *about)
    except MissingPartError as error:
        _held.clear()
        return Missing(error.path, platform.node())
    return None


def check_machine(job: Job) -> None:
    """Refuse to work with other versions, or where the input cannot be seen."""
    host, own = platform.node(), own_versions()
    for name, wanted in job.versions.items():
        if own[name] != wanted:
            hint = "install the same everywhere"
            if name == "processor":
                hint = (
                    "distances could differ in the last bit: set NUMBA_CPU_NAME to one that all "
                    "have, such as x86-64-v3, everywhere before Ray starts"
                )
            raise OtherMachineError(
                f"machine {host} has {name} {own[name]}, this one has {wanted}: {hint}"
            )
    if not job.input.has(job.file):
        raise UnseenError(host, job.input.name)


def check_folder(job: Job) -> None:
    """Refuse to work where the work folder cannot be seen."""
    check_machine(job)
    if not job.mark_path.exists():
        raise UnseenError(platform.node(), job.folder)


def opened(job: Job) -> Ranged:
    """The input, if this machine sees the files that the fit was begun with."""
    source = _holding(job, _open)
    if fingerprint_of(source.files()) != job.files:
        raise OtherMachineError(
            f"machine {platform.node()} sees other files at {job.input.name} than this one did "
            "when it began: leave them as they are, on a path that all machines share"
        )
    return source


def _open(job: Job) -> Ranged:
    source = job.input.open()
    if isinstance(source, Parquet) and job.n_features:
        source.n_features = job.n_features
    return source


def _holding(job: Job, make: Callable[[Job], T]) -> T:
    """What this process holds for a job; what it held for anything else is forgotten."""
    key = job.token, make
    if key not in _held:
        _held.clear()
        _held[key] = make(job)
    held: T = _held[key]
    return held


_KINDS: dict[str, Callable[..., None]] = {
    NOTHING: lambda _job, _encoder: None,
    READ: lambda job, encoder, blocks: tasks.read_blocks(job, opened(job), encoder, blocks),
    COPIES: lambda job, _encoder: tasks.find_copies(job),
    AXES: lambda job, _encoder: tasks.find_shared_axes(job),
    SEARCH: lambda job, _encoder, *about: tasks.search_blocks(job, _holding(job, Held), *about),
    CELLS: lambda job, _encoder, about: look_into_cells(job, _holding(job, HeldRows), about),
}
