"""Files of format 1, which version 0.1 wrote: read into what format 2 had."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.numbering import box_node, point_node, row_of
from .._kernels.schema import (
    BOX_ROWS,
    CHANGES,
    FEATURES,
    FREE_BOX,
    FREE_POINT,
    ID_COLUMNS,
    LEAF,
    MAX_LEAVES,
    N_LEAVES,
    N_POINTS,
    NEXT,
    NEXT_ID,
    NONE,
    POINT_ROWS,
    PREVIOUS,
    ROOT,
    SIZE,
    WORK,
    Tree,
)
from ..settings import Settings
from .columns import Column, unpack
from .container import FORMAT_1, Reader
from .contents import Contents, StoredTree
from .format2 import N_STATE

_WORK = WORK[:14]
"""Counters of work that version 0.1 had."""

_STATE = (ROOT, N_POINTS, N_LEAVES, MAX_LEAVES, POINT_ROWS, BOX_ROWS, FREE_POINT, FREE_BOX)
"""The first entries of its counters, in order; the others count work."""

_RECORDS = {"keys": "keys", "labels": "classes", "texts": "texts"}
"""Columns of the user's, and what they are called now."""


def read(reader: Reader, mapped: tuple[str, ...]) -> tuple[StoredTree, dict[str, Contents]]:
    """The tree, and the sections that format 2 would have beside it."""
    meta = reader.meta(FORMAT_1)
    arrays = {
        name: reader.read(FORMAT_1, f"tree.{name}", mmap=name in mapped)
        for name in ("nodes", "points", "boxes", "means", "moments", "ids", "counts")
    }
    counts = arrays.pop("counts")
    if counts.shape != (len(_STATE) + len(_WORK),) or counts.dtype != np.int64:
        raise ValueError("counters are missing")
    state = _as_state(counts)
    arrays["ids"] = _with_previous(arrays["ids"])
    tree = Tree(**arrays, state=state)
    _erase_unused(tree)
    given = dict(meta["settings"])
    given.pop("n_features")
    if meta.get("kind") == "estimator":
        given["metric"] = meta["fitted_metric"]
    work = dict(zip(_WORK, counts[len(_STATE) :].tolist(), strict=True))
    return StoredTree(Settings.of(given), tree, work), _others(reader, meta)


def _as_state(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    state = np.zeros(N_STATE, np.int64)
    state[list(_STATE)] = counts[: len(_STATE)]
    state[NEXT_ID] = state[CHANGES] = state[N_POINTS]
    return state


def _with_previous(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """Lists of ids had links in one direction only."""
    if ids.ndim != 2 or ids.shape[1] != PREVIOUS:
        raise ValueError("'ids' has another shape than it should have")
    linked = np.full((len(ids), ID_COLUMNS), NONE, np.int32)
    linked[:, [LEAF, NEXT]] = ids
    after = ids[:, NEXT]
    has_next = np.flatnonzero((after >= 0) & (after < len(ids)))
    linked[after[has_next], PREVIOUS] = has_next
    return linked


def _erase_unused(tree: Tree) -> None:
    """Rows that hold nothing had what happened to be in memory, or what they had held before."""
    nodes = tree.nodes
    if nodes.ndim != 2 or nodes.shape[1] != FEATURES:
        raise ValueError("'nodes' has another shape than it should have")
    for kind, rows, features in (
        (point_node, POINT_ROWS, (tree.points,)),
        (box_node, BOX_ROWS, (tree.boxes, tree.means, tree.moments)),
    ):
        of_kind = kind(np.arange(int(row_of(len(nodes)))))
        used = of_kind[: int(tree.state[rows])]
        nodes[of_kind[int(tree.state[rows]) :]] = 0
        free = row_of(used[nodes[used, SIZE] == 0])
        for array in features:
            if len(array) and len(free):
                array[free] = 0


def _others(reader: Reader, meta: dict[str, Any]) -> dict[str, Contents]:
    columns: dict[str, Column] = {
        name: unpack(reader, FORMAT_1, name)
        for name in (*_RECORDS, "feature_names", "clusters", "events")
        if {name, f"{name}.ends"} & set(reader.names(FORMAT_1))
    }
    records = {_RECORDS[name]: columns[name] for name in _RECORDS if name in columns}
    if "feature_names" in columns:
        records["feature_names"] = columns["feature_names"]
    others = {"records": Contents({}, records)} if records else {}
    if meta.get("kind") == "estimator":
        kept = {str(name): columns[name] for name in ("clusters", "events") if name in columns}
        tracker = dict(meta["tracker"])
        if tracker["state"] is not None:  # was: points, grafts, and what the user asked for
            tracker["state"] = [tracker["state"][0], *tracker["state"][2:]]
        parameters = {"parameters": meta["parameters"], "tracker": tracker}
        others["estimator"] = Contents(parameters, kept, optional=True)
    return others
