"""Constants of the model, measured on the spot, in seconds."""

import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import N_POINTS, Counts, Tree
from .._validate import as_points, as_rows
from ..search.axes import Image, find_axes
from ..search.cells import SMALLEST_TREE
from ..search.exact import AHEAD_ROWS
from ..search.images import make_space, rotate_rows
from ..search.interface import Leaves, Part, Rows, Search
from ..search.products import Nearest, Points, scan
from ..settings import USUAL
from ..tree import ClusterTree
from .model import Constants
from .parts import load_part, save_part
from .tasks import hash_rows

_QUERIES = 1024
_POINTS = 2**14
_CLUSTERED = 20
"""Rows of a cluster of made-up data."""
TASK = 0.003
"""Seconds that a task of Ray costs beside its work: `python -m benchmarks machines` measures it."""


def make_rows(n_rows: int, n_features: int, seed: int = 0) -> NDArray[np.float32]:
    """Made-up rows like embeddings of texts: in clusters, and along some axes more than others."""
    rng = np.random.default_rng(seed)
    spread = 1 / np.sqrt(1 + np.arange(n_features) * 64 / n_features)
    centres = rng.normal(size=(max(1, n_rows // _CLUSTERED), n_features)) * spread
    rows = centres[rng.integers(0, len(centres), n_rows)]
    rows += 0.7 * rng.normal(size=rows.shape) * spread
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def measure(n_features: int, sample: NDArray[np.float32] | None = None) -> Constants:
    """Measure with made-up rows, or with a sample of real ones, by one thread."""
    rows = make_rows(_POINTS + _QUERIES, n_features) if sample is None else sample
    pair, first, rotate, axes = _time_pairs(rows)
    exact, celled = _grow(rows, "scan"), _grow(rows, "cells")
    early, late = (_inserted(part) for part in _halves(exact))
    looking = _halves([part for part in celled if part.before >= SMALLEST_TREE])
    searched = _searched(exact) - len(rows) / 2 * pair - first - rotate - axes / len(rows)
    return Constants(
        pair=pair,
        first=first,
        row=max(0.0, searched),
        rotate=rotate,
        axes=axes,
        read=_time_reading(rows[:2048]),
        insert=late,
        growth=min(max(0.0, late / early - 1), 0.2),
        celled=_searched(looking[1]),
        power=min(max(0.5, _power(*looking)), 1.0),
        measured=len(rows),
        task=TASK,
    )


def _seconds(work: Callable[[], object]) -> float:
    """The shortest of three times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _time_reading(rows: NDArray[np.float32]) -> float:
    """A row that is checked, hashed, written to a part and read again."""
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part"

        def read() -> None:
            points = as_points(as_rows(rows), cosine=False)
            save_part(part, {"rows": points, "hashes": hash_rows(points)})
            load_part(part)

        return _seconds(read) / len(rows)


def _time_pairs(rows: NDArray[np.float32]) -> tuple[float, float, float, float]:
    """A pair, once many were compared before; the first ones of a row, beside that; reduced vectors
    of a row; axes."""
    queries, points = rows[:_QUERIES], rows[_QUERIES:]
    ids = np.arange(len(points), dtype=np.int32)
    bounds = np.stack([rows.min(axis=0), rows.max(axis=0)])
    start = time.perf_counter()
    axes = find_axes(Points(points, ids), bounds, USUAL.neighbors, AHEAD_ROWS)
    finding = time.perf_counter() - start
    images: list[Image | None] = [None, None]
    rotate = 0.0
    if axes is not None:
        images = [rotate_rows(axes, part, 1) for part in (queries, points)]
        rotate = _seconds(lambda: rotate_rows(axes, queries, 1)) / len(queries)

    def compare(stop: int) -> None:
        image = images[1]
        image = None if image is None else image.of(slice(stop))
        space = make_space(axes, queries, images[0], points[:stop], image, bounds)
        answers = Nearest.unknown(len(queries), USUAL.neighbors)
        scan(queries, Points(points[:stop], ids[:stop]), space, answers, 1)

    few, many = len(points) // 4, len(points)
    short, long = _seconds(lambda: compare(few)), _seconds(lambda: compare(many))
    pair = max(0.0, long - short) / (len(queries) * (many - few))
    return pair, max(0.0, long / len(queries) - many * pair), rotate, finding


class _Taken(NamedTuple):
    """Rows that were inserted together: how many points there were, and seconds."""

    before: int
    n_rows: int
    searching: float
    inserting: float


class _Timed(Search):
    """Another search, of which is known when the tree had its turn."""

    def __init__(self, usual: Search) -> None:
        super().__init__(usual.k, usual.n_jobs)
        self._usual = usual
        self.taken: list[_Taken] = []

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        return self.stream(tree, [rows], done)

    def stream(
        self, tree: Tree, batches: Iterable[Rows], done: Counts
    ) -> Generator[Part, None, None]:
        start = time.perf_counter()
        for part in self._usual.stream(tree, batches, done):
            found, before = time.perf_counter(), int(tree.state[N_POINTS])
            yield part
            end = time.perf_counter()
            self.taken.append(_Taken(before, len(part.rows), found - start, end - found))
            start = end

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return self._usual.nearest(tree, rows, k, done)

    def added(self, tree: Tree, ids: range) -> None:
        self._usual.added(tree, ids)


def _grow(rows: NDArray[np.float32], search: str) -> list[_Taken]:
    """A tree of these rows, part by part."""
    tree = ClusterTree(rows.shape[1], search=search)
    timed = _Timed(tree.leaf_search)
    with tree.searching_by(timed):
        tree.insert(rows)
    return timed.taken


def _halves(parts: list[_Taken]) -> tuple[list[_Taken], list[_Taken]]:
    """Those before the tree had half of its points, and those after; of one part, that twice."""
    n_points = parts[0].before + parts[-1].before
    early = [part for part in parts if 2 * part.before < n_points]
    return (early, parts[len(early) :]) if early else (parts, parts)


def _inserted(parts: list[_Taken]) -> float:
    """The tree phase of a row."""
    return sum(part.inserting for part in parts) / sum(part.n_rows for part in parts)


def _searched(parts: list[_Taken]) -> float:
    """The search of a row."""
    return sum(part.searching for part in parts) / sum(part.n_rows for part in parts)


def _power(early: list[_Taken], late: list[_Taken]) -> float:
    """As which power of the number of points search grows."""
    larger = _points(late) / _points(early)
    return float(np.log(_searched(late) / _searched(early)) / np.log(larger)) if larger > 1 else 0.0


def _points(parts: list[_Taken]) -> float:
    """How many points there were, on average."""
    return float(np.average([part.before for part in parts], weights=[p.n_rows for p in parts]))
