"""Exact searches in trees whose leaves are points: A*, matrix products, and the cheaper of both.

All give the same answers, ties included, and so the same tree.
"""

import functools
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack

import numpy as np

from .. import _arrays
from .._kernels.astar import astar
from .._kernels.copies import holds_copy
from .._kernels.schema import BY_ID, N_LEAVES, NEAR, NEXT_ID, AStar, Counts, Tree
from .ahead import Batch, compare_within, search_tree
from .choosing import Choice
from .images import Images
from .interface import SMALLEST, Finder, Leaves, Part, Rows, Search
from .products import Nearest
from .scanning import Scan, Snapshot, search_batch
from .threads import Background, one_blas_thread

ASTAR_ROWS = 1024
"""Rows searched together by A*: each is compared with all before it, too."""


AHEAD_ROWS = 2048
"""Rows searched together by products, while those before them are inserted."""


class AStarSearch(Search):
    """A* in the tree (section 4.3): best where boxes are tight."""

    _memory: AStar | None = None

    def finder(self, tree: Tree, done: Counts) -> Finder:
        """Search for rows one by one, in the tree as it is when each is inserted."""
        if self._memory is None or not _arrays.suits(self._memory, tree):
            self._memory = _arrays.make_astar(tree, self.k, done)
        return Finder(astar, self._memory)

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        if len(rows) < SMALLEST or self.n_jobs == 1:
            yield Part(rows, self.finder(tree, done))
            return
        for first in range(0, len(rows), ASTAR_ROWS):
            part = rows[first : first + ASTAR_ROWS]
            found = search_tree(tree, part, astar, self.k, self.n_jobs, done)
            yield _prepare(tree, part, found, self.n_jobs, done)

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return search_tree(tree, rows, astar, k, self.n_jobs, done)


class Known(Search):
    """What A* has found for few rows before it was known that a scan is not cheaper."""

    def __init__(self, found: Leaves) -> None:
        super().__init__(found.leaves.shape[1])
        self._found = found

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        yield _prepare(tree, rows, self._found, 1, done)

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        return self._found


def _prepare(tree: Tree, rows: Rows, found: Leaves, n_jobs: int, done: Counts) -> Part:
    """Rows whose neighbours in the tree are known, compared with the rows before them."""
    near = np.ascontiguousarray(found.distances[:, :, NEAR])
    ids = np.ascontiguousarray(found.leaves[:, :, BY_ID])
    batch = Batch(rows, int(tree.state[NEXT_ID]), Nearest(near, ids), done)
    if len(rows) > 1:
        compare_within(batch, functools.partial(_is_in_tree, tree, rows), n_jobs)
    return batch.part(tree)


def _is_in_tree(tree: Tree, rows: Rows, row: int) -> bool:
    return holds_copy(tree, rows[row])


class ScanSearch(Search):
    """Every row against every point, by matrix products: best in high dimension."""

    def __init__(self, k: int, n_jobs: int = 1) -> None:
        super().__init__(k, n_jobs)
        self._images = Images(k, AHEAD_ROWS)

    def parts(self, tree: Tree, rows: Rows, done: Counts) -> Iterator[Part]:
        return self.stream(tree, [rows], done)

    def stream(
        self, tree: Tree, batches: Iterable[Rows], done: Counts
    ) -> Generator[Part, None, None]:
        """Search for one batch while the tree takes in the one before.

        The points that were in the tree when a search begins stay where they are while others are
        inserted; the batch in between is searched as rows.
        """
        n_jobs, waiting, background = self.n_jobs, None, None
        pieces = (
            batch[first : first + AHEAD_ROWS]
            for batch in batches
            for first in range(0, len(batch), AHEAD_ROWS)
        )
        with ExitStack() as held:
            for rows in pieces:
                cheaper = self._cheaper(tree, rows, self.k, done)
                if cheaper is None:
                    if background is None:
                        # Changing the number of BLAS threads wakes them, and they spin: so it is
                        # done once for all batches, and not at all where there are no products.
                        held.enter_context(one_blas_thread())
                        background = held.enter_context(Background(n_jobs))
                    self._images.follow(tree, len(rows))
                    snapshot = Snapshot.of(tree, waiting)
                    search = functools.partial(
                        search_batch, snapshot, rows, self.k, self._images, n_jobs
                    )
                    answer = background.begin(search)
                    if waiting is not None:
                        yield from waiting.insert(tree)
                    waiting = answer()
                    done += waiting.batch.done
                else:
                    if waiting is not None:
                        yield from waiting.insert(tree)
                    waiting = None
                    yield from cheaper.parts(tree, rows, done)
            if waiting is not None:
                yield from waiting.insert(tree)

    def nearest(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Leaves:
        cheaper = self._cheaper(tree, rows, k, done)
        if cheaper is not None:
            return cheaper.nearest(tree, rows, k, done)
        self._images.follow(tree, len(rows))
        search = Scan(Snapshot.of(tree), rows, k, self._images, self.n_jobs)
        search.search_tree()
        done += search.done
        return Leaves.of_points(tree, *search.answers)

    def estimate_bytes(self, tree: Tree, n_points: int) -> int:
        return self._images.estimate_bytes(tree, n_points)

    def _cheaper(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Search | None:
        """A search that costs less than a scan of these rows, if one is known."""
        return None


class AutoSearch(ScanSearch):
    """For each batch, the cheaper of the two, told by trying A* on a few rows."""

    def __init__(self, k: int, n_jobs: int = 1) -> None:
        super().__init__(k, n_jobs)
        self._astar = AStarSearch(k)
        self._choices: dict[int, Choice] = {}

    def estimate_bytes(self, tree: Tree, n_points: int) -> int:
        choice = self._choices.get(self.k)
        if choice is not None and not choice.by_scan:  # no more of them will be made
            return self._images.n_bytes
        return super().estimate_bytes(tree, n_points)

    def _cheaper(self, tree: Tree, rows: Rows, k: int, done: Counts) -> Search | None:
        n_leaves, n_rows = int(tree.state[N_LEAVES]), len(rows)
        of_pair = self._images.cost(n_leaves, rows.shape[1], max(1, n_rows))
        choice = self._choices.setdefault(k, Choice())
        if n_rows >= SMALLEST:
            choice.decide(tree, rows, k, done, of_pair)
        else:
            found = choice.search_few(tree, rows, k, done, of_pair)
            if found is not None:
                return Known(found)
        if choice.by_scan:
            return None
        self._astar.n_jobs = self.n_jobs
        return self._astar
