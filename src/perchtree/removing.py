"""Which points can be removed: the ids asked for, checked against those in the tree."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import as_choice
from ._kernels.schema import Tree
from .table import are_living

_NAMED = 3
"""Missing points that an error names."""


def removable_ids(tree: Tree, ids: ArrayLike, missing: str) -> NDArray[np.int64]:
    """The ids that are in the tree, each once, in the order given; see `ClusterTree.remove`."""
    given = np.asarray(ids)
    if given.ndim != 1:
        raise ValueError(f"ids must be a list or a one-dimensional array, got {ids!r:.100}")
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"ids must be whole numbers, got {given.dtype}")
    wanted = given.astype(np.int64)
    return wanted[usable(wanted, are_living(tree, wanted), missing, "id", wanted.tolist())]


def usable(
    ids: NDArray[np.int64],
    known: NDArray[np.bool_],
    missing: str,
    kind: str,
    names: Sequence[Any],
) -> NDArray[np.bool_]:
    """Which ids are known, and met for the first time; an error, by their names, if others may not
    be skipped."""
    as_choice("missing", missing, ("error", "ok"))
    first = np.zeros(len(ids), bool)
    first[np.unique(ids, return_index=True)[1]] = True
    if missing == "error":
        refuse_missing(known, kind, names)
        _refuse(f"given more than once: the {kind}", first, names)
    return known & first


def refuse_missing(known: NDArray[np.bool_], kind: str, names: Sequence[Any]) -> None:
    """Raise an error that names the first few points that are not known, if there are any."""
    _refuse(f"there is no point with the {kind}", known, names)


def _refuse(problem: str, fine: NDArray[np.bool_], names: Sequence[Any]) -> None:
    wrong = np.flatnonzero(~fine).tolist()
    if wrong:
        named = ", ".join(f"{names[place]!r:.100}" for place in wrong[:_NAMED])
        more = f" and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else ""
        raise ValueError(f"{problem} {named}{more}; nothing has changed")
