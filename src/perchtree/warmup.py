"""Compiles ahead of time what a tree with given settings may need, on two cores if there are two.

Most of the time goes into one kernel, the one that inserts: a process of its own compiles it while
this one compiles searches. Both keep what they compile on disk.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import _arrays
from ._kernels.disk_cache import cache_folder
from .collection import Collection
from .encode import Chars, Words
from .metrics import dendrogram_purity
from .search.cells import SMALLEST_TREE
from .search.exact import AHEAD_ROWS
from .search.images import SMALLEST_SAMPLED
from .search.making import make_search
from .settings import Settings
from .store.maker import made_by
from .tree import ClusterTree

FEW = AHEAD_ROWS
"""A new tree of so many rows is built by a scan alone."""
_ROWS = 80
"""Enough for every search to search ahead, and for leaves to be collapsed."""
_CELLS_ROWS = SMALLEST_TREE + _ROWS
"""Enough for a search in cells."""
_REDUCED_ROWS = SMALLEST_SAMPLED + 1024
_REDUCED_FEATURES = 48
"""Enough for a search by reduced vectors."""

_INSERT = """
import json, sys
import numpy as np
from perchtree.tree import ClusterTree

for settings in json.loads(sys.argv[1]):
    ClusterTree(2, **settings).insert(np.zeros((1, 2)))
"""
"""Inserts one point into a tree with each of these settings, which takes no search. It imports no
more than it needs: the main process waits for it."""


def warm_up(
    settings: Settings, *, few: bool = False, meanwhile: Callable[[], object] = lambda: None
) -> None:
    """Build tiny trees with these settings, in every way in which a large one may be built.

    An automatic search can change its method after many rows: what that needs is compiled now. With
    `few`, a new tree gets at most `FEW` rows, and only what those need is compiled. Where that was
    done before, on this machine and by this version, only `meanwhile` is called; otherwise it is
    called while the other process works, to compile something else.
    """
    searches = ("astar", "scan") if settings.search == "auto" else (settings.search,)
    few = few and "scan" in searches and not settings.collapses
    mark = _mark(settings, few)
    if mark is not None and mark.exists():
        meanwhile()
        return
    with _inserts_compiled_aside(settings, ("scan",) if few else searches):
        meanwhile()
        if "scan" in searches and not settings.collapses:
            _search(settings.changed(search="scan"))
    if not few:
        _build(settings, searches)
    if mark is not None:
        with contextlib.suppress(OSError):
            mark.touch()


def warm_up_everything(settings: Settings) -> None:
    """Compile also what other commands need: cuts, names, scores, changes, texts."""
    warm_up(settings)
    rows = np.random.default_rng(0).random((_ROWS, 2))
    small = settings.changed(max_leaves=8 if settings.collapses else None).as_dict()
    collection = Collection(**small)
    texts = [f"row {i}" for i in range(_ROWS)]
    collection.add(rows, texts=texts, classes=[i % 2 for i in range(_ROWS)])
    if settings.has_linkage:
        collection.keep_clusters(0.1)
        collection.refine()
    labels = collection.tree.cut()
    collection.summary(labels)
    dendrogram_purity(collection.tree, labels % 2)
    if not settings.collapses:
        same = [labels[a] == labels[b] for a, b in collection.questions(20)]
        with contextlib.suppress(ValueError):  # answers that are all the same
            collection.calibrate(collection.questions(20), same)
    collection.remove([3])
    assert collection.tree.depth.max > 0
    for encoder in (Chars(), Words()):
        encoder.learned(texts).encode(texts)


def _mark(settings: Settings, few: bool) -> Path | None:
    """A file that says that everything is compiled."""
    folder = cache_folder()
    if folder is None:
        return None
    kind = settings.changed(n_jobs=None, max_leaves=8 if settings.collapses else None)
    facts = [kind.as_dict(), few, made_by(), sys.version]
    return folder / f"warm-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]}"


@contextlib.contextmanager
def _inserts_compiled_aside(settings: Settings, searches: tuple[str, ...]) -> Iterator[None]:
    """Compile the kernels that insert in another process, and wait for it in the end."""
    if not sys.executable or (os.cpu_count() or 1) < 2 or cache_folder() is None:
        yield
        return
    wanted = [settings.changed(search=search).as_dict() for search in searches]
    process = subprocess.Popen(
        [sys.executable, "-c", _INSERT, json.dumps(wanted)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
        process.wait()  # should it fail, this process compiles what is missing
    finally:
        process.kill()
        process.wait()


def _search(settings: Settings) -> None:
    """Let a search find the neighbours of rows, and insert none."""
    rows = np.random.default_rng(0).random((_ROWS, 2)).astype(np.float32)
    tree = ClusterTree(2, **settings.as_dict())
    with tree.reading() as arrays:
        parts = make_search(settings).stream(arrays, [rows], _arrays.make_work())
        next(parts)
        parts.close()


def _build(settings: Settings, searches: tuple[str, ...]) -> None:
    leaves = None if settings.max_leaves is None else 8
    for search in searches:
        small = settings.changed(search=search, max_leaves=leaves)
        n_rows = _CELLS_ROWS if search == "cells" else _ROWS
        _use(small, np.random.default_rng(0).random((n_rows, 2)))
    if "scan" in searches and leaves is None:
        rows = np.random.default_rng(0).random((_REDUCED_ROWS, _REDUCED_FEATURES))
        spread = rows / np.arange(1, _REDUCED_FEATURES + 1)
        for points in (rows, spread):  # of which reduced vectors are made, or not
            tree = ClusterTree(_REDUCED_FEATURES, **settings.as_dict())
            tree.insert(points)
            tree.insert(points[:3] + 1)


def _use(settings: Settings, rows: NDArray[np.float64]) -> None:
    tree = ClusterTree(rows.shape[1], **settings.as_dict())
    tree.insert(rows[:1])
    tree.insert(rows[1:])
    tree.nearest(rows)
    tree.cut(2)
    tree.cut(min_cluster_size=2)
