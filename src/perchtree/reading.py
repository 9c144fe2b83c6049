"""Properties of a tree, and its nodes in scikit-learn's numbering."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import as_count
from ._arrays import Storage
from ._kernels.measure import measure_depths
from ._kernels.numbering import is_point, row_of
from ._kernels.schema import (
    CHANGES,
    LEAF,
    LEFT,
    N_LEAVES,
    N_POINTS,
    NEXT_ID,
    RIGHT,
    SIZE,
    WORK,
    Counts,
    Tree,
)
from ._locks import FairLock
from .table import (
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
    """Pairs of nodes whose linkage was computed, except siblings, whose linkage is stored."""
    interchanges: int
    """Rotations by linkage."""
    grafts: int
    """Subtrees moved to another place."""
    cells_checked: int
    """Searches in cells compared with the truth: 90 of the ids from 10,000 to 99,999, and so on."""
    cells_found: int
    """Those among them that found a leaf as near as any."""
    renewals: int
    """How often cells were rebuilt."""


class ReadableTree:
    """A tree that can be read. Results are computed when asked for, and kept until it changes.

    `_storage` owns the arrays, `_lock` is held while they are read or changed, `_done` counts work.
    """

    _storage: Storage
    _lock: FairLock
    _done: Counts
    _table: NodeTable | None

    @property
    def _tree(self) -> Tree:
        """The arrays; the caller must hold one of the locks."""
        return self._storage.shown or self._storage.show()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Tree]:
        """The arrays, which do not change while this context lasts. Do not keep them longer.

        A long insert by another thread continues between two such contexts.
        """
        with self._lock:
            yield self._tree

    def _forget(self) -> None:
        """Drop results that were computed before a change."""
        self._table = None

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
        """The id that the next point will get. Ids are never reused."""
        return int(self._storage.state[NEXT_ID])

    @property
    def changes(self) -> int:
        """A counter that grows with every change: while it is the same, so is the tree."""
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
                self._table = build_table(self._tree, measure_nodes(self._tree))
            return self._table

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
        of boxes it is the diagonal of the box. It never decreases towards the root. (Any two points
        of a collapsed leaf are as far apart as its points are on average.)
        """
        return self.table.heights

    def leaf_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The number of the leaf that holds each point, given the points' ids."""
        table = self.table
        return table.leaves[positions_of(table, ids)]

    def members(self, node: int) -> NDArray[np.int64]:
        """The ids of the points below a number, in ascending order."""
        table = self.table
        return table.ids[table.members(as_number(node, len(table.parents), "node"))]

    def lca(self, a: int, b: int) -> int:
        """The lowest node that holds both numbers. Points that share a leaf meet at that leaf."""
        table = self.table
        limit = len(table.parents)
        return table.lca(as_number(a, limit, "node"), as_number(b, limit, "node"))

    def path(self, point_id: int) -> NDArray[np.int64]:
        """The nodes from a point's leaf up to the root, both included."""
        table = self.table
        return table.path(int(table.leaves[positions_of(table, as_count("id", point_id, least=0))]))


def positions_of(table: NodeTable, ids: ArrayLike) -> NDArray[np.int64]:
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


def as_number(number: Any, limit: int, kind: str) -> int:
    checked = as_count(kind, number, least=0)
    if checked >= limit:
        raise ValueError(f"no {kind} {checked}: they go from 0 to {limit - 1}")
    return checked
