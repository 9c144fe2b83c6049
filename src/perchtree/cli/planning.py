"""plan: how long a tree will take, and how much memory."""

from typing import TYPE_CHECKING, Any

import click

from .running import Command

if TYPE_CHECKING:
    from ..distributed.model import Constants, Plan

_PATIENCE = 3600.0
"""Seconds for which a user waits for one machine, rather than looking for more of them."""


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A whole number, also as 10e6."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = float(value)
        except ValueError:
            number = 0
        if not 1 <= number < 2**40 or number != int(number):
            self.fail(f"{value!r} is not a whole number above 0.", param, ctx)
        return int(number)


@click.command(cls=Command)
@click.option("--rows", type=Number(), required=True, help="Number of rows.")
@click.option("--dims", type=Number(), required=True, help="Number of features per row.")
@click.option("--workers", type=Number(), help="Number of processors of a Ray cluster.")
@click.option(
    "--like", metavar="INPUT",
    help="Measure with rows of this .npy or Parquet file, or folder of them. [default: random rows "
    "that resemble text embeddings]",
)  # fmt: skip
def plan(rows: int, dims: int, workers: int | None, like: str | None) -> None:
    """Say how long a tree of so many rows will take, how much memory, and by which command.

    What a comparison and an insert cost is measured here, which takes some seconds; the rest is a
    model, which docs/scale.md explains. It is an estimate, for rows like those that were measured.

    \b
    Examples:
      perch plan --rows 1e6 --dims 384
      perch plan --rows 10e6 --dims 384 --workers 100
    """
    from ..distributed.holding import kept_by_worker, memory_of_machine
    from ..distributed.measuring import measure
    from ..distributed.model import cells_plan, exact_plan
    from ..search.threads import count_jobs

    cores, memory, held = count_jobs(-1), memory_of_machine(), kept_by_worker()
    constants = measure(dims, None if like is None else _sample(like, dims))
    one = {
        "exact": exact_plan(constants, rows, dims, cores, held=held, many=False),
        "cells": cells_plan(constants, rows, dims, cores, many=False),
    }
    lines = [
        f"measured here: {1e9 * constants.pair:.2f} ns per pair, "
        f"{1e6 * constants.insert:.0f} us per insert at {constants.measured:,} points, "
        f"{1e6 * (constants.look + constants.others):.0f} us per row in cells",
        f"one machine, {cores} threads:",
        *(_told(name, found) for name, found in one.items()),
    ]
    many = {}
    if workers is not None:
        many = {
            "exact": exact_plan(constants, rows, dims, workers, held=held),
            "cells": cells_plan(constants, rows, dims, workers),
        }
        lines += [f"{workers:,} workers:", *(_told(name, found) for name, found in many.items())]
    lines += _advice(one, many, constants, memory)
    click.echo("\n".join(lines))


def _told(name: str, found: "Plan") -> str:
    told = (
        f"  {name}: {_as_time(found.seconds)} (search {_as_time(found.search)}, tree phase "
        f"{_as_time(found.tree)}; {found.bound} decides), memory {_as_bytes(found.memory)}"
    )
    if found.worker_memory:
        told += (
            f", {_as_bytes(found.worker_memory)} per worker; workers read {_as_bytes(found.read)} "
            f"in all, {_as_bytes(found.read / max(found.seconds, 1))} per second; work folder "
            f"{_as_bytes(found.work)}"
        )
    return told


def _advice(
    one: "dict[str, Plan]", many: "dict[str, Plan]", constants: "Constants", memory: int
) -> list[str]:
    """A command, and what it needs that is not there."""
    if one["exact"].seconds <= _PATIENCE or not many:
        exact = one["exact"].seconds <= max(_PATIENCE, 2 * one["cells"].seconds)
        command, chosen = ["--n-jobs", "-1"], one["exact" if exact else "cells"]
    else:
        exact = many["exact"].seconds <= max(_PATIENCE, 2 * many["cells"].seconds)
        command, chosen = ["--ray", "auto"], many["exact" if exact else "cells"]
    command = ["perch", "fit", "INPUT", "-o", "TREE.perch", *command]
    command += [] if exact else ["--search", "cells"]
    lines = [f"recommended: {' '.join(command)}"]
    if chosen.memory > 0.8 * memory:
        lines.append(
            f"the tree needs {_as_bytes(chosen.memory)}, this machine has {_as_bytes(memory)}: use "
            "a larger one, fewer dimensions, or --mode bc with --max-leaves, which bounds memory"
        )
    return lines


def _sample(name: str, dims: int) -> Any:
    import numpy as np

    from ..distributed.job import Input
    from ..distributed.measuring import FEWEST
    from ..inputs.batches import Columns, InputError

    source = Input(name, Columns()).open()
    size = source.size or 0
    picked = [
        next(source.between(start, start + 2048, 2048)).X
        for start in range(0, size, max(2048, size // 9))
    ]
    rows = np.ascontiguousarray(np.concatenate(picked), np.float32)
    if rows.shape[1] != dims:
        raise InputError(f"{name}: rows have {rows.shape[1]} features, not {dims}")
    if len(rows) < FEWEST:
        raise InputError(f"{name}: there are too few rows to measure with, {FEWEST:,} at least")
    return rows[np.isfinite(rows).all(axis=1)]


def _as_time(seconds: float) -> str:
    for unit, length in (("years", 31557600), ("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.1f} s"


def _as_bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
