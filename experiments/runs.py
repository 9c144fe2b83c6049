"""Runs: one in a process of its own, within limits; finished ones are kept and not repeated."""

import fcntl
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results" / "runs.jsonl"
SEEDS = range(20)


class Limits(NamedTuple):
    """Seconds and GB for one run; loading and scoring take none of the time."""

    time: float
    memory: float


DEFAULT_LIMITS = Limits(time=200.0, memory=16.0)


class Run(NamedTuple):
    """What is run."""

    data: str
    rows: int | None
    algorithm: str
    parameters: str = "{}"
    """As JSON, with sorted keys."""
    order: str = "random"
    seed: int = 0

    def __str__(self) -> str:
        setting = "" if self.parameters == "{}" else " " + self.parameters
        order = "" if self.order == "random" else f", {self.order}"
        return f"{self.data}{order}: {self.algorithm}{setting}, seed {self.seed}"

    @property
    def without_seed(self) -> "Run":
        return self._replace(seed=0)


def with_parameters(run: Run, **parameters: Any) -> Run:
    known = json.loads(run.parameters)
    return run._replace(parameters=json.dumps(known | parameters, sort_keys=True))


Result = dict[str, Any]


class Results:
    """A file with one line a run; of two lines about the same run the later one counts."""

    def __init__(self, path: Path = RESULTS) -> None:
        self._path = path
        self.of: dict[Run, Result] = {}
        whole, _, rest = path.read_text().rpartition("\n") if path.exists() else ("", "", "")
        if rest:  # cut short while it was written
            path.write_text(whole + "\n" * bool(whole))
        for line in whole.splitlines():
            result = json.loads(line)
            self.of[Run(**result["run"])] = result

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Fails if another process is at work on the same file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield

    def add(self, run: Run, result: Result) -> None:
        self.of[run] = {"run": run._asdict()} | result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(self.of[run]) + "\n")

    def settle(self, run: Run, limits: Limits) -> bool:
        """Whether a run is done, or it or another order of it has hit no lower limits."""
        if self.of.get(run, {}).get("status") == "ok":
            return True
        orders = (self.of.get(run._replace(seed=seed)) for seed in SEEDS)
        return any(other is not None and has_hit(other, limits) for other in orders)


def has_hit(result: Result, limits: Limits) -> bool:
    """Whether a run came to a limit that is no lower than these."""
    status = result["status"]
    return status in Limits._fields and result["limits"][status] >= getattr(limits, status)


def missing(planned: Iterable[Run], results: Results, limits: Limits) -> Iterator[Run]:
    """What is left to run. Runs that failed, for what reason ever, are tried again."""
    seen: set[Run] = set()
    for run in planned:
        if run not in seen and not results.settle(run, limits):
            yield run
        seen.add(run)


Runner = Callable[[list[Run]], list[Result]]
"""Carries out runs that differ by their seed alone, until one of them ends badly."""


def run_all(
    left: Iterable[Run],
    results: Results,
    runner: Runner,
    jobs: int = 1,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Run, Result]]:
    """Run these, so many side by side; runs that differ by their seed alone, one after another.

    What ends badly is not tried in other orders. Once it `is_over`, nothing more is started.
    """
    groups = (list(group) for _, group in itertools.groupby(left, lambda run: run.without_seed))
    bad: set[Run] = set()
    under_way: dict[Future[list[Result]], list[Run]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        while True:
            while len(under_way) < jobs and not is_over() and (runs := next(groups, None)):
                if runs[0].without_seed not in bad:
                    under_way[pool.submit(runner, runs)] = runs
            if not under_way:
                return
            for ended in wait(under_way, return_when=FIRST_COMPLETED).done:
                for run, result in zip(under_way.pop(ended), ended.result(), strict=False):
                    if result["status"] != "ok":
                        bad.add(run.without_seed)
                    results.add(run, result | {"date": time.strftime("%Y-%m-%d")})
                    yield run, results.of[run]


_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_TO_LOAD_AND_SCORE = 600


def run_apart(
    runs: list[Run], limits: Limits = DEFAULT_LIMITS, threads: int | None = None
) -> list[Result]:
    """Runs in a process of their own. Whatever happens to them is a result, and ends it."""
    threads = threads or os.cpu_count() or 1
    given = json.dumps([run._asdict() for run in runs])
    command = [sys.executable, "-m", "experiments.worker", given, json.dumps(limits)]
    start = time.perf_counter()
    ended = "ok"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True,
            timeout=len(runs) * (limits.time + _TO_LOAD_AND_SCORE),
            env=os.environ | dict.fromkeys(_THREADS, str(threads)),
        )  # fmt: skip
        output, errors, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as stopped:
        output, errors, code = (stopped.stdout or b"").decode(), "", -signal.SIGALRM
    if code == -signal.SIGALRM:
        ended = "time"
    elif code != 0:
        by_memory = "MemoryError" in errors or "bad_alloc" in errors or code == -signal.SIGKILL
        ended = "memory" if by_memory else "failed"
    found: list[Result] = [json.loads(line) for line in output.splitlines() if line[:1] == "{"]
    if ended != "ok":
        message = (errors.strip().splitlines() or [""])[-1][:200]
        found.append({"status": ended, "limits": limits._asdict(), "message": message})
    wall = round((time.perf_counter() - start) / max(len(found), 1), 1)
    return [result | {"wall": wall, "threads": threads} for result in found]
