"""The command line: what reading and writing cost beside the inserts."""

import contextlib
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from perchtree import Perch
from perchtree.cli import main

from .common import Row, seconds
from .streaming import D, make, write


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        return _measured(Path(name))


def _measured(folder: Path) -> list[Row]:
    X = make(50_000, 1)
    np.save(folder / "x.npy", X)
    write(X, folder / "x.parquet")
    rows = []
    for mode, parameters in {"grafted": {}, "perch": {"linkage": "box"}}.items():
        best = dict.fromkeys(("memory", "x.npy", "x.parquet"), np.inf)
        for _ in range(3):
            best["memory"] = min(best["memory"], seconds(partial(Perch(**parameters).fit, X)))
            for name in ("x.npy", "x.parquet"):
                arguments = ["fit", folder / name, "-o", folder / "t", "--mode", mode, "-q"]
                took = seconds(partial(_perch, [*arguments, "--force"]))
                best[name] = min(best[name], took)
        for name in ("x.npy", "x.parquet"):
            more = best[name] / best["memory"] - 1
            kind = name.removeprefix("x")
            rows.append(
                Row(
                    f"perch fit --mode {mode} of 50,000 x {D} from {kind}, over inserting from "
                    "memory",
                    f"{100 * more:+.0f} % of {best['memory']:.1f} s",
                    "<= 15 %",
                )
            )
    return rows


def _perch(arguments: list[Any]) -> None:
    with contextlib.suppress(SystemExit):
        main([str(argument) for argument in arguments], standalone_mode=False)
