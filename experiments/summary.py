"""From raw results to the figures of a table: the best setting on average, ± over orders."""

from typing import NamedTuple

import numpy as np

from .plan import beginning, is_hopeless, tuned
from .runs import SEEDS, Results, Run


class Figure(NamedTuple):
    """A mean over orders, or why there is none."""

    mean: float | None
    spread: float
    count: int
    status: str = "ok"
    setting: str = "{}"
    seconds: float = float("nan")
    reason: str = ""

    def __str__(self) -> str:
        if self.mean is None:
            return "—" if self.status == "none" else f"— ({self.reason or self.status})"
        spread = f" ± {self.spread:.3f}" if self.count > 1 else ""
        return f"{self.mean:.3f}{spread}"


def best(results: Results, wanted: Run, measure: str) -> Figure:
    """Of the settings in an algorithm's grid, the one with the best mean over orders.

    Settings that were tried on fewer orders than others do not count: they lost on the first.
    While a setting has not been tried at all, there is no best.
    """
    figures = [one(results, run, measure) for run in tuned(wanted)]
    most = max(figure.count for figure in figures)
    if most == 0 or any(figure.status == "not run" for figure in figures):
        return max(figures, key=lambda figure: figure.status == "not run")
    return max((f for f in figures if f.count == most), key=lambda figure: figure.mean or 0.0)


def one(results: Results, wanted: Run, measure: str) -> Figure:
    """The mean over orders of one setting."""
    group, status, reason = [], "not run", ""
    for seed in SEEDS:
        result = results.of.get(wanted._replace(seed=seed))
        if result is None:
            continue
        status = result["status"]
        reason = f"over {result['limits']['time']:.0f} s" if status == "time" else ""
        if status == "ok" and result.get(measure) is not None:
            group.append(result)
    if status == "not run" and is_hopeless(wanted, results):
        return one(results, beginning(wanted) or wanted, measure)
    if not group:
        status = "none" if status == "ok" else status
        return Figure(None, 0.0, 0, status, wanted.parameters, reason=reason)
    values = [result[measure] for result in group]
    return Figure(
        float(np.mean(values)), float(np.std(values)), len(values), "ok", wanted.parameters,
        float(np.median([result["seconds"] for result in group])),
    )  # fmt: skip
