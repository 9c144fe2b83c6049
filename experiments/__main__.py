"""The paper's experiments: `python -m experiments` runs what is missing and writes the page.

Every run is a line of results/runs.jsonl; finished runs are skipped. Interrupt it any time.
"""

import itertools
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from .page import write_page
from .plan import FULL, QUICK, TINY, Scale, everything
from .runs import (
    DEFAULT_LIMITS,
    RESULTS,
    Limits,
    Result,
    Results,
    Run,
    Runner,
    missing,
    run_all,
    run_apart,
)

PAGE = Path(__file__).parent.parent / "docs" / "experiments.md"
SCALES = {"full": FULL, "quick": QUICK, "tiny": TINY}


@click.command()
@click.option("--scale", type=click.Choice(list(SCALES)), default="full", show_default=True)
@click.option(
    "--data",
    multiple=True,
    metavar="NAME",
    help="A data set more for the large tables: NAME.npz, or NAME.npy and NAME.labels.npy, in the "
    "folder PERCHTREE_DATA.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="[default: results/runs.jsonl; for other scales a file of their own]",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    help="[default: docs/experiments.md; for other scales beside the results]",
)
@click.option(
    "--time-limit", default=DEFAULT_LIMITS.time, show_default=True, help="Seconds for one run."
)
@click.option(
    "--memory-limit", default=DEFAULT_LIMITS.memory, show_default=True, help="GB for one run."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs side by side; they share the cores, and each has its own memory limit.",
)
@click.option("--budget", type=float, help="Stop starting runs after so many minutes.")
@click.option(
    "--force",
    multiple=True,
    metavar="TEXT",
    help="Run again what has this in its line of progress.",
)
@click.option(
    "--together", is_flag=True, help="All in this process: sooner done, but without limits."
)
@click.option("--page-only", is_flag=True, help="Run nothing; write the page from what is there.")
def main(
    scale: str,
    data: tuple[str, ...],
    results: Path | None,
    page: Path | None,
    time_limit: float,
    memory_limit: float,
    jobs: int,
    budget: float | None,
    force: tuple[str, ...],
    page_only: bool,
    together: bool,
) -> None:
    """Run the paper's experiments, and write them up."""
    if page_only and force:
        raise click.UsageError("--force runs something, --page-only nothing")
    console = Console()
    path = results or RESULTS.with_name(RESULTS.name if scale == "full" else f"{scale}.jsonl")
    kept = Results(path)
    chosen = SCALES[scale]
    chosen = chosen._replace(large=chosen.large | dict.fromkeys(data))
    target = page or (PAGE if scale == "full" else path.with_name(f"{scale}.md"))
    if not page_only:
        limits = Limits(time_limit, memory_limit)
        threads = max((os.cpu_count() or 1) // jobs, 1)
        apart = partial(run_apart, limits=limits, threads=threads)
        left = partial(_left, chosen, kept, limits, force)
        console.print(f"{sum(1 for _ in left())} runs left; results in {path}")
        try:
            with kept.alone():
                _carry_out(left(), kept, run_here if together else apart, jobs, budget, console)
        except BlockingIOError:
            raise click.ClickException(f"another process is at work on {path}") from None
    write_page(target, kept, chosen, scale)
    console.print(f"Written: {target}")


def _left(scale: Scale, kept: Results, limits: Limits, force: tuple[str, ...]) -> Iterator[Run]:
    """What is missing, and what is to be run again."""
    forced = [run for run in kept.of if any(text in str(run) for text in force)]
    return itertools.chain(forced, missing(everything(scale, kept), kept, limits))


def _carry_out(
    left: Iterator[Run], kept: Results, runner: Runner, jobs: int, budget: float | None,
    console: Console,
) -> None:  # fmt: skip
    start = time.monotonic()

    def minutes() -> float:
        return (time.monotonic() - start) / 60

    def is_over() -> bool:
        return budget is not None and minutes() >= budget

    for done, (run, result) in enumerate(run_all(left, kept, runner, jobs, is_over), 1):
        console.print(
            f"{done}  {minutes():5.1f} min  {run}: {_shown(result)}",
            highlight=False,
            soft_wrap=True,
        )
    if is_over() and next(left, None):
        console.print("The time is up; the same command goes on.")


def run_here(runs: list[Run]) -> list[Result]:
    """All in this process, without limits."""
    from .worker import measure

    return [measure(run) for run in runs]


def _shown(result: Result) -> str:
    if result["status"] != "ok":
        return f"{result['status']} {result.get('message', '')}".strip()
    return " ".join(
        f"{name} {value:.3f}"
        for name in ("purity", "f1", "seconds")
        if isinstance(value := result.get(name), float)
    )


if __name__ == "__main__":
    main()
