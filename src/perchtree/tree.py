"""ClusterTree: owns the arrays, checks what comes in, calls the kernels."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays
from ._arguments import as_count
from ._kernels import modes
from ._kernels.nearest import points_of_leaves
from ._kernels.schema import MAX_POINTS, N_LEAVES, NEAR, NEXT_ID, WORK, Scratch, Tree
from ._locks import Locks, make_locks
from ._progress import progress
from ._renamed import moved
from ._validate import as_points, as_rows, chunks
from .checks import check_collapsed, check_tree
from .cutting import CuttableTree
from .errors import CorruptFileError
from .exports.authors import to_authors
from .exports.json import to_json
from .exports.linkage import to_linkage
from .exports.newick import to_newick
from .exports.pandas import to_pandas
from .files.contents import StoredTree
from .files.trees import load_tree, save_tree
from .html.page import to_html
from .refining import Refinement
from .removing import removable_ids
from .search.interface import Part, Search
from .search.making import make_search
from .search.threads import count_jobs
from .settings import FIXED, RULES, Settings, takes_settings
from .table import NodeTable

LARGEST_ROWS = 4096
LARGEST_VALUES = 2**23
"""Rows searched together, and values in them."""

_FIXED = frozenset(("n_features", "settings", *FIXED))
"""Attributes that a tree keeps."""

_FORMAT = 5
"""Of pickles: changes with the arrays, which kernels trust."""


class ClusterTree(CuttableTree):
    """An online cluster tree: PERCH (Kobren, Monath, Krishnamurthy and McCallum, KDD 2017).

    A binary tree with the points at its leaves. Each new point is inserted next to its nearest
    neighbour; rotations and grafts then repair the tree around it.

    Parameters
    ----------
    n_features : int
        Number of columns of the data.
    linkage : {"average", "ward", "neighbors", "box"}
        What rotations are based on. "box" is the published algorithm: bounding boxes, with
        `masking` and `balance`. The others use the count, mean and scatter of each node: at every
        node on the path to the root, the closest two of the three subtrees that meet there are
        kept together. "average", with grafts, is as pure as batch clustering; "ward" is the
        classical sum of squares. "neighbors" also uses edges between mutual nearest neighbours:
        purer where clusters are not round, but slower (docs/grafting.md).
    graft : int
        With a linkage: for this many nearest neighbours of a new point, check whether subtrees
        around the point and the neighbour should be joined, wherever they are. 0 for no grafts.
    masking : {"published", "interval", "exact", None}
        With linkage="box": the distances used for masking rotations (section 3.3): those of the
        authors' program; true bounds between boxes; or equation 1 evaluated exhaustively, for
        small data. None for no masking rotations (the greedy algorithm).
    balance : {"size", "ratio", None}
        With linkage="box": when a balance rotation (section 4.1) is an improvement: if sizes
        differ less, as in the authors' program, or if Definition 3 increases. None for none.
    search : {"auto", "astar", "scan", "beam", "cells"}
        How the nearest leaf is found. The first three are exact and give the same tree: "astar"
        searches the tree, "scan" uses matrix products of whole batches, and "auto" picks the
        cheaper of the two for each batch, or for a few dozen single rows. "beam" (PERCH-B)
        considers only `beam_width` nodes at each level of the tree. "cells", for millions of
        points, searches only the nearest small nodes.
    beam_width : int
        Nodes that a beam search keeps at each level. The paper uses 5 for each of 24 threads.
    recall : float
        The target share of true nearest neighbours for a search in cells.
    max_leaves : int, optional
        Collapsed mode (PERCH-C, with "beam" PERCH-BC): whenever there are more leaves, the two
        closest sibling leaves are merged into one, which keeps the ids of its points and their
        bounding box, but not their features. Memory is then bounded, except for ids.
    metric : {"euclidean", "cosine"}
        "cosine" normalises rows first; rows of zeros are then an error.
    n_jobs : int, optional
        Threads for searching batches: None means 1, -1 all cores. With more than one, a batch is
        searched while the previous one is inserted. The tree is always the same. This is the
        only setting that can be changed later.

    Notes
    -----
    Points have ids: 0, 1, 2, ... in order of arrival, never reused. Arrays with one entry per point
    are in ascending order of the ids, as given by `ids`.

    Features are stored as float32, whatever the input type. Rows that are equal as float32 share a
    leaf (with "beam", as far as it finds it; in collapsed mode, as long as it is not collapsed).
    Ties between nearest leaves are broken by the smallest id; of overlapping boxes, the
    tighter one is chosen. Differences below about 1e-19 vanish when squared: rescale such data.

    Any number of threads may use the same tree. Changes are serialised; readers get access between
    the parts of a long insert, and see the points inserted so far. Kernels release the GIL, so
    other Python threads keep running.

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

    @takes_settings
    def __init__(self, n_features: int, **settings: Any) -> None:
        self.n_features = as_count("n_features", n_features)
        self.settings = Settings.of(settings)
        tree = _arrays.empty_tree(
            self.n_features,
            self.settings.max_leaves,
            with_moments=self.settings.has_linkage,
            listed=self.settings.listed,
        )
        self._own(StoredTree(self.settings, tree, {}))

    def _own(self, stored: StoredTree) -> None:
        """Take over a tree's arrays, and make what is not part of the tree itself."""
        tree, work = stored.tree, stored.work
        self._storage = _arrays.Storage(tree)
        self._done = _arrays.make_work()
        self._done[:] = [work.get(name, 0) for name in WORK]
        self._upkeep = _arrays.make_upkeep(tree, self.settings.graft, self._done)
        self._search = make_search(self.settings)
        self._search.n_jobs = count_jobs(self.settings.n_jobs)
        self._search.restore(tree, stored.search_index)
        self.refined_parts: list[None] = []
        """What the last `refine` has done, one entry per part of a pass."""
        self.use_locks(make_locks())
        self.suggested = None
        self._forget()

    def use_locks(self, locks: Locks) -> None:
        """Share locks with a collection, before any other thread knows the tree."""
        self._writing, self._lock = locks

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other threads out of the tree, to do several things atomically.

        >>> tree = ClusterTree(1)
        >>> with tree.lock():
        ...     ids = tree.insert([[0.0], [1.0]])
        ...     labels = tree.cut(2)
        """
        with self._writing, self._lock:
            yield

    @property
    def _rules(self) -> modes.Rules:
        return rules_of(self.settings)

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
            The points' ids: 0, 1, 2, ... in order of arrival.

        Raises
        ------
        ValueError
            If anything about X is wrong. The tree is then unchanged.
        KeyboardInterrupt, MemoryError
            The tree then contains the first rows of X, and is valid; the message says how many.
        """
        rows = as_rows(X, self.n_features, cosine=self.settings.is_cosine)
        return self.insert_checked(rows, verbose=verbose)

    def insert_checked(
        self, rows: NDArray[Any], *, verbose: bool = False, normalised: bool = False
    ) -> NDArray[np.int64]:
        """Insert rows that were checked by `as_rows` already: for callers within the package.

        With `normalised`, rows are vectors of a tree with the same metric, and taken as they are.
        """
        cosine = self.settings.is_cosine and not normalised
        with self._writing:
            start = self.next_id
            if start + len(rows) > MAX_POINTS:
                raise ValueError(f"a tree holds at most {MAX_POINTS:,} points")
            try:
                with self._lock:
                    self._forget()  # views of arrays that are about to grow
                    self._storage.make_room(len(rows))
                    tree = self._tree
                with progress(len(rows), verbose) as bar:
                    batches = (
                        as_points(rows[first:stop], cosine=cosine)
                        for first, stop in chunks(rows, LARGEST_ROWS, LARGEST_VALUES)
                    )
                    parts = self._search.stream(tree, batches, self._done)
                    with contextlib.closing(parts):  # no search outlives this call
                        for part in parts:
                            self._insert_part(tree, part)
                            bar.update(len(part.rows))
            except (KeyboardInterrupt, MemoryError) as error:
                done = self.next_id - start
                why = "" if isinstance(error, KeyboardInterrupt) else f"out of memory ({error}): "
                raise interruption(error)(
                    f"{why}{done:,} of {len(rows):,} rows were inserted, and the tree is whole; "
                    f"insert(X[{done}:]) goes on"
                ) from None
            return np.arange(start, self.next_id)

    @property
    def leaf_search(self) -> Search:
        """What finds the leaves of rows: for callers within the package."""
        return self._search

    @contextlib.contextmanager
    def searching_by(self, search: Search) -> Iterator[None]:
        """Let another search find the leaves of rows: it must find what the tree's own would."""
        with self._writing:
            before, self._search = self._search, search
        try:
            yield
        finally:
            with self._writing:
                self._search = before

    def reserve(self, n_more: int) -> None:
        """Make room for more points now: the first insert after loading has to move everything.

        Memory that is not used yet is not resident; readers wait meanwhile.
        """
        with self._writing, self._lock:
            self._forget()
            self._storage.make_room(as_count("n_more", n_more))

    def _make_room_for_features(self) -> None:
        """Before nodes are moved: more of them may come to have features than in a file."""
        with self._lock:
            self._storage.make_room(0)

    def _insert_part(self, tree: Tree, part: Part) -> None:
        """Insert rows whose search is settled; readers get access between kernel calls."""
        finder = part.finder
        insert = modes.insert_kernel(
            self._rules, finder.search, finder.record, self.settings.collapses
        )
        scratch, first = Scratch(finder.memory, self._upkeep), int(tree.state[NEXT_ID])
        mapped = self._storage.mapped
        step = 1 if mapped else _rows_at_once(int(tree.state[N_LEAVES]), self.n_features)
        try:
            for start in range(0, len(part.rows), step):
                with self._lock:
                    insert(tree, scratch, part.rows[start : start + step])
                    for features in mapped:
                        features.have_read()
        finally:
            with self._lock:
                self._search.added(tree, range(first, int(tree.state[NEXT_ID])))

    def remove(
        self, ids: ArrayLike, *, missing: str = "error", verbose: bool = False
    ) -> NDArray[np.int64]:
        """Remove points, in the order given, and repair the tree around each.

        Removing points in one call or in many gives the same tree. Ids are never reused; features
        are erased and their memory is reused for later points. In collapsed mode, the box of a
        leaf does not change until its last point is removed.

        Parameters
        ----------
        ids : array-like of int
        missing : {"error", "ok"}
            What to do if no point has an id, or an id is given twice: fail without changing
            anything, or skip it.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        ids : int64 array
            Those that were removed.

        Raises
        ------
        ValueError
            If a point is missing: the message names the first few. The tree is then unchanged.
        KeyboardInterrupt
            On Ctrl-C. The first points have been removed, and the tree is valid.

        Examples
        --------
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0.0], [1.0], [9.0]])
        >>> tree.remove([1])
        array([1])
        >>> tree.ids
        array([0, 2])
        """
        with self._writing:
            wanted = removable_ids(self._tree, ids, missing)
            self._make_room_for_features()
            remove = modes.remove_kernel(self._rules, self.settings.collapses)
            is_sorted = np.zeros(len(self._tree.nodes) if self.settings.collapses else 0, bool)
            n_points, step = self.n_points, _rows_at_once(self.n_leaves, self.n_features)
            try:
                with progress(len(wanted), verbose) as bar:
                    for start in range(0, len(wanted), step):
                        part = wanted[start : start + step]
                        with self._lock:
                            self._forget()
                            remove(self._tree, self._upkeep, part, is_sorted)
                        bar.update(len(part))
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"{n_points - self.n_points:,} of {len(wanted):,} points were removed, and the "
                    "tree is whole"
                ) from None
            finally:
                with self._lock:
                    self._search.removed(self._tree, wanted[: n_points - self.n_points])
            return wanted

    def refine(
        self,
        passes: int = 1,
        *,
        neighbors: int = 5,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> list[int]:
        """Improve the tree in place by looking for grafts around every point.

        An insert only knows the points before it. Here, each leaf is compared with its nearest
        neighbours among all leaves, and so are the subtrees around both. Requires a linkage.

        More passes and more neighbours bring the tree closer to the result of batch clustering,
        which helps with bad orders and hard data but is not always purer (docs/quality.md).

        Parameters
        ----------
        passes : int
            The number of passes over all points. A pass that changes nothing is the last one.
        neighbors : int
            The number of neighbours considered for each leaf.
        time_limit : float, optional
            Stop after about this many seconds, even during a pass.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        grafts : list of int
            The number of subtrees moved in each pass.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C. The tree is valid, and improvements made so far are kept.

        Examples
        --------
        Sorted points mislead an online tree; passes bring together what belongs together.

        >>> import numpy as np
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(2)
        >>> ids = tree.insert(np.sort(np.random.default_rng(0).random((500, 2)), axis=0))
        >>> first, *later = tree.refine(passes=50)
        >>> first > 0, later[-1]
        (True, 0)
        """
        if not self.settings.has_linkage:
            raise ValueError(
                "refine needs a tree with a linkage: make it with linkage='average' or 'ward'"
            )
        passes = as_count("passes", passes)
        neighbors = as_count("neighbors", neighbors, most=1000)
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"time_limit must be positive, got {time_limit}")
        with self._writing:
            self.refined_parts = []
            if self.n_leaves < 3:
                return [0]
            refinement = self._refinement(neighbors)
            self.refined_parts = refinement.parts
            grafts: list[int] = []
            try:
                with progress(passes * self.n_leaves, verbose) as bar:
                    for made in itertools.islice(refinement.run(time_limit, bar), passes):
                        grafts.append(made)
                        if made == 0:
                            break
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"after {len(grafts)} passes; the tree is whole, and what was improved stays"
                ) from None
            return grafts

    def refine_parts(self, n_parts: int, *, neighbors: int) -> None:
        """Do again what `refine` did, by the number of parts that it left in `refined_parts`."""
        with self._writing:
            refinement = self._refinement(neighbors)
            refinement.most_parts = n_parts
            with progress(0, False) as bar:
                for _ in refinement.run(None, bar):
                    pass

    def _refinement(self, neighbors: int) -> Refinement:
        self._make_room_for_features()
        repairs = modes.repair_kernels(self._rules, self.settings.collapses)
        return Refinement(self._tree, self._upkeep, repairs, self._search, neighbors, self._lock)

    # Asking

    def nearest(
        self, X: ArrayLike, k: int = 1, *, exact: bool = True
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Find the k nearest points of each row, without inserting it.

        Copies count as separate points; at equal distance, the smaller id comes first.
        In collapsed mode, the distance to a point is that to the box of its leaf, and of several
        boxes at the same distance, the tighter one comes first. With the metric "cosine",
        distances are those between normalised rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        k : int
        exact : bool
            With search="cells": whether to consider all points. False only searches where an
            insert would.

        Returns
        -------
        ids : int64 array of shape (n_rows, k)
        distances : float32 array of shape (n_rows, k)
        """
        rows = as_rows(X, self.n_features, cosine=self.settings.is_cosine)
        k = as_count("k", k)
        ids = np.empty((len(rows), k), np.int64)
        squared = np.empty((len(rows), k, 2), np.float32)
        for start, stop in chunks(rows, LARGEST_ROWS, LARGEST_VALUES):
            batch = as_points(rows[start:stop], cosine=self.settings.is_cosine)
            with self._lock:
                if k > self.n_points:
                    raise ValueError(f"k = {k} neighbours asked of {self.n_points} points")
                find = self._search.nearest if exact else self._search.near
                found = find(self._tree, batch, min(k, self.n_leaves), _arrays.make_work())
                points_of_leaves(
                    self._tree, found.leaves, found.distances, ids[start:stop], squared[start:stop]
                )
        return ids, np.sqrt(squared[:, :, NEAR])

    # Files

    @moved(
        keys="Collection.add(keys=...)",
        labels="Collection.add(classes=...)",
        texts="Collection.add(texts=...)",
    )
    def save(self, path: str | Path, *, compress: bool = False) -> None:
        """Save the tree to a file, to be read with `load`.

        The file is replaced atomically: a crash or a full disk leaves the old file unchanged.
        `Collection` also saves keys, texts and classes.

        Parameters
        ----------
        path : path
        compress : bool
            For an archive: smaller, but several times slower to write and read (docs/files.md).
            Requires `perchtree[zstd]`.

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
        with self.stored() as stored:
            save_tree(path, stored, {}, compress=compress)

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = False) -> Self:
        """Load a tree written by `save`; it behaves as if it had never been saved.

        Parameters
        ----------
        path : path
            A file of a tree; for a file of a collection or an estimator, its tree is loaded.
        mmap : bool
            Open a large tree quickly: its structure is verified, but features are only mapped and
            read when needed. `check_file` verifies the rest. Not for compressed files.

        Raises
        ------
        CorruptFileError
            If the file is damaged; the message says which part. Without `mmap`, every byte is
            verified by a checksum and every invariant of the tree is checked.
        """
        stored, _ = load_tree(path, mmap=mmap)
        return cls.from_stored(stored)

    @contextlib.contextmanager
    def stored(self) -> Iterator[StoredTree]:
        """What a file keeps: the arrays, not copied, which nothing changes meanwhile.

        Others can still read, unless this thread keeps them from it already.
        """
        with self._lock if self._lock.is_mine else self._writing:
            work = dict(zip(WORK, self._done.tolist(), strict=True))
            yield StoredTree(self.settings, self._tree, work, self._search.kept(self._tree))

    @classmethod
    def from_stored(cls, stored: StoredTree) -> Self:
        tree = cls.__new__(cls)
        tree.n_features, tree.settings = stored.tree.points.shape[1], stored.settings
        try:
            tree._own(stored)
        except ValueError as error:
            raise CorruptFileError(f"this tree cannot be used: {error}") from None
        return tree

    def _grow_like(self, rows: NDArray[np.float64]) -> NodeTable:
        own = self.settings
        masking = "published" if own.masking == "exact" else own.masking  # exact takes cubic time
        rules = own.changed(
            masking=masking, search="auto", max_leaves=None, metric="euclidean"
        ).as_dict()
        tree = ClusterTree(rows.shape[1], **rules)
        tree.insert(rows)
        return tree.table

    def estimate_memory(self, n_points: int) -> int:
        """Estimate how many bytes the tree will need for a total number of points.

        What the search keeps beside it is included: about what it is for the points that are there,
        or the most it can be while there are fewer than 2,048; and so is one batch of rows. Copies
        need less than estimated. In collapsed mode, only the ids keep growing.
        """
        with self._lock:
            own = _arrays.estimate_bytes(self._tree, n_points)
            beside = self._search.estimate_bytes(self._tree, n_points)
        batch = min(n_points, LARGEST_ROWS, LARGEST_VALUES // self.n_features)
        return own + beside + 4 * batch * self.n_features

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
            if self.settings.collapses:
                check_collapsed(self._tree, self._upkeep.queue, modes.keys_kernel(self._rules))

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        with self.stored() as stored:
            return {
                "format": _FORMAT,
                "settings": stored.settings.as_dict(),
                "tree": _arrays.copied(stored.tree),
                "work": stored.work,
                "index": dict(stored.search_index),
                "suggested": self.suggested,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.get("format") != _FORMAT:
            raise ValueError("this tree was pickled by another version of perchtree")
        # What comes out of a pickle or a shared memory map may be read-only.
        arrays = (np.require(array, requirements=["C", "W"]) for array in state["tree"])
        self.settings, tree = Settings(**state["settings"]), Tree(*arrays)
        self.n_features = tree.points.shape[1]
        self._own(StoredTree(self.settings, tree, state["work"], state["index"]))
        self.suggested = state.get("suggested")

    def __getattr__(self, name: str) -> Any:
        """Settings can be read as attributes: `tree.linkage`."""
        if name in RULES and "settings" in vars(self):
            return getattr(self.settings, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_storage" in vars(self):
            raise AttributeError(f"{name} is fixed when a tree is made: make another one")
        if name == "n_jobs":
            changed = dataclasses.replace(self.settings, n_jobs=value)
            self._search.n_jobs = count_jobs(changed.n_jobs)
            name, value = "settings", changed
        super().__setattr__(name, value)

    def __len__(self) -> int:
        return self.n_points

    def __repr__(self) -> str:
        settings = "".join(f", {n}={value!r}" for n, value in self.settings.unusual().items())
        return (
            f"<ClusterTree(n_features={self.n_features}{settings}): "
            f"{self.n_points:,} points in {self.n_leaves:,} leaves>"
        )


def check_file(path: str | Path) -> None:
    """Verify a file of a tree, a collection or an estimator completely.

    Checksums, sizes and every invariant are checked. Raises CorruptFileError, with a message that
    says which part is damaged.
    """
    load_tree(path)


def rules_of(settings: Settings) -> modes.Rules:
    """What decides about rotations."""
    return modes.Rules(settings.linkage, settings.graft > 0, settings.masking, settings.balance)


def _rows_at_once(n_leaves: int, n_features: int) -> int:
    """Rows handed to one kernel call: Ctrl-C and readers are served in between.

    Fewer in large trees, where each takes longer. A call costs as much as a few inserts of short
    rows, so there are more of those.
    """
    most = max(64, min(512, 2**12 // n_features))
    return max(16, min(most, 2**22 // max(1, n_leaves)))


def interruption(error: BaseException) -> type[BaseException]:
    """The kind of an interruption; NumPy's own MemoryError cannot be raised with a message."""
    return MemoryError if isinstance(error, MemoryError) else KeyboardInterrupt
