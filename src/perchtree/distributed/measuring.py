"""Constants of the model, measured on the spot, in seconds of processor time.

Time on the wall would count what else the machine does.
"""

import functools
import itertools
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _arrays
from .._kernels.schema import N_POINTS, Counts, Tree
from .._validate import as_points, as_rows
from ..search.axes import Axes, Image, find_axes, image_bytes
from ..search.cells import SMALLEST_TREE
from ..search.exact import AHEAD_ROWS, ScanSearch
from ..search.images import make_space, rotate_rows
from ..search.interface import Leaves, Part, Rows, Search
from ..search.products import Nearest, Points, scan
from ..search.renewing import choose_widths
from ..search.restoring import restored_cells, restored_numbers
from ..search.scanning import is_poor
from ..search.threads import count_jobs, one_blas_thread, run_tasks
from ..search.visiting import visit_cells
from ..settings import USUAL
from ..tree import ClusterTree
from .model import Constants, axes_of_one_machine, renewals
from .parts import load_part, save_part
from .tasks import hash_rows

_QUERIES = 1024
_POINTS = 2**14
_FEW = 256
"""Rows that are inserted together with a renewal of cells, which is timed."""
_SAMPLES = 8
"""By which it is told how many cells are opened."""
FEWEST = SMALLEST_TREE + 2 * _QUERIES
"""Rows to measure with, at least."""
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
    with one_blas_thread():  # to change the number of its threads wakes them, and they spin
        return _measure(rows)


def _measure(rows: NDArray[np.float32]) -> Constants:
    pairs = _Pairs(rows)
    exact = _grow([rows], "scan")[1]
    cells = _time_cells(rows)
    of_both = zip(_halves(exact), _halves(cells.parts), strict=True)
    early, late = (_inserted([*some, *others]) for some, others in of_both)
    searched = _searched(exact) - len(rows) / 2 * pairs.pair
    times, n_rotated = axes_of_one_machine(len(rows))
    searched -= pairs.first + (n_rotated * pairs.rotate + times * pairs.axes) / len(rows)
    return Constants(
        pair=pairs.pair,
        first=pairs.first,
        row=max(0.0, searched),
        rotate=pairs.rotate,
        axes=pairs.axes,
        image=pairs.image,
        read=_time_reading(rows[:2048]),
        insert=late,
        growth=min(max(0.0, late / early - 1), 0.2),
        celled=_searched(cells.parts),
        look=cells.look,
        width=cells.width,
        others=cells.others,
        renew=cells.renew,
        measured=len(rows),
        crowd=pairs.crowd,
        task=TASK,
    )


def _seconds(work: Callable[[], object]) -> float:
    """The shortest of three times, of all threads together."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
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


class _Pairs:
    """What comparing costs: some queries and all points, as a task compares them."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self._queries, self._rows = rows[:_QUERIES], rows[_QUERIES:]
        self._bounds = np.stack([rows.min(axis=0), rows.max(axis=0)])
        ids = np.arange(len(self._rows), dtype=np.int32)
        finding = functools.partial(
            find_axes, Points(self._rows, ids), self._bounds, USUAL.neighbors, AHEAD_ROWS
        )
        axes = finding()
        self.axes = _seconds(finding)
        """Seconds of finding axes, of which the first ones take longer."""
        n_pairs = len(self._queries) * len(self._rows)
        self._use(axes)
        if axes is not None and is_poor(axes, n_pairs, self._compare(len(self._rows))):
            self._use(None)  # as workers find out, too
        few, many = len(self._rows) // 4, len(self._rows)
        short, long = (_seconds(functools.partial(self._compare, n)) for n in (few, many))
        self.pair = max(0.0, long - short) / (len(self._queries) * (many - few))
        """Seconds of a pair, once many were compared before."""
        self.first = max(0.0, long / len(self._queries) - many * self.pair)
        """Seconds of the first pairs of a row, beside that."""
        self.crowd = self._time_crowd(long)
        """How much longer it takes if all processors are at it."""

    def _use(self, axes: Axes | None) -> None:
        self._axes, self.rotate = axes, 0.0
        self.image = 0 if axes is None else image_bytes(axes)
        self._of_queries: Image | None = None
        self._of_points: Image | None = None
        if axes is not None:
            self._of_queries = rotate_rows(axes, self._queries, 1)
            self._of_points = rotate_rows(axes, self._rows, 1)
            rotating = functools.partial(rotate_rows, axes, self._queries, 1)
            self.rotate = _seconds(rotating) / len(self._queries)

    def _compare(self, stop: int) -> Counts:
        """Compare all queries with so many points; what had to be looked at."""
        queries, points = self._queries, self._rows[:stop]
        image = None if self._of_points is None else self._of_points.of(slice(stop))
        space = make_space(self._axes, queries, self._of_queries, points, image, self._bounds)
        answers = Nearest.unknown(len(queries), USUAL.neighbors)
        ids = np.arange(stop, dtype=np.int32)
        return scan(queries, Points(points, ids), space, answers, 1)

    def _time_crowd(self, alone: float) -> float:
        """How much longer everything takes if all processors do it at the same time."""
        n_jobs = count_jobs(-1)
        work = [lambda _go_on: self._compare(len(self._rows))] * n_jobs
        return max(1.0, _seconds(lambda: run_tasks(work, n_jobs)) / (n_jobs * alone))


class _Cells(NamedTuple):
    """What searching in cells costs: see `Constants`."""

    parts: list["_Taken"]
    """How a tree was grown."""
    look: float
    width: float
    others: float
    renew: float


def _time_cells(rows: NDArray[np.float32]) -> _Cells:
    """Time a tree that grows; and, once it has grown, looking for rows.

    How many cells are opened follows from a sample, so that it varies from one renewal to the next:
    several samples tell what it is on average.
    """
    *_, (last, _) = [made for made in renewals(len(rows)) if made[1] >= 2 * _FEW]
    edges = 0, last, last + _FEW, len(rows)
    tree, parts = _grow([rows[slice(*ends)] for ends in itertools.pairwise(edges)], "cells")
    arrays, kept = tree._tree, tree.leaf_search.kept(tree._tree)
    cells, (chosen, _, since, _) = restored_cells(arrays, kept), restored_numbers(kept)
    queries = rows[-_QUERIES:]

    @functools.cache
    def look(width: int) -> float:
        done, k = _arrays.make_work(), USUAL.neighbors
        looking = functools.partial(visit_cells, arrays, cells, width, queries, k, 1, done)
        return _seconds(looking) / len(queries)

    exact, recall = ScanSearch(USUAL.neighbors), USUAL.recall
    widths = choose_widths(arrays, cells, since, recall, exact, _SAMPLES)

    def hand_over() -> None:
        with tempfile.TemporaryDirectory() as folder:
            save_part(Path(folder) / "cells", kept)
            restored_cells(arrays, load_part(Path(folder) / "cells")[1])

    renewed = [part for part in parts if last <= part.before < last + _FEW]
    in_cells = _searched([part for part in parts if part.before >= last + _FEW])
    renewing = sum(part.searching for part in renewed) - _FEW * in_cells
    renewing = max(0.0, renewing) * len(rows) / last + _seconds(hand_over)
    looking, opened = (float(np.mean(found)) for found in (list(map(look, widths)), widths))
    return _Cells(parts, looking, opened, max(0.0, in_cells - look(chosen)), renewing)


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
        start = time.process_time()
        for part in self._usual.stream(tree, batches, done):
            found, before = time.process_time(), int(tree.state[N_POINTS])
            yield part
            end = time.process_time()
            self.taken.append(_Taken(before, len(part.rows), found - start, end - found))
            start = end

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return self._usual.nearest(tree, rows, k, done)

    def added(self, tree: Tree, ids: range) -> None:
        self._usual.added(tree, ids)


def _grow(batches: list[NDArray[np.float32]], search: str) -> tuple[ClusterTree, list[_Taken]]:
    """A tree of some batches, part by part; no part has rows of two batches."""
    tree = ClusterTree(batches[0].shape[1], search=search)
    timed = _Timed(tree.leaf_search)
    with tree.searching_by(timed):
        for rows in batches:
            tree.insert(rows)
    return tree, timed.taken


def _halves(parts: list[_Taken]) -> tuple[list[_Taken], list[_Taken]]:
    """Those before the tree had half of its points, and those after; of one part, that twice."""
    n_points = parts[0].before + parts[-1].before
    early = [part for part in parts if 2 * part.before < n_points]
    return (early, parts[len(early) :]) if early else (parts, parts)


def _inserted(parts: list[_Taken]) -> float:
    """The tree phase of a row, whatever happened in between."""
    return float(np.median([part.inserting / part.n_rows for part in parts]))


def _searched(parts: list[_Taken]) -> float:
    """The search of a row."""
    return sum(part.searching for part in parts) / sum(part.n_rows for part in parts)
