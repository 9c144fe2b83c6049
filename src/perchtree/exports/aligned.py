"""What users know about their points: names, texts and classes, in the order of the ids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..table import NodeTable


def per_point(what: str, values: Any, table: NodeTable) -> list[Any]:
    """The values as a list; ValueError unless there is one per point."""
    found = list(values)
    if len(found) != table.n_points:
        raise ValueError(f"{len(found)} {what} for a tree of {table.n_points} points")
    return found


def names_or_ids(names: Any, table: NodeTable) -> list[Any]:
    """What to call each point: its name, or its id if no names are given."""
    return table.ids.tolist() if names is None else per_point("names", names, table)


def numbered_classes(classes: Any, table: NodeTable) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct classes, in order, and for each point the place of its class among them."""
    found = np.asarray(per_point("classes", classes, table))
    if found.ndim != 1:
        raise ValueError(f"expected one class per point, got an array of shape {found.shape}")
    try:
        distinct, numbers = np.unique(found, return_inverse=True)
    except TypeError:  # kinds that do not compare, such as None among texts
        distinct, numbers = np.unique(found.astype(str), return_inverse=True)
    return distinct, numbers.astype(np.int64)
