"""Runs: one in a process of its own, within limits; finished ones are kept and not repeated."""

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results" / "runs.jsonl"

TIME_LIMIT = 300.0
MEMORY_LIMIT = 16.0
"""Seconds and GB for one run, loading aside."""


_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


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


Runner = Callable[[list[Run]], list[Result]]
"""Carries out runs that differ by their seed alone, until one of them ends badly."""


def run_all(
    left: Iterable[Run], results: Results, runner: Runner, jobs: int = 1
) -> Iterator[tuple[Run, Result]]:
    """Run these, so many side by side; runs that differ by their seed alone, one after another."""
    groups = (list(group) for _, group in itertools.groupby(left, lambda run: run.without_seed))
    under_way: dict[Future[list[Result]], list[Run]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        while True:
            for runs in groups:
                if results.blown_up(runs[0]) is None:  # meanwhile
                    under_way[pool.submit(runner, runs)] = runs
                if len(under_way) == jobs:
                    break
            if not under_way:
                return
            for ended in wait(under_way, return_when=FIRST_COMPLETED).done:
                for run, result in zip(under_way.pop(ended), ended.result(), strict=False):
                    results.add(run, result | {"date": time.strftime("%Y-%m-%d")})
                    yield run, results.of[run]


def run_apart(
    runs: list[Run],
    time_limit: float = TIME_LIMIT,
    memory_limit: float = MEMORY_LIMIT,
    threads: int | None = None,
) -> list[Result]:
    """Runs in a process of their own. Whatever happens to them is a result, and ends it."""
    threads = threads or os.cpu_count() or 1
    limited = dict.fromkeys(_THREADS, str(threads))
    given = json.dumps([run._asdict() for run in runs])
    command = [sys.executable, "-m", "experiments.worker", given, str(memory_limit)]
    start = time.perf_counter()
    ended = "ok"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=len(runs) * time_limit + 60,
            env=os.environ | limited,
        )  # fmt: skip
        output, errors = done.stdout, done.stderr
        if done.returncode != 0:
            by_memory = "MemoryError" in errors or "bad_alloc" in errors or done.returncode == -9
            ended = "memory" if by_memory else "failed"
    except subprocess.TimeoutExpired as stopped:
        output = (stopped.stdout or b"").decode()
        errors, ended = "", "time"
    found: list[Result] = [json.loads(line) for line in output.splitlines() if line[:1] == "{"]
    for result in found:
        if result["seconds"] > time_limit:
            result |= {"status": "time", "limit": time_limit}
    if ended != "ok":
        message = (errors.strip().splitlines() or [""])[-1][:200]
        found.append({"status": ended, "limit": time_limit, "message": message})
    wall = round((time.perf_counter() - start) / max(len(found), 1), 1)
    return [result | {"wall": wall, "threads": threads} for result in found]
