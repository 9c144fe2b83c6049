"""The paper's experiments: `python -m experiments` runs what is missing and writes the page.

Every run is a line of results/runs.jsonl; finished runs are skipped. Interrupt it any time.
"""

import itertools
import json
import os
import time
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from .page import write_page
from .plan import FULL, QUICK, TINY, everything
from .runs import MEMORY_LIMIT, RESULTS, TIME_LIMIT, Results, Run, missing, run_all, run_apart

PAGE = Path(__file__).parent.parent / "docs" / "experiments.md"
SCALES = {"full": FULL, "quick": QUICK, "tiny": TINY}


@click.command()
@click.option("--scale", type=click.Choice(list(SCALES)), default="full", show_default=True)
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
@click.option("--time-limit", default=TIME_LIMIT, show_default=True, help="Seconds for one run.")
@click.option("--memory-limit", default=MEMORY_LIMIT, show_default=True, help="GB for one run.")
@click.option(
    "--jobs",
    default=1,
    show_default=True,
    help="Runs side by side; they share the cores, and each has its own memory limit.",
)
@click.option("--budget", type=float, help="Stop starting runs after so many minutes.")
@click.option(
    "--force",
    multiple=True,
    metavar="TEXT",
    help="Forget results of runs that contain this, and run them again.",
)
@click.option(
    "--together", is_flag=True, help="All in this process: sooner done, but without limits."
)
@click.option("--page-only", is_flag=True, help="Run nothing; write the page from what is there.")
def main(
    scale: str,
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
    console = Console()
    path = results or RESULTS.with_name(RESULTS.name if scale == "full" else f"{scale}.jsonl")
    for text in force:
        _forget(path, text)
    kept = Results(path)
    planned = list(dict.fromkeys(everything(SCALES[scale])))
    start = time.monotonic()
    if not page_only:
        left = missing(planned, kept)
        console.print(f"{len(planned)} runs, {len(left)} of them left; results in {path}")
        runner = partial(
            run_apart, time_limit=time_limit, memory_limit=memory_limit,
            threads=max((os.cpu_count() or 1) // jobs, 1),
        )  # fmt: skip
        if together:
            from .worker import measure

            runner = partial(map, measure)

        def minutes() -> float:
            return (time.monotonic() - start) / 60

        within = itertools.takewhile(lambda _: budget is None or minutes() < budget, left)
        for done, (run, result) in enumerate(run_all(within, kept, runner, jobs), 1):
            console.print(
                f"{done}/{len(left)}  {minutes():5.1f} min  {_line(run, result)}", highlight=False
            )
        if missing(planned, kept):
            console.print("The time is up; the same command goes on.")
    target = page or (PAGE if scale == "full" else path.with_name(f"{scale}.md"))
    write_page(target, kept, SCALES[scale], scale)
    console.print(f"Written: {target}")


def _line(run: Run, result: dict[str, object]) -> str:
    shown = " ".join(
        f"{name} {value:.3f}"
        for name in ("purity", "f1", "seconds")
        if isinstance(value := result.get(name), float)
    )
    setting = "" if run.parameters == "{}" else " " + run.parameters
    order = "" if run.order == "random" else f", {run.order}"
    return (
        f"{run.data}{order}: {run.algorithm}{setting}, seed {run.seed}: "
        f"{shown if result['status'] == 'ok' else result['status']}"
    )


def _forget(path: Path, text: str) -> None:
    if path.exists():
        lines = path.read_text().splitlines(keepends=True)
        path.write_text(
            "".join(line for line in lines if text not in json.dumps(json.loads(line)["run"]))
        )


if __name__ == "__main__":
    main()
