"""How far an input was read into a folder, so that the same command can continue.

What is kept is not a row number but which rows the next ids belong to: it is recorded with the
first operation of a batch, and is right wherever in that batch everything ends.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def progress_of(name: str, next_id: int, rows: NDArray[np.int64], end: int) -> dict[str, Any]:
    """What is to be kept before a batch: its rows get ids from `next_id` on, and it ends at `end`.

    Rows are kept as runs, each from its first row up to, but without, its last.
    """
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    runs = [[int(run[0]), int(run[-1]) + 1] for run in np.split(rows, breaks) if len(run)]
    return {"input": name, "id": next_id, "runs": runs, "end": end}


def next_row(progress: dict[str, Any], name: str, next_id: int) -> int | None:
    """The first row of an input that is not in, given the next id; None if it was never begun, or
    is done."""
    if progress.get("input") != name or progress.get("done"):
        return None
    left = next_id - int(progress["id"])
    for start, stop in progress["runs"]:
        if left < stop - start:
            return int(start + left)
        left -= stop - start
    return int(progress["end"])
