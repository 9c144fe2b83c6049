"""Everything that only reads a tree: its numbers, its nodes in scikit-learn's way, its clusters."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import as_choice, as_count
from ._arrays import Storage, has_moments
from ._kernels.measure import measure_depths
from ._kernels.numbering import is_point, row_of
from ._kernels.schema import (
    CHANGES,
    LEAF,
    LEFT,
    N_LEAVES,
    N_POINTS,
    NEXT_ID,
    NONE,
    RIGHT,
    SIZE,
    WORK,
    Counts,
    Tree,
)
from ._locks import FairLock
from .clusters.calibrating import N_FITS, Calibration, Calibrator
from .clusters.confidence import find_confidence
from .clusters.cuts import (
    CRITERIA,
    PRICES,
    Cluster,
    Cuts,
    find_cluster,
    points_below,
)
from .clusters.numbering import numbered
from .clusters.questions import pick
from .clusters.scales import Suggestion, suggest
from .search.threads import one_blas_thread
from .table import (
    NodeHeights,
    NodeTable,
    are_living,
    build_table,
    internal_nodes,
    living_ids,
    measure_nodes,
)


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
    linkages: int
    """Pairs of nodes whose linkage was computed; those of siblings, kept up to date, aside."""
    interchanges: int
    """Rotations by linkage."""
    grafts: int
    """Subtrees moved to another place."""


class ReadableTree:
    """A tree that can be read. What it tells is made when asked for and kept until it changes.

    `_storage` owns the arrays, `_lock` is held while they are read or changed, `_done` counts work.
    """

    _storage: Storage
    _lock: FairLock
    _done: Counts
    _table: NodeTable | None
    _made_cuts: Cuts | None
    _heights: tuple[int, NodeHeights] | None
    suggested: tuple[int, list[Suggestion]] | None
    """What `suggest_cuts` has found, and at which count of changes: copies and files keep it."""
    _made_calibrator: Calibrator | None

    @property
    def _tree(self) -> Tree:
        """The arrays: only for who holds one of the locks."""
        return self._storage.shown or self._storage.show()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Tree]:
        """The arrays, which do not change while this context lasts. Do not keep them longer.

        A long insert by another thread goes on between two such contexts.
        """
        with self._lock:
            yield self._tree

    def _forget(self) -> None:
        """Drop what was made from the tree as it was."""
        self._table = self._made_cuts = self._heights = self._made_calibrator = None

    @property
    def n_points(self) -> int:
        """Number of points in the tree."""
        return int(self._storage.state[N_POINTS])

    @property
    def n_leaves(self) -> int:
        """Number of leaves: points, less copies and those that were collapsed."""
        return int(self._storage.state[N_LEAVES])

    @property
    def next_id(self) -> int:
        """The id that the next point will get. Ids are never used again."""
        return int(self._storage.state[NEXT_ID])

    @property
    def changes(self) -> int:
        """A counter that grows with every change: as long as it stays, so does the tree."""
        return int(self._storage.state[CHANGES])

    @property
    def ids(self) -> NDArray[np.int64]:
        """The ids of all points, in ascending order.

        Every array with one entry per point follows this order.
        """
        with self._lock:
            return living_ids(self._tree)

    def holds(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether there is a point with each of these ids."""
        with self._lock:
            return are_living(self._tree, ids)

    def vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The features of points, as the tree keeps them; ValueError if they were collapsed."""
        with self._lock:
            leaves = self._tree.ids[ids, LEAF]
            if not is_point(leaves).all():
                raise ValueError(
                    "max_leaves has collapsed leaves, and vectors of their points are gone"
                )
            rows: NDArray[np.float32] = self._tree.points[row_of(leaves)]
            return rows

    @property
    def depth(self) -> Depth:
        """Largest and mean depth of the leaves."""
        with self._lock:
            if self.n_points == 0:
                return Depth(0, 0.0)
            depths = np.zeros(len(self._tree.nodes), np.int32)
            measure_depths(self._tree, depths)
            of_leaves = depths[np.unique(self._tree.ids[living_ids(self._tree), LEAF])]
            return Depth(int(of_leaves.max()), float(of_leaves.mean()))

    @property
    def mean_balance(self) -> float:
        """Balance of the tree (Definition 3): 1 is perfect; nan without internal nodes."""
        with self._lock:
            nodes = self._tree.nodes
            internal = nodes[internal_nodes(self._tree)]
            if len(internal) == 0:
                return math.nan
            left, right = nodes[internal[:, LEFT], SIZE], nodes[internal[:, RIGHT], SIZE]
            return float((np.minimum(left, right) / np.maximum(left, right)).mean())

    @property
    def stats(self) -> TreeStats:
        """Counts of the work done by inserts."""
        return TreeStats(**dict(zip(WORK, self._done.tolist(), strict=True)))

    # The tree in scikit-learn's numbering

    @property
    def table(self) -> NodeTable:
        """All nodes in the numbering of `children`; kept until the tree changes."""
        with self._lock:
            if self.n_points == 0:
                raise ValueError("the tree is empty: insert points first")
            if self._table is None or self._table.changes != self.changes:
                self._table = build_table(self._tree, self._node_heights())
            return self._table

    def _node_heights(self) -> NodeHeights:
        """How high the tree's own nodes are; kept until the tree changes."""
        if self._heights is None or self._heights[0] != self.changes:
            self._heights = self.changes, measure_nodes(self._tree)
        return self._heights[1]

    @property
    def children(self) -> NDArray[np.int64]:
        """The tree as an (n_points - 1, 2) array, as `children_` of scikit-learn.

        Numbers below `n_points` are points, number i the point with the id `ids[i]`; row i
        describes number `n_points + i`. Rows are
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
        """How far apart the two parts of each number are; 0 for points.

        In a tree with a linkage this is the root mean squared distance between the points of one
        part and those of the other, or that of a merge further down if it is larger; in a tree
        of boxes it is the diagonal of the box. It never shrinks towards the root. (Any two points
        of a collapsed leaf are as far apart as its points are on average.)
        """
        return self.table.heights

    def leaf_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The number of the leaf that holds each point, given the points' ids."""
        table = self.table
        return table.leaves[_positions(table, ids)]

    def members(self, node: int) -> NDArray[np.int64]:
        """The ids of the points below a number, in ascending order."""
        table = self.table
        return table.ids[table.members(_as_number(node, len(table.parents), "node"))]

    def lca(self, a: int, b: int) -> int:
        """The lowest node that holds both numbers. Points that share a leaf meet at that leaf."""
        table = self.table
        limit = len(table.parents)
        return table.lca(_as_number(a, limit, "node"), _as_number(b, limit, "node"))

    def path(self, point_id: int) -> NDArray[np.int64]:
        """The nodes from a point's leaf up to the root, both included."""
        table = self.table
        return table.path(int(table.leaves[_positions(table, as_count("id", point_id, least=0))]))

    # Clusters

    def cut(
        self,
        n_clusters: int | Sequence[int] | None = None,
        *,
        distance: float | None = None,
        level: float | None = None,
        min_cluster_size: int | None = None,
        criterion: str | None = None,
    ) -> NDArray[np.int64]:
        """Cut the tree into clusters: into so many, at a distance or level, or where they persist.

        With nothing given, clusters are those that persist, with the minimum size that
        `suggest_cuts` puts first.

        By number, distance or level, nodes are collapsed greedily, the cheapest first, children
        before parents, as in the paper (section 6.3). The first cut computes the sequence;
        further ones are cheap.

        Parameters
        ----------
        n_clusters : int or sequence of int
            How many clusters. Several numbers give nested clusterings, one per column.
        distance : float
            Instead: join whatever is at most so far apart, the largest nodes of at most this
            height; see `heights`.
        level : float
            Instead: collapse whatever costs at most this much; see `cut_level`.
        min_cluster_size : int
            Instead: the clusters that persist longest, at different heights in different parts of
            the tree, of at least so many points. Groups of fewer points that belong to none of
            them are clusters of their own; so are points that joined a cluster late.
        criterion : str, optional
            What a node costs, for a number of clusters or a level. "cost": the paper's diagonal of
            its box x number of its points; "diameter": the diagonal; "height"; "pooled": the
            height, pooled over pairs of points where it is less than further down; "size": the
            number of points; "blend": that x the cube root of the height; "scatter": the sum of
            squares within it; "ward": its increase. None takes "cost" for a level. For a number of
            clusters it takes "pooled" if such clusters stand out much more than those by "blend",
            as they do where sizes are skewed, and else "blend"; for several numbers, "pooled" only
            if that is so for each of them.

        Returns
        -------
        labels : int64 array of shape (n_points,), or (n_points, len(n_clusters))
            0, 1, 2, ... in the order of the smallest id in each cluster; one per point, in the
            order of `ids`.

        Examples
        --------
        >>> from perchtree import ClusterTree
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
        if criterion is not None:
            as_choice("criterion", criterion, CRITERIA)
        given = (n_clusters, distance, level, min_cluster_size)
        if sum(value is not None for value in given) > 1:
            raise ValueError("give at most one of n_clusters, distance, level and min_cluster_size")
        with self._lock:
            cuts = self._cuts()
            if distance is not None:
                return cuts.at_level(_as_level(distance), "height")
            if level is not None:
                return cuts.at_level(_as_level(level), criterion or "cost")
            if n_clusters is None:
                if min_cluster_size is None:
                    min_cluster_size = self.suggest_cuts(1)[0].min_cluster_size
                return cuts.persistent(as_count("min_cluster_size", min_cluster_size))
            several = not isinstance(n_clusters, int | np.integer)
            counts = [as_count("n_clusters", n) for n in np.atleast_1d(n_clusters).tolist()]
            if not counts:
                raise ValueError("n_clusters is empty: name at least one number of clusters")
            criterion = criterion or cuts.pick(counts)
            labels = [cuts.into(count, criterion) for count in counts]
            return np.column_stack(labels) if several else labels[0]

    def confidence(self, labels: ArrayLike) -> NDArray[np.float64]:
        """How firmly each point sits in its cluster, from 0 to 1, by the tree alone.

        It is the point's silhouette in distances along the tree: 1 - a / b, where a is the mean
        height at which it meets the other points of its cluster, and b the height of the node
        above the cluster, where it meets others first. What was corrected counts by the nodes
        that it consists of. docs/cuts.md shows how often points are right by their confidence.

        Parameters
        ----------
        labels : array-like of whole numbers
            The cluster of each point, in the order of `ids`, as `cut` returns them.

        Examples
        --------
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0], [1], [3], [10], [11]])
        >>> tree.confidence(tree.cut(2)).round(2)
        array([0.81, 0.81, 0.72, 0.89, 0.89])
        """
        with self._lock:
            if self.n_points == 0:
                return np.empty(0)
            return find_confidence(self.table, numbered(self.as_labels(labels))[0])

    def as_labels(self, labels: ArrayLike) -> NDArray[np.int64]:
        """Labels as an array; ValueError unless there is a whole number for each point."""
        given = np.asarray(labels)
        if given.shape != (self.n_points,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"expected {self.n_points} whole numbers, the cluster of each point, got an "
                f"array of {given.dtype} of the shape {given.shape}"
            )
        return given.astype(np.int64, copy=False)

    def cut_level(self, n_clusters: int, *, criterion: str = "cost") -> float:
        """The level at which a cut gives `n_clusters` clusters, for `cut` and `cluster_of`."""
        as_choice("criterion", criterion, CRITERIA)
        with self._lock:
            return self._cuts().level(as_count("n_clusters", n_clusters), criterion)

    def suggest_cuts(self, most: int = 5) -> list[Suggestion]:
        """How to cut the tree if the number of clusters is not known, the most telling way first.

        Each suggestion is a minimum size for `cut(min_cluster_size=...)`, with the number of
        clusters that it gives and its score: how many times as strong those clusters are as
        those found in points without clusters. If nothing `stands_out`, there is one suggestion,
        which says so: a minimum size of a sixteenth of the points, for few clusters.

        The points without clusters are made from a sample of at most 2,048, by a fixed rule: the
        answer repeats. It is kept until the tree changes, by copies too. docs/cuts.md has hits
        and misses.
        """
        with self._lock:
            if self.suggested is None or self.suggested[0] != self.changes:
                found = suggest(self._tree, self.table, self._grow_like)
                self.suggested = self.changes, found
            return self.suggested[1][: as_count("most", most)]

    # Answers about pairs

    def questions(
        self, n: int = 1, pairs: ArrayLike = (), same: ArrayLike = (), *, seed: int = 0
    ) -> NDArray[np.int64]:
        """Pick pairs to ask about: are the two the same? The answers are for `calibrate`.

        Without answers, pairs are spread over the merges of the tree, from pairs that nearly all
        cuts join to pairs that nearly none does. From 50 answers on most are about merges that
        the answers so far leave in doubt, so it pays to ask for ten or twenty at a time.

        Parameters
        ----------
        n : int
            How many; there are fewer if hardly any pair is left.
        pairs : array-like of shape (n_pairs, 2), optional
            Ids of pairs that were asked about already, from here or elsewhere.
        same : array-like of n_pairs, optional
            The answers: true, false, or None for pairs that nobody could tell.
        seed : int
            For another choice of pairs.

        Returns
        -------
        pairs : int64 array of shape (n, 2)
            Ids, none of the pairs that were given. The same arguments give the same pairs, and
            a smaller n gives the first of them.

        Examples
        --------
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0], [1], [10], [11], [50]])
        >>> tree.questions(2).shape
        (2, 2)
        """
        n = as_count("n", n)
        seed = as_count("seed", seed, least=0)
        with self._lock, one_blas_thread():
            a, b, known = _as_answers(self.table, pairs, same)
            found = pick(self._calibrator(), n, a, b, known, seed)
            return self.table.ids[found]

    def calibrate(self, pairs: ArrayLike, same: ArrayLike, *, n_fits: int = N_FITS) -> Calibration:
        """Choose criterion and level of a cut by answers about pairs of points.

        It takes the cut with the highest pairwise F1, as far as the answers tell: by any criterion
        of `cut` at any level, or where clusters persist with any minimum size. A model of how
        likely two points are the same, given where they meet in the tree, is fitted to the
        answers; precision, recall and F1 follow from it. Pairs may come from anywhere, but those
        of `questions` tell most: random pairs are hardly ever the same, nearest neighbours nearly
        always.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2)
            Ids.
        same : array-like of n_pairs
            True or false; None for pairs that nobody could tell, which do not count.
        n_fits : int
            How often the fit is repeated with other weights, for the intervals.

        Returns
        -------
        Calibration
            `labels`; `criterion` and `level` (or `min_cluster_size`), for `cut`; `precision`,
            `recall` and `f1`, each with an interval; `confidence` that no other cut is much
            better; and `doubts`: contradictory or too few answers, in words.

        Examples
        --------
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0], [1], [10], [11], [50]])
        >>> found = tree.calibrate([(0, 1), (2, 3), (1, 2), (0, 4)], [True, True, False, False])
        >>> found.labels
        array([0, 0, 1, 1, 2])
        >>> found.doubts != ()  # four answers are few
        True
        """
        n_fits = as_count("n_fits", n_fits)
        with self._lock, one_blas_thread():
            a, b, known = _as_answers(self.table, pairs, same)
            told = ~np.isnan(known)
            return self._calibrator().calibrate(a[told], b[told], known[told], n_fits)

    def _calibrator(self) -> Calibrator:
        cuts = self._cuts()
        if self._made_calibrator is None or self._made_calibrator.cuts is not cuts:
            self._made_calibrator = Calibrator(cuts)
        return self._made_calibrator

    def _grow_like(self, rows: NDArray[np.float64]) -> NodeTable:
        """Make a tree of other rows by the rules of this one, and number it."""
        raise NotImplementedError

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
        The criterion is "cost", "diameter", "height" or "size". By height, in a tree with a
        linkage, the first question after a change takes time proportional to the number of points.
        """
        as_choice("criterion", criterion, (*PRICES, "height"))
        if (distance is None) == (level is None):
            raise ValueError("give either distance or level")
        if distance is not None:
            criterion = "height"
        highest = _as_level(distance if level is None else level)
        with self._lock:
            point_id = self._living(point_id)
            return find_cluster(self._tree, point_id, highest, self._price(criterion))

    def _price(self, criterion: str) -> Callable[[Cluster], float]:
        """What a cluster costs. The diagonal of a box needs no other node, other heights do."""
        if criterion != "height":
            return PRICES[criterion]
        if not has_moments(self._tree):
            return PRICES["diameter"]
        heights = self._node_heights().heights
        return lambda cluster: float(heights[cluster.node])

    def _living(self, point_id: int) -> int:
        """The id, if there is a point with it."""
        point_id = _as_number(point_id, self.next_id, "id")
        if self._tree.ids[point_id, LEAF] == NONE:
            raise ValueError(f"no point has the id {point_id} any more")
        return point_id

    def points_in(self, cluster: Cluster) -> NDArray[np.int64]:
        """The ids of the points in a cluster, which must be one of the tree as it is now."""
        with self._lock:
            return points_below(self._tree, cluster.node)

    def _cuts(self) -> Cuts:
        table = self.table
        if self._made_cuts is None or self._made_cuts.table is not table:
            self._made_cuts = Cuts(self._tree, table)
        return self._made_cuts


def _as_level(value: Any) -> float:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"expected a distance or level of at least 0, got {value}")
    return float(value)


def _as_answers(
    table: NodeTable, pairs: ArrayLike, same: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The numbers of both points of each pair, and whether they are the same; nan if not known."""
    ids = np.asarray(pairs)
    ids = ids.reshape(-1, 2) if ids.size == 0 else ids
    answers = [_as_answer(answer) for answer in np.asarray(same, object).ravel()]
    if ids.ndim != 2 or ids.shape[1] != 2 or len(ids) != len(answers):
        raise ValueError(
            f"expected pairs of ids and an answer for each, got an array of the shape "
            f"{ids.shape} and {len(answers)} answers"
        )
    a, b = _positions(table, ids).T
    if (a == b).any():
        raise ValueError(f"{table.ids[a[(a == b).argmax()]]} is paired with itself")
    return a, b, np.array(answers, np.float64)


def _as_answer(answer: Any) -> float:
    if answer is None or (isinstance(answer, float) and math.isnan(answer)):
        return math.nan
    if answer not in (0, 1):
        raise ValueError(f"an answer is true, false or None, got {answer!r:.50}")
    return float(answer)


def _positions(table: NodeTable, ids: ArrayLike) -> NDArray[np.int64]:
    """The numbers of points, given their ids."""
    wanted = np.asarray(ids)
    if wanted.size and wanted.dtype.kind not in "iu":
        raise TypeError(f"expected whole numbers for ids, got {wanted.dtype}")
    wanted = wanted.astype(np.int64)
    places = np.minimum(np.searchsorted(table.ids, wanted), table.n_points - 1)
    wrong = table.ids[places] != wanted
    if wrong.any():
        raise ValueError(f"no point has the id {wanted[wrong].flat[0]}")
    return places


def _as_number(number: Any, limit: int, kind: str) -> int:
    checked = as_count(kind, number, least=0)
    if checked >= limit:
        raise ValueError(f"no {kind} {checked}: they go from 0 to {limit - 1}")
    return checked
