"""Flat clusters of a tree: cuts, confidence, and calibration by answers about pairs."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import as_choice, as_count
from ._arrays import has_moments
from ._kernels.numbering import is_point, row_of
from ._kernels.schema import HEIGHT, LEAF, NONE
from .clusters.calibrating import N_FITS, Calibration, Calibrator
from .clusters.confidence import find_confidence
from .clusters.cuts import CRITERIA, PRICES, Cluster, Cuts, find_cluster, points_below
from .clusters.numbering import numbered
from .clusters.questions import pick
from .clusters.scales import Suggestion, suggest
from .reading import ReadableTree, as_number, positions_of
from .search.threads import one_blas_thread
from .table import NodeTable


class CuttableTree(ReadableTree):
    """A tree that can be cut into clusters. Cuts are kept until the tree changes."""

    _made_cuts: Cuts | None
    suggested: tuple[int, list[Suggestion]] | None
    """What `suggest_cuts` has found, and at which count of changes: copies and files keep it."""
    _made_calibrator: Calibrator | None

    def _forget(self) -> None:
        super()._forget()
        self._made_cuts = self._made_calibrator = None

    def cut(
        self,
        n_clusters: int | Sequence[int] | None = None,
        *,
        distance: float | None = None,
        level: float | None = None,
        min_cluster_size: int | None = None,
        criterion: str | None = None,
    ) -> NDArray[np.int64]:
        """Cut the tree into clusters: by number, by distance or level, or by persistence.

        Without arguments, these are the most persistent clusters, with the minimum size that
        `suggest_cuts` puts first.

        For a number, distance or level, nodes are collapsed greedily, the cheapest first, children
        before parents, as in the paper (section 6.3). The first cut computes the sequence;
        further ones are cheap.

        Parameters
        ----------
        n_clusters : int or sequence of int
            The number of clusters. Several numbers give nested clusterings, one per column.
        distance : float
            Alternatively: join clusters that are at most this far apart, that is, take the largest
            nodes of at most this height; see `heights`.
        level : float
            Alternatively: collapse nodes that cost at most this much; see `cut_level`.
        min_cluster_size : int
            Alternatively: the most persistent clusters, at different heights in different parts
            of the tree, of at least this many points. Groups of fewer points that belong to none of
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
            return _cut_into(cuts, n_clusters, criterion)

    def confidence(self, labels: ArrayLike) -> NDArray[np.float64]:
        """How firmly each point belongs to its cluster, from 0 to 1, by the tree alone.

        It is the point's silhouette in distances along the tree: 1 - a / b, where a is the mean
        height at which it meets the other points of its cluster, and b the height of the node
        above the cluster, where it meets others first. A corrected cluster counts as the nodes that
        it consists of. docs/cuts.md shows how often points are right by their confidence.

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
        """Suggest how to cut the tree if the number of clusters is not known, best first.

        Each suggestion is a minimum size for `cut(min_cluster_size=...)`, with the number of
        clusters that it gives and its score: how many times as strong those clusters are as
        those found in points without clusters. If nothing `stands_out`, there is one suggestion,
        which says so: a minimum size of a sixteenth of the points, for few clusters.

        Among minimum sizes with about the same score, the first suggestion is the largest one
        whose clusters are mostly found again if the points come in another order. The points
        without clusters, and those in another order, are made from samples of about 2,048 points
        by a fixed rule, so the result is reproducible. It is cached until the tree changes, also
        by copies and files; after that, the first suggestion stays first as long as its score is
        about the best. docs/cuts.md has hits and misses.
        """
        with self._lock:
            if self.suggested is None or self.suggested[0] != self.changes:
                before = self.suggested[1][0] if self.suggested else None
                found = suggest(self._tree, self.table, self._grow_like, before)
                self.suggested = self.changes, found
            return self.suggested[1][: as_count("most", most)]

    # Answers about pairs

    def questions(
        self, n: int = 1, pairs: ArrayLike = (), same: ArrayLike = (), *, seed: int = 0
    ) -> NDArray[np.int64]:
        """Pick pairs of points to ask about (are they the same?), with answers for `calibrate`.

        Without answers, pairs are spread over the merges of the tree, from pairs that nearly all
        cuts join to pairs that almost none does. After 50 answers, most pairs are about merges
        that are still uncertain, so it is best to ask for ten or twenty at a time.

        Parameters
        ----------
        n : int
            The number of pairs; there may be fewer if hardly any are left.
        pairs : array-like of shape (n_pairs, 2), optional
            Ids of pairs that have already been asked about, from here or elsewhere.
        same : array-like of n_pairs, optional
            The answers: true, false, or None for pairs without an answer.
        seed : int
            Seed for the choice of pairs.

        Returns
        -------
        pairs : int64 array of shape (n, 2)
            Ids of new pairs. The same arguments give the same pairs, and a smaller n gives the
            first of them.

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
        """Choose the criterion and level of a cut from answers about pairs of points.

        The result is the cut with the highest estimated pairwise F1: by any criterion of `cut` at
        any level, or of persistent clusters with any minimum size. A model of how likely two
        points are the same, given where they meet in the tree, is fitted to the answers, and
        precision, recall and F1 follow from it. Pairs may come from anywhere, but those of
        `questions` are the most informative: random pairs are hardly ever the same, nearest
        neighbours nearly always.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2)
            Ids.
        same : array-like of n_pairs
            True or false; None for pairs without an answer, which do not count.
        n_fits : int
            The number of fits with random weights, for the intervals.

        Returns
        -------
        Calibration
            `labels`; `criterion` and `level` (or `min_cluster_size`), for `cut`; `precision`,
            `recall` and `f1`, each with an interval; `confidence` that no other cut is much
            better; and `doubts`: warnings, such as contradictory or too few answers.

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
        """Find the cluster of a point at a given cut, without cutting the tree.

        Takes time proportional to the depth of the point. Two points have the same cluster exactly
        if `cut` puts them together at the same distance or level. The criterion is "cost",
        "diameter", "height" or "size".
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
        """What a cluster costs."""
        if criterion != "height":
            return PRICES[criterion]
        if not has_moments(self._tree):
            return PRICES["diameter"]
        moments = self._tree.moments
        return lambda cluster: (
            0.0 if is_point(cluster.node) else math.sqrt(moments[row_of(cluster.node), HEIGHT])
        )

    def _living(self, point_id: int) -> int:
        """The id, if there is a point with it."""
        point_id = as_number(point_id, self.next_id, "id")
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


def _cut_into(
    cuts: Cuts, n_clusters: int | Sequence[int], criterion: str | None
) -> NDArray[np.int64]:
    """Labels of this many clusters; for several numbers, one column each."""
    counts = [as_count("n_clusters", n) for n in np.atleast_1d(n_clusters).tolist()]
    if not counts:
        raise ValueError("n_clusters is empty: name at least one number of clusters")
    criterion = criterion or cuts.pick(counts)
    labels = [cuts.into(count, criterion) for count in counts]
    several = not isinstance(n_clusters, int | np.integer)
    return np.column_stack(labels) if several else labels[0]


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
    answers = [as_answer(answer) for answer in np.asarray(same, object).ravel()]
    if ids.ndim != 2 or ids.shape[1] != 2 or len(ids) != len(answers):
        raise ValueError(
            f"expected pairs of ids and an answer for each, got an array of the shape "
            f"{ids.shape} and {len(answers)} answers"
        )
    a, b = positions_of(table, ids).T
    if (a == b).any():
        raise ValueError(f"{table.ids[a[(a == b).argmax()]]} is paired with itself")
    return a, b, np.array([math.nan if said is None else said for said in answers], np.float64)


def as_answer(answer: Any) -> bool | None:
    """Whether two points are the same; None, or nan, if nobody can tell."""
    if answer is None or (isinstance(answer, float) and math.isnan(answer)):
        return None
    if answer not in (0, 1):
        raise ValueError(f"an answer is true, false or None, got {answer!r:.50}")
    return bool(answer)
