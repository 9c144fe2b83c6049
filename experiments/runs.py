"""Runs: one in a process of its own, within limits; finished ones are kept and not repeated."""

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results" / "runs.jsonl"

TIME_LIMIT = 300.0
MEMORY_LIMIT = 16.0
"""Seconds and GB for one run, loading aside."""


class Run(NamedTuple):
    """What is run."""

    data: str
    rows: int | None
    algorithm: str
    parameters: str = "{}"
    """As JSON, with sorted keys."""
    order: str = "random"
    seed: int = 0

    @property
    def without_seed(self) -> "Run":
        return self._replace(seed=0)


def with_parameters(run: Run, **parameters: Any) -> Run:
    known = json.loads(run.parameters)
    return run._replace(parameters=json.dumps(known | parameters, sort_keys=True))


Result = dict[str, Any]


class Results:
    """A file with one line a run."""

    def __init__(self, path: Path = RESULTS) -> None:
        self._path = path
        self.of: dict[Run, Result] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                result = json.loads(line)
                self.of[Run(**result["run"])] = result

    def add(self, run: Run, result: Result) -> None:
        self.of[run] = {"run": run._asdict()} | result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(self.of[run]) + "\n")

    def blown_up(self, run: Run) -> str | None:
        """If the same with another seed has hit a limit or failed: how."""
        for seed in range(10):
            other = self.of.get(run._replace(seed=seed))
            if other is not None and other["status"] != "ok":
                return str(other["status"])
        return None


def missing(planned: Iterable[Run], results: Results) -> list[Run]:
    """What is left to run."""
    wanted = dict.fromkeys(planned)
    return [run for run in wanted if run not in results.of and results.blown_up(run) is None]


def run_all(
    planned: Iterable[Run], results: Results, *, time_limit: float, memory_limit: float
) -> Iterator[tuple[Run, Result]]:
    """Run what is left, one after the other."""
    for run in missing(planned, results):
        if results.blown_up(run) is not None:  # meanwhile
            continue
        result = run_apart(run, time_limit, memory_limit)
        results.add(run, result)
        yield run, result


def run_apart(run: Run, time_limit: float, memory_limit: float) -> Result:
    """One run in a process of its own. Whatever happens to it is a result."""
    command = [sys.executable, "-m", "experiments.worker", json.dumps(run._asdict())]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [*command, str(memory_limit)], capture_output=True, text=True,
            timeout=time_limit + 60,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"status": "time", "limit": time_limit, "date": _today()}
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        result: Result = json.loads(lines[-1])
        if result["status"] == "ok" and result["seconds"] > time_limit:
            result["status"] = "time"
    else:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        by_memory = "MemoryError" in last or "bad_alloc" in done.stderr or done.returncode == -9
        result = {"status": "memory" if by_memory else "failed", "message": last[:200]}
    return result | {"wall": round(time.perf_counter() - start, 1), "date": _today()}


def _today() -> str:
    return time.strftime("%Y-%m-%d")
