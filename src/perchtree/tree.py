"""ClusterTree: owns the arrays, checks what comes in, calls the kernels."""

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays
from ._kernels import modes
from ._kernels.nearest import points_of_leaves
from ._kernels.schema import (
    MAX_LEAVES,
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
from .errors import CorruptFileError, InvariantError
from .exports.authors import to_authors
from .exports.json import to_json
from .exports.linkage import to_linkage
from .exports.newick import to_newick
from .exports.pandas import to_pandas
from .files.trees import TreeFile, read_tree, user_columns, write_tree
from .html.page import to_html
from .reading import ReadableTree
from .refining import Refinement
from .search import batch
from .search.threads import count_jobs

_ROWS_AT_ONCE = 256
"""Rows handed to one kernel call: Ctrl-C is heard between calls."""


_FORMAT = 2
"""Of pickles: changes with the arrays, which kernels trust."""

_SETTINGS = (
    "linkage", "graft", "masking", "balance", "search", "beam_width", "max_leaves", "n_jobs",
)  # fmt: skip


class ClusterTree(ReadableTree):
    """An online cluster tree: PERCH (Kobren, Monath, Krishnamurthy and McCallum, KDD 2017).

    A binary tree with the points at its leaves. Each new point goes beside its nearest
    neighbour; rotations then repair what that got wrong, and keep the tree shallow.

    Parameters
    ----------
    n_features : int
        Number of columns of the data.
    linkage : {"box", "average", "ward"}
        What decides about rotations. "box" is the paper: bounding boxes, with `masking` and
        `balance`. The others go by each node's count, mean and scatter: at every node on the way
        up, of three subtrees that meet there the closest two are kept together. "average", with
        grafts, makes the purest trees; "ward" is the classical sum of squares.
    graft : int
        With a linkage: for so many nearest neighbours of a new point, look whether subtrees
        around it and around them should be together, wherever in the tree they are. 0 for none.
    masking : {"published", "interval", "exact", None}
        With linkage="box": which distances decide about masking rotations (section 3.3): those
        of the authors' program; true bounds between boxes; equation 1 by exhaustion, for small
        data. None makes no masking rotations (the greedy algorithm).
    balance : {"size", "ratio", None}
        With linkage="box": when a balance rotation (section 4.1) is an improvement: sizes
        differ less, as in the authors' program; Definition 3 increases. None makes none.
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
        linkage: str = "box",
        graft: int = 5,
        masking: str | None = "published",
        balance: str | None = "size",
        search: str = "auto",
        beam_width: int = 120,
        max_leaves: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features = as_count("n_features", n_features)
        self.linkage = as_choice("linkage", linkage, modes.LINKAGES)
        self.graft = as_count("graft", graft, least=0, most=1000)
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
        if linkage != "box" and (masking, balance) != ("published", "size"):
            raise ValueError(
                f"masking and balance are rules about boxes: leave them out with "
                f"linkage={linkage!r}, or choose linkage='box'"
            )
        self.n_jobs = n_jobs
        self._tree = _arrays.empty_tree(
            self.n_features, self.max_leaves, with_moments=linkage != "box"
        )
        self._start()

    def _start(self) -> None:
        """What is not part of the tree itself: a copy or a pickle makes its own."""
        self._forget()
        self._scratch = Scratch(self._make_search(self._tree), _arrays.make_queue(self._tree))
        self._lock = threading.RLock()

    @property
    def lock(self) -> threading.RLock:
        """Held while something works on the tree; hold it to do several things in one go."""
        return self._lock

    @property
    def _rules(self) -> modes.Rules:
        return modes.Rules(self.linkage, self.graft > 0, self.masking, self.balance)

    @property
    def _k(self) -> int:
        """How many neighbours an insert asks for."""
        return 1 if self.linkage == "box" else max(1, self.graft)

    def _make_search(self, tree: Tree) -> AStar | Beam:
        if self.search == "beam":
            return _arrays.make_beam(self.beam_width, self._k)
        return _arrays.make_astar(tree, self._k)

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
            yield from batch.collapsed_parts(self._tree, rows, self.search, self._k, n_jobs)
        else:
            yield from batch.prepared_parts(self._tree, rows, self.search, self._k, n_jobs)

    def _insert_part(self, rows: NDArray[np.float32], search: str | Prepared | Revised) -> None:
        scratch = self._scratch
        if isinstance(search, Prepared | Revised):
            scratch = scratch._replace(search=search)
            search = "prepared" if isinstance(search, Prepared) else "revised"
        insert = modes.insert_kernel(self._rules, search, self.max_leaves is not None)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            insert(self._tree, scratch, rows[start : start + _ROWS_AT_ONCE])

    def refine(
        self,
        passes: int = 1,
        *,
        neighbors: int = 5,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> list[int]:
        """Improve the tree in place: look for grafts around every point, any time.

        An insert knows only the points before it. Here each leaf is compared with its nearest
        neighbours among all leaves, and so are the subtrees around both. Needs a linkage.

        More passes and more neighbours bring the tree closer to what batch clustering would make
        of the data: good for bad orders and hard data, not always purer (docs/quality.md).

        Parameters
        ----------
        passes : int
            How often to go over all points. A pass that changes nothing is the last one.
        neighbors : int
            Neighbours looked at for each leaf.
        time_limit : float, optional
            Stop after about so many seconds, also amid a pass.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        grafts : list of int
            How many subtrees each pass has moved.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C. The tree is whole and as good as it was; what was improved stays.

        Examples
        --------
        >>> import numpy as np
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(2, linkage="average")
        >>> ids = tree.insert(np.random.default_rng(0).random((500, 2)))
        >>> grafts = tree.refine(passes=2)
        >>> len(grafts) <= 2
        True
        """
        if self.linkage == "box":
            raise ValueError(
                "refine needs a tree with a linkage: make it with linkage='average' or 'ward'"
            )
        passes = as_count("passes", passes)
        neighbors = as_count("neighbors", neighbors, most=1000)
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"time_limit must be positive, got {time_limit}")
        with self._lock:
            if self.n_leaves < 3:
                return [0]
            self._forget()
            _, _, graft = modes.linkage_kernels(self._rules, self.max_leaves is not None)
            search = "auto" if self.search == "beam" else self.search
            refinement = Refinement(
                self._tree, self._scratch.queue, graft, search, neighbors, count_jobs(self.n_jobs)
            )
            grafts: list[int] = []
            try:
                with _progress(passes * self.n_leaves, verbose) as bar:
                    for made in itertools.islice(refinement.run(time_limit, bar), passes):
                        grafts.append(made)
                        if made == 0:
                            break
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"after {len(grafts)} passes; the tree is whole, and what was improved stays"
                ) from None
            return grafts

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
                distances, leaves = batch.nearest_leaves(
                    tree, _as_float32(rows[start:stop]), self.search,
                    min(k, self.n_leaves), count_jobs(self.n_jobs),
                )  # fmt: skip
                points_of_leaves(tree, leaves, distances, ids[start:stop], squared[start:stop])
        return ids, np.sqrt(squared[:, :, NEAR])

    # Files

    def save(
        self, path: str | Path, *, keys: Any = None, labels: Any = None, texts: Any = None
    ) -> None:
        """Save the tree to one file, from which `load` makes the same tree.

        It is written aside and put in place when whole: a crash or a full disk leaves the old
        file as it was.

        Parameters
        ----------
        path : path
        keys, labels, texts : sequences of n_points, optional
            Your own ids of the points, their classes, what they are: kept in the file, for
            `read_columns`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0], [1], [10]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "tree.perch"
        ...     tree.save(path)
        ...     ClusterTree.load(path).n_points
        3
        """
        with self._lock:
            columns = user_columns(self.n_points, keys=keys, labels=labels, texts=texts)
            write_tree(path, {"kind": "tree", "settings": self._settings()}, self._tree, columns)

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = False) -> Self:
        """Load a tree that `save` has written; it goes on as if it had never been saved.

        Parameters
        ----------
        path : path
            A file of a tree, or of an estimator: then its tree is loaded.
        mmap : bool
            Open a large tree at once: only the header and all sizes are verified, and features
            are read when they are needed. `check_file` verifies the rest.

        Raises
        ------
        CorruptFileError
            If the file is damaged; the message says which part. Without `mmap` every bit is
            compared with a checksum and every invariant of the tree is checked.
        """
        return cls._from_file(path, read_tree(path, mmap=mmap), verify=not mmap)

    @classmethod
    def _from_file(cls, path: str | Path, file: TreeFile, *, verify: bool) -> Self:
        try:
            settings = dict(file.meta["settings"])
            if settings["n_features"] != file.tree.points.shape[1]:
                raise ValueError
            tree = cls(**settings)
            if _arrays.has_moments(tree._tree) != _arrays.has_moments(file.tree):
                raise ValueError
            if tree._tree.counts[MAX_LEAVES] != file.tree.counts[MAX_LEAVES]:
                raise ValueError
        except (KeyError, TypeError, ValueError, MemoryError):
            raise CorruptFileError(f"{path} has settings that do not fit its tree") from None
        tree._tree = file.tree
        tree._start()
        if verify:
            try:
                tree.check()
            except InvariantError as error:
                raise CorruptFileError(f"{path} holds a broken tree: {error}") from None
        return tree

    def _settings(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("n_features", *_SETTINGS)}

    def estimate_memory(self, n_points: int) -> int:
        """About how many bytes the tree will take with so many points in all.

        Copies take less than is estimated here. In collapsed mode only ids go on growing.
        """
        return _arrays.estimate_bytes(self._tree, n_points)

    # Exports

    to_linkage = to_linkage
    to_newick = to_newick
    to_pandas = to_pandas
    to_json = to_json
    to_authors = to_authors
    to_html = to_html

    # The object itself

    def check(self) -> None:
        """Verify every invariant; raise InvariantError, which names the node, if one fails."""
        with self._lock:
            check_tree(self._tree)
            if self.max_leaves is not None:
                key, _, _ = modes.collapse_kernels(self._rules)
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
            return self._settings() | {"_tree": _arrays.copied(self._tree), "_format": _FORMAT}

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
        if name == "n_jobs":
            count_jobs(value)
            value = None if value is None else int(value)
        super().__setattr__(name, value)

    def __len__(self) -> int:
        return self.n_points

    def __repr__(self) -> str:
        defaults: dict[str, Any] = ClusterTree.__init__.__kwdefaults__ or {}
        settings = "".join(
            f", {name}={vars(self)[name]!r}"
            for name in _SETTINGS
            if vars(self)[name] != defaults[name]
        )
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


def check_file(path: str | Path) -> None:
    """Verify a file of a tree or an estimator in full: checksums, sizes, every invariant.

    Raises CorruptFileError, which says which part is damaged.
    """
    ClusterTree.load(path)
