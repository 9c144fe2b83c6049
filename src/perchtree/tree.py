"""ClusterTree: owns the arrays, checks what comes in, calls the kernels."""

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays
from ._kernels import modes
from ._kernels.measure import measure_depths
from ._kernels.schema import (
    BOX_ROWS,
    COUNTS,
    DISTANCES,
    LEAF,
    LEFT,
    MAX_POINTS,
    N_LEAVES,
    N_POINTS,
    NEAR,
    NONE,
    RIGHT,
    SIZE,
    AStar,
    Beam,
    Prepared,
    Revised,
    Scratch,
    Tree,
)
from ._validate import as_choice, as_count, as_rows, chunks
from .checks import check_collapsed, check_tree
from .cuts import CRITERIA, Cluster, Cuts, Suggestion, find_cluster, points_below
from .search import batch
from .search.threads import count_jobs
from .table import NodeTable, build_table

_ROWS_AT_ONCE = 256
"""Rows handed to one kernel call: Ctrl-C is heard between calls."""


_FORMAT = 1
"""Of pickles: changes with the arrays, which kernels trust."""

_SETTINGS = ("masking", "balance", "search", "beam_width", "max_leaves", "n_jobs")


class Depth(NamedTuple):
    """Edges from the root to a leaf: the largest number, and the mean over leaves."""

    max: int
    mean: float


@dataclass(frozen=True)
class TreeStats:
    """Work done by all inserts so far, in counts that repeat from run to run."""

    distances: int
    """Distances from a new point to a node or a leaf, in searches."""
    expansions: int
    """Internal nodes whose children a search looked at."""
    masking_checks: int
    masking_rotations: int
    balance_checks: int
    balance_rotations: int
    collapses: int
    """Pairs of leaves that became one."""
    beam_checked: int
    """Beam searches compared with the truth: 90 of the ids from 100 to 999, and so on."""
    beam_found: int
    """Those among them that found a leaf as near as any."""
    products: int
    """Pairs of points that matrix products covered, in scans."""
    scanned: int
    """Points whose neighbour a scan found; the others' were found in the tree."""


class ClusterTree:
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
        self._table: NodeTable | None = None
        self._made_cuts: Cuts | None = None
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
        self._table = self._made_cuts = None
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

    @property
    def n_points(self) -> int:
        """Number of points inserted."""
        return int(self._tree.counts[N_POINTS])

    @property
    def n_leaves(self) -> int:
        """Number of leaves: points, less copies and those that were collapsed."""
        return int(self._tree.counts[N_LEAVES])

    @property
    def depth(self) -> Depth:
        """Largest and mean depth of the leaves."""
        with self._lock:
            if self.n_points == 0:
                return Depth(0, 0.0)
            depths = np.zeros(len(self._tree.nodes), np.int32)
            measure_depths(self._tree, depths)
            of_leaves = depths[np.unique(self._tree.ids[: self.n_points, LEAF])]
            return Depth(int(of_leaves.max()), float(of_leaves.mean()))

    @property
    def mean_balance(self) -> float:
        """Balance of the tree (Definition 3): 1 is perfect; nan without internal nodes."""
        with self._lock:
            nodes = self._tree.nodes
            internal = nodes[1 : 2 * int(self._tree.counts[BOX_ROWS]) : 2]
            internal = internal[internal[:, LEFT] != NONE]
            if len(internal) == 0:
                return math.nan
            left, right = nodes[internal[:, LEFT], SIZE], nodes[internal[:, RIGHT], SIZE]
            return float((np.minimum(left, right) / np.maximum(left, right)).mean())

    @property
    def stats(self) -> TreeStats:
        """Counts of the work done by inserts."""
        return TreeStats(*self._tree.counts[DISTANCES:COUNTS].tolist())

    # The tree in scikit-learn's numbering

    @property
    def table(self) -> NodeTable:
        """All nodes in the numbering of `children`; kept until the next insert."""
        with self._lock:
            if self.n_points == 0:
                raise ValueError("the tree is empty: insert points first")
            if self._table is None or self._table.n_points != self.n_points:
                self._table = build_table(self._tree)
            return self._table

    @property
    def children(self) -> NDArray[np.int64]:
        """The tree as an (n_points - 1, 2) array, as `children_` of scikit-learn.

        Numbers below `n_points` are points; row i describes number `n_points + i`. Rows are
        ordered by height, then by smallest id, a merge after its parts. Points that share a
        leaf are joined below it by a balanced subtree.
        """
        return self.table.children

    @property
    def parents(self) -> NDArray[np.int64]:
        """The parent of each of the 2 n_points - 1 numbers; -1 at the root."""
        return self.table.parents

    @property
    def heights(self) -> NDArray[np.float64]:
        """The length of the diagonal of each number's box; 0 for points."""
        return self.table.heights

    def leaf_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The number of the leaf that holds each point: its id, unless copies share the leaf."""
        table = self.table
        return table.leaves[_as_numbers(ids, table.n_points, "id")]

    def members(self, node: int) -> NDArray[np.int64]:
        """The ids of the points below a number, in ascending order."""
        table = self.table
        return table.members(_as_number(node, len(table.parents), "node"))

    def lca(self, a: int, b: int) -> int:
        """The lowest node that holds both numbers. Points that share a leaf meet at that leaf."""
        table = self.table
        limit = len(table.parents)
        return table.lca(_as_number(a, limit, "node"), _as_number(b, limit, "node"))

    def path(self, point_id: int) -> NDArray[np.int64]:
        """The nodes from a point's leaf up to the root, both included."""
        table = self.table
        return table.path(int(table.leaves[_as_number(point_id, table.n_points, "id")]))

    # Clusters

    def cut(
        self,
        n_clusters: int | Sequence[int] | None = None,
        *,
        distance: float | None = None,
        level: float | None = None,
        criterion: str = "cost",
    ) -> NDArray[np.int64]:
        """Cut the tree into clusters: into so many, or at a distance or level.

        Nodes are collapsed greedily, the cheapest first, children before parents, as in the
        paper (section 6.3). The first cut computes the sequence; further ones are cheap.

        Parameters
        ----------
        n_clusters : int or sequence of int
            How many clusters. Several numbers give nested clusterings, one a column.
        distance : float
            Instead: the largest nodes whose boxes have a diagonal of at most this length.
        level : float
            Instead: collapse whatever costs at most this much; see `cut_level`.
        criterion : {"cost", "diameter", "size", "scatter", "ward"}
            What a node costs: the paper's diagonal of its box x number of its points; the
            diagonal; the number of points; the sum of squares within it; its increase.

        Returns
        -------
        labels : int64 array of shape (n_points,), or (n_points, len(n_clusters))
            0, 1, 2, ... in the order of the smallest id in each cluster.

        Examples
        --------
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0], [1], [10], [11], [50]])
        >>> tree.cut(2)
        array([0, 0, 0, 0, 1])
        >>> tree.cut([2, 3])
        array([[0, 0],
               [0, 0],
               [0, 1],
               [0, 1],
               [1, 2]])
        >>> tree.cut(distance=5)
        array([0, 0, 1, 1, 2])
        """
        criterion, level = self._cut_at(n_clusters, distance, level, criterion)
        with self._lock:
            cuts = self._cuts()
            if level is not None:
                return cuts.at_level(level, criterion)
            if isinstance(n_clusters, int | np.integer):
                return cuts.into(as_count("n_clusters", n_clusters), criterion)
            counts = [as_count("n_clusters", count) for count in n_clusters or ()]
            if not counts:
                raise ValueError("n_clusters is empty: name at least one number of clusters")
            return np.column_stack([cuts.into(count, criterion) for count in counts])

    def cut_level(self, n_clusters: int, *, criterion: str = "cost") -> float:
        """The level at which a cut gives `n_clusters` clusters, for `cut` and `cluster_of`."""
        as_choice("criterion", criterion, CRITERIA)
        with self._lock:
            return self._cuts().level(as_count("n_clusters", n_clusters), criterion)

    def suggest_cuts(self, most: int = 10, *, criterion: str = "cost") -> list[Suggestion]:
        """Numbers of clusters to try when none is known, the most promising first.

        They are where the cost of the next collapse is largest compared with the last: a cut
        there separates what is cheap to join from what is not. Hits and misses: docs/cuts.md.
        """
        as_choice("criterion", criterion, CRITERIA)
        with self._lock:
            return self._cuts().suggestions(criterion, as_count("most", most))

    def cluster_of(
        self,
        point_id: int,
        *,
        distance: float | None = None,
        level: float | None = None,
        criterion: str = "cost",
    ) -> Cluster:
        """The cluster that a point is in at a cut, without cutting the tree.

        Takes time proportional to the depth of the point. The same cut by `cut(distance=...)`
        or `cut(level=...)` puts two points together exactly if this gives both the same.
        The criterion is "cost", "diameter" or "size".
        """
        criterion, level = self._cut_at(None, distance, level, criterion)
        as_choice("criterion", criterion, ("cost", "diameter", "size"))
        with self._lock:
            point_id = _as_number(point_id, self.n_points, "id")
            assert level is not None
            return find_cluster(self._tree, point_id, level, criterion)

    def points_in(self, cluster: Cluster) -> NDArray[np.int64]:
        """The ids of the points in a cluster; it must be of the tree as it is now."""
        with self._lock:
            return points_below(self._tree, cluster.node)

    def _cut_at(
        self, n_clusters: Any, distance: float | None, level: float | None, criterion: str
    ) -> tuple[str, float | None]:
        """The criterion and the level; the level is None if a number of clusters is given."""
        as_choice("criterion", criterion, CRITERIA)
        given = [value for value in (n_clusters, distance, level) if value is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of n_clusters, distance and level")
        if n_clusters is not None:
            return criterion, None
        if not math.isfinite(given[0]) or given[0] < 0:
            raise ValueError(f"expected a distance or level of at least 0, got {given[0]}")
        return ("diameter" if distance is not None else criterion), float(given[0])

    def _cuts(self) -> Cuts:
        table = self.table
        if self._made_cuts is None or self._made_cuts.table is not table:
            self._made_cuts = Cuts(self._tree, table)
        return self._made_cuts

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


def _as_number(number: Any, limit: int, kind: str) -> int:
    return int(_as_numbers(as_count(kind, number, least=0), limit, kind))


def _as_numbers(numbers: ArrayLike, limit: int, kind: str) -> NDArray[np.int64]:
    array = np.asarray(numbers)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"expected whole numbers for {kind}s, got {array.dtype}")
    wrong = (array < 0) | (array >= limit)
    if wrong.any():
        raise ValueError(f"no {kind} {array[wrong].flat[0]}: they go from 0 to {limit - 1}")
    return array.astype(np.int64)


def _progress(total: int, verbose: bool) -> Any:
    if verbose:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm  # tqdm.auto complains in notebooks without widgets
    return tqdm(total=total, unit="point", unit_scale=True, disable=not verbose)
