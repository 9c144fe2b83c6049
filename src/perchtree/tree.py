"""ClusterTree: owns the arrays, checks what comes in, calls the kernels."""

import threading
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays
from ._kernels import modes
from ._kernels.schema import (
    MAX_POINTS,
    NEAR,
    AStar,
    Beam,
    Prepared,
    Revised,
    Scratch,
    Tree,
)
from ._validate import as_choice, as_count, as_rows, chunks
from .checks import check_collapsed, check_tree
from .reading import ReadableTree
from .search import batch
from .search.threads import count_jobs

_ROWS_AT_ONCE = 256
"""Rows handed to one kernel call: Ctrl-C is heard between calls."""


_FORMAT = 1
"""Of pickles: changes with the arrays, which kernels trust."""

_SETTINGS = ("masking", "balance", "search", "beam_width", "max_leaves", "n_jobs")


class ClusterTree(ReadableTree):
    """An online cluster tree: PERCH (Kobren, Monath, Krishnamurthy and McCallum, KDD 2017).

    A binary tree with the points at its leaves. Each new point goes beside its nearest
    neighbour; rotations then repair what that got wrong, and keep the tree shallow.

    Parameters
    ----------
    n_features : int
        Number of columns of the data.
    masking : {"published", "interval", "exact", None}
        Which distances decide about masking rotations (section 3.3): those of the authors'
        program; true bounds between boxes; equation 1 by exhaustion, for small data. None makes
        no masking rotations (the greedy algorithm).
    balance : {"size", "ratio", None}
        When a balance rotation (section 4.1) is an improvement: sizes differ less, as in the
        authors' program; Definition 3 increases. None makes no balance rotations.
    search : {"auto", "astar", "scan", "beam"}
        How the nearest leaf is found. The first three are exact and give the same tree: "astar"
        searches the tree, "scan" takes matrix products of whole batches, "auto" picks the
        cheaper of the two for each batch. (Fewer than 32 rows are always searched one by one, by
        A*.) "beam" (PERCH-B) looks at `beam_width` nodes of each level of the tree only.
    beam_width : int
        Nodes that a beam search keeps at each level. The paper: 5 for each of 24 threads.
    max_leaves : int, optional
        Collapsed mode (PERCH-C, with "beam" PERCH-BC): whenever there are more leaves, the two
        sibling leaves closest to each other become one, which keeps its points' ids and their
        bounding box, but not their features. Memory is then bounded, ids aside.
    n_jobs : int, optional
        Threads for searching batches: None is 1, -1 all cores. The tree is always the same.

    Notes
    -----
    Features are kept as float32, whatever comes in. Rows that are equal as float32 share a
    leaf (with "beam", as far as it finds it; in collapsed mode, as long as it is not collapsed).
    Of several nearest leaves, the one with the smallest id is chosen; of overlapping boxes, the
    tighter one. Differences below about 1e-19 vanish when squared: rescale such data.

    Any number of threads may use one tree: their calls are carried out one after the other.
    While a kernel runs, the GIL is released, so other Python threads go on.

    Examples
    --------
    >>> import numpy as np
    >>> from perchtree import ClusterTree
    >>> tree = ClusterTree(n_features=1)
    >>> tree.insert(np.array([[-1.0], [1.0], [4.0], [4.5]]))
    array([0, 1, 2, 3])
    >>> tree.children
    array([[2, 3],
           [0, 1],
           [4, 5]])
    >>> ids, distances = tree.nearest([[0.9]], k=2)
    >>> ids
    array([[1, 0]])
    """

    def __init__(
        self,
        n_features: int,
        *,
        masking: str | None = "published",
        balance: str | None = "size",
        search: str = "auto",
        beam_width: int = 120,
        max_leaves: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features = as_count("n_features", n_features)
        self.masking = as_choice("masking", masking, modes.MASKINGS)
        self.balance = as_choice("balance", balance, modes.BALANCES)
        self.search = as_choice("search", search, ("auto", "astar", "scan", "beam"))
        self.beam_width = as_count("beam_width", beam_width, most=MAX_POINTS)
        self.max_leaves = (
            None if max_leaves is None else as_count("max_leaves", max_leaves, most=MAX_POINTS)
        )
        if masking == "exact" and max_leaves is not None:
            raise ValueError(
                "masking='exact' needs the features of all points, which collapsing drops: "
                "leave out max_leaves, or choose another masking"
            )
        count_jobs(n_jobs)
        self.n_jobs = n_jobs
        self._tree = _arrays.empty_tree(self.n_features, self.max_leaves)
        self._start()

    def _start(self) -> None:
        """What is not part of the tree itself: a copy or a pickle makes its own."""
        self._forget()
        self._scratch = Scratch(self._make_search(self._tree), _arrays.make_queue(self._tree))
        self._lock = threading.RLock()

    def _make_search(self, tree: Tree) -> AStar | Beam:
        if self.search == "beam":
            return _arrays.make_beam(self.beam_width)
        return _arrays.make_astar(tree)

    # Growing

    def insert(self, X: ArrayLike, *, verbose: bool = False) -> NDArray[np.int64]:
        """Insert rows in order.

        Inserting in one call, in many calls or row by row gives the same tree.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Finite numbers; norms of rows at most 9e18.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        ids : int64 array of shape (n_rows,)
            The points' ids: 0, 1, 2, ... by arrival.

        Raises
        ------
        ValueError
            If anything about X is wrong. The tree is then unchanged.
        KeyboardInterrupt
            On Ctrl-C. The tree then holds the first rows of X; the message says how many.
        """
        rows = as_rows(X, self.n_features)
        with self._lock:
            start = self.n_points
            if start + len(rows) > MAX_POINTS:
                raise ValueError(f"a tree holds at most {MAX_POINTS:,} points")
            self._make_room(len(rows))
            try:
                self._insert_rows(rows, verbose)
            except KeyboardInterrupt:
                done = self.n_points - start
                raise KeyboardInterrupt(
                    f"{done:,} of {len(rows):,} rows were inserted, and the tree is whole; "
                    f"insert(X[{done}:]) goes on"
                ) from None
            return np.arange(start, self.n_points)

    def _make_room(self, n_more: int) -> None:
        larger = _arrays.with_room(self._tree, n_more)
        # Working memory first: wherever this is interrupted, it is large enough.
        if not _arrays.suits(self._scratch.search, larger):
            self._scratch = self._scratch._replace(search=self._make_search(larger))
        self._tree = larger

    def _insert_rows(self, rows: NDArray[Any], verbose: bool) -> None:
        self._forget()
        with _progress(len(rows), verbose) as bar:
            for start, stop in chunks(rows, batch.LARGEST_ROWS, batch.LARGEST_VALUES):
                for part, search in self._searched_parts(_as_float32(rows[start:stop])):
                    self._insert_part(part, search)
                    bar.update(len(part))

    def _searched_parts(
        self, rows: NDArray[np.float32]
    ) -> Iterator[tuple[NDArray[np.float32], str | Prepared | Revised]]:
        """Rows in parts, each with the search to use in the tree, or with its neighbours."""
        n_jobs = count_jobs(self.n_jobs)
        if self.search == "beam":
            yield rows, "beam"
        elif self.max_leaves is not None:
            yield from batch.collapsed_parts(self._tree, rows, self.search, n_jobs)
        else:
            yield from batch.prepared_parts(self._tree, rows, self.search, n_jobs)

    def _insert_part(self, rows: NDArray[np.float32], search: str | Prepared | Revised) -> None:
        scratch = self._scratch
        if isinstance(search, Prepared | Revised):
            scratch = scratch._replace(search=search)
            search = "prepared" if isinstance(search, Prepared) else "revised"
        insert = modes.insert_kernel(
            self.masking, self.balance, search, self.max_leaves is not None
        )
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            insert(self._tree, scratch, rows[start : start + _ROWS_AT_ONCE])

    # Asking

    def nearest(self, X: ArrayLike, k: int = 1) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find the k nearest points of each row, exactly, without inserting it.

        Copies count as points of their own; at the same distance the smaller id comes first.
        In collapsed mode a point is as near as the box of its leaf, and of several boxes at the
        same distance the tighter one comes first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        k : int

        Returns
        -------
        ids : int64 array of shape (n_rows, k)
        distances : float32 array of shape (n_rows, k)
        """
        rows = as_rows(X, self.n_features)
        k = as_count("k", k)
        with self._lock:
            if k > self.n_points:
                raise ValueError(f"k = {k} neighbours asked of {self.n_points} points")
            ids = np.empty((len(rows), k), np.int64)
            squared = np.empty((len(rows), k, 2), np.float32)
            tree = self._tree._replace(counts=self._tree.counts.copy())  # work not counted
            for start, stop in chunks(rows, batch.LARGEST_ROWS, batch.LARGEST_VALUES):
                part = _as_float32(rows[start:stop])
                batch.nearest_points(
                    tree, part, self.search, count_jobs(self.n_jobs), ids[start:stop],
                    squared[start:stop],
                )  # fmt: skip
        return ids, np.sqrt(squared[:, :, NEAR])

    # The object itself

    def check(self) -> None:
        """Verify every invariant; raise InvariantError, which names the node, if one fails."""
        with self._lock:
            check_tree(self._tree)
            if self.max_leaves is not None:
                key, _, _ = modes.collapse_kernels(self.masking)
                check_collapsed(self._tree, self._scratch.queue, key)

    def copy(self) -> Self:
        """An independent copy."""
        with self._lock:
            twin = type(self).__new__(type(self))
            twin.__setstate__(self.__getstate__())
            return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = {name: vars(self)[name] for name in ("n_features", *_SETTINGS)}
            return state | {"_tree": _arrays.copied(self._tree), "_format": _FORMAT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.pop("_format", None) != _FORMAT:
            raise ValueError("this tree was pickled by another version of perchtree")
        # What comes out of a pickle or a shared memory map may be read-only.
        arrays = (np.require(array, requirements=["C", "W"]) for array in state.pop("_tree"))
        vars(self).update(state, _tree=Tree(*arrays))
        self._start()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("n_features", *_SETTINGS) and name in vars(self) and name != "n_jobs":
            raise AttributeError(f"{name} is fixed when a tree is made: make another one")
        super().__setattr__(name, value)

    def __len__(self) -> int:
        return self.n_points

    def __repr__(self) -> str:
        settings = "".join(f", {name}={vars(self)[name]!r}" for name in _SETTINGS)
        return (
            f"<ClusterTree(n_features={self.n_features}{settings}): "
            f"{self.n_points:,} points in {self.n_leaves:,} leaves>"
        )


def _as_float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    """A writable, contiguous float32 copy: the one kind of array that kernels are compiled for."""
    return np.array(rows, dtype=np.float32, order="C")


def _progress(total: int, verbose: bool) -> Any:
    if verbose:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm  # tqdm.auto complains in notebooks without widgets
    return tqdm(total=total, unit="point", unit_scale=True, disable=not verbose)
