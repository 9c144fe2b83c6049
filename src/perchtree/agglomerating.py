"""Batch clustering: all points at once, by the edges of their graph of nearest neighbours."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays
from ._arguments import as_count
from ._kernels import modes
from ._kernels.agglomerate import (
    MADE,
    QUEUED,
    Clusters,
    Graph,
    Ranking,
    merge_closest,
    start_ranking,
)
from ._kernels.edges import count_all_edges
from ._kernels.numbering import box_node, node_rows, point_node
from ._kernels.schema import (
    BOX_ROWS,
    CHANGES,
    FIRST,
    LAST,
    LEAF,
    LEFT,
    LENGTH,
    MAX_POINTS,
    N_LEAVES,
    N_POINTS,
    NEIGHBOUR,
    NEXT,
    NEXT_ID,
    NONE,
    PARENT,
    POINT_ROWS,
    PREVIOUS,
    RIGHT,
    ROOT,
    SIZE,
    WEIGHT,
    Tree,
)
from ._progress import progress
from ._validate import as_points, as_rows, chunks
from .files.contents import StoredTree
from .search.products import Nearest, Points, scan_points
from .search.threads import count_jobs
from .settings import Settings
from .tree import ClusterTree, rules_of

NEIGHBORS = 24
"""Nearest neighbours of each point that count, by default."""

_STEPS = 2**14
"""Pairs looked at in one kernel call: Ctrl-C is handled in between."""


def agglomerate(
    X: ArrayLike, *, neighbors: int = NEIGHBORS, verbose: bool = False, **settings: Any
) -> ClusterTree:
    """Cluster all rows at once, by the edges between nearest neighbours; the result is a tree.

    Mutual nearest neighbours are joined by an edge, which weighs more the higher they rank in each
    other's lists. Clusters are merged in the order of their average linkage, divided by the mean
    weight of the edges between a point of one and a point of the other. Clusters that are not
    connected by edges are merged by average linkage alone. If clusters are not round, this gives
    purer trees than any linkage based only on distances (docs/quality.md).

    The result is an ordinary tree, which can be cut, saved, plotted, and extended by `insert`.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Finite numbers; norms of rows at most 9e18.
    neighbors : int
        The number of nearest neighbours considered for each point.
    verbose : bool
        Show a progress bar.
    **settings
        Settings of the tree; see `ClusterTree`. It must have a linkage ("neighbors" by default),
        which is used for later inserts. `max_leaves` is not supported.

    Returns
    -------
    tree : ClusterTree
        Its points have the ids 0, 1, 2, ... in the order of the rows.

    Raises
    ------
    ValueError
        If anything about X or the settings is wrong.
    KeyboardInterrupt
        On Ctrl-C; no tree is returned.

    Notes
    -----
    Neighbours are found exactly, in O(n^2 d) by matrix products; the rest takes O(E log^2 E) for E
    edges. The result does not depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from perchtree import agglomerate
    >>> angles = np.linspace(0, 2 * np.pi, 200)
    >>> rings = [[radius * np.cos(a), radius * np.sin(a)] for radius in (1, 2) for a in angles]
    >>> tree = agglomerate(rings, neighbors=5)
    >>> labels = tree.cut(2, criterion="size")
    >>> np.unique(labels[:200]).size, np.unique(labels[200:]).size
    (1, 1)
    """
    chosen = Settings.of({"linkage": "neighbors"} | settings)
    if not chosen.has_linkage:
        raise ValueError("agglomerate makes trees with a linkage: choose 'average' or 'ward'")
    if chosen.collapses:
        raise ValueError("agglomerate keeps the features of all points: leave out max_leaves")
    neighbors = as_count("neighbors", neighbors, most=1000)
    rows = as_rows(X, cosine=chosen.is_cosine)
    if len(rows) > MAX_POINTS:
        raise ValueError(f"a tree holds at most {MAX_POINTS:,} points")
    points = np.empty(rows.shape, np.float32)
    for start, stop in chunks(rows):
        points[start:stop] = as_points(rows[start:stop], cosine=chosen.is_cosine)
    first, leaf_of = _distinct(points)
    agglomeration = _Agglomeration(
        points[first], np.bincount(leaf_of), neighbors, count_jobs(chosen.n_jobs)
    )
    try:
        merges = agglomeration.run(verbose)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("agglomerate was interrupted: there is no tree") from None
    tree = plant(points[first], leaf_of, merges, chosen.listed)
    fit = modes.repair_kernels(rules_of(chosen), False).fit_nodes
    assert fit is not None
    internal = box_node(np.arange(len(merges), dtype=np.int32))
    fit(tree, internal)
    if chosen.has_edges and len(merges) > 0:
        fill_lists(tree, agglomeration.nearest)
        count_all_edges(tree)
        fit(tree, internal)
    return ClusterTree.from_stored(StoredTree(chosen, tree, {}))


def _distinct(points: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of all equal rows, in order; and of each row, which of those it equals."""
    unsigned = np.ascontiguousarray(points + np.float32(0))  # minus zero is zero
    as_bytes = unsigned.view(np.dtype((np.void, unsigned.dtype.itemsize * unsigned.shape[1])))
    _, first, place = np.unique(as_bytes.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[place.ravel()]


class _Agglomeration:
    """From points to a list of merges: by edges, then by distances where there are none."""

    def __init__(
        self,
        points: NDArray[np.float32],
        copies: NDArray[np.int64],
        neighbors: int,
        n_jobs: int,
    ) -> None:
        self._k, self._n_jobs = neighbors, n_jobs
        n = len(points)
        self.clusters = Clusters(
            points.astype(np.float64), np.zeros(n), copies.astype(np.float64), np.arange(n)
        )
        self.nearest = Nearest.unknown(n, 0)
        """The nearest other points of each."""
        self.progress = np.zeros(2, np.int64)
        self.merges = np.empty((max(n - 1, 0), 2), np.int64)

    def run(self, verbose: bool) -> NDArray[np.int64]:
        n = len(self.clusters.numbers)
        with progress(n, verbose) as bar:
            by_edges = True
            while len(living := np.flatnonzero(self.clusters.numbers != NONE)) > 1:
                found = self._find(living)
                pairs, weights = pair_weights(living[found.ids].astype(np.int32), living)
                if by_edges:
                    self.nearest = found
                self._merge(pairs, weights if by_edges else np.zeros(len(weights)), bar)
                by_edges = False  # means of clusters are not neighbours of each other
            bar.update(n - int(self.progress[MADE]))
        return self.merges

    def _find(self, living: NDArray[np.int64]) -> Nearest:
        """The nearest other clusters of each, by their means, as places among them."""
        rows = self.clusters.means[living].astype(np.float32)
        ids = np.arange(len(rows), dtype=np.int32)
        k = min(self._k, len(rows) - 1)
        near, found = scan_points(rows, Points(rows, ids), None, k + 1, self._n_jobs)
        itself = found == ids[:, np.newaxis]
        itself[:, -1] |= ~itself.any(axis=1)  # where others are so near that it is not found
        shape = len(rows), k
        return Nearest(near[~itself].reshape(shape), found[~itself].reshape(shape))

    def _merge(self, pairs: NDArray[np.int32], weights: NDArray[np.float64], bar: Any) -> None:
        n, n_edges = len(self.clusters.numbers), len(pairs)
        graph = Graph(
            ends=np.ascontiguousarray(pairs.ravel()),
            after=np.empty(2 * n_edges, np.int32),
            before=np.empty(2 * n_edges, np.int32),
            first=np.full(n, NONE, np.int32),
            degrees=np.zeros(n, np.int32),
            weights=weights,
            table=np.full(2 ** int(np.ceil(np.log2(2 * n_edges + 2))), NONE, np.int32),
        )
        ranking = Ranking(
            np.empty(n_edges), np.empty(n_edges, np.int32), np.empty(n_edges, np.int32)
        )
        start_ranking(self.clusters, graph, ranking, self.progress)
        while self.progress[QUEUED] > 0:
            before = int(self.progress[MADE])
            merge_closest(self.clusters, graph, ranking, self.progress, self.merges, _STEPS)
            bar.update(int(self.progress[MADE]) - before)


def pair_weights(
    neighbours: NDArray[np.int32], owners: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Edges from each owner to its neighbours, the nearest first, as pairs with weights.

    If two list each other, at places r and s, their edge weighs 1 / r + 1 / s; if only one lists
    the other it weighs nothing, but the two may still be merged.
    """
    keys, place = _pairs(neighbours, owners)
    of_place = np.tile(1 / np.arange(1.0, neighbours.shape[1] + 1), len(owners))
    weights = np.bincount(place, of_place).astype(np.float64)
    weights[np.bincount(place) == 1] = 0
    pairs = np.column_stack([keys >> 32, keys & (2**32 - 1)]).astype(np.int32)
    return pairs, weights


def _pairs(
    neighbours: NDArray[np.int32], owners: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs, each as one number; and of each entry of the lists, which pair it is."""
    from_ = np.repeat(owners, neighbours.shape[1])
    to = neighbours.ravel().astype(np.int64)
    low, high = np.minimum(from_, to), np.maximum(from_, to)
    keys, place = np.unique((low << 32) | high, return_inverse=True)
    return keys, place.ravel()


def fill_lists(tree: Tree, nearest: Nearest) -> None:
    """Let each leaf list its nearest neighbours, with the weights of edges."""
    k = min(nearest.ids.shape[1], tree.lists.shape[1])
    near, ids = nearest.near[:, :k], np.ascontiguousarray(nearest.ids[:, :k])
    owners = np.arange(len(ids))
    place = _pairs(ids, owners)[1]
    weights = pair_weights(ids, owners)[1][place].astype(np.float32).reshape(ids.shape)
    lists = tree.lists[: len(ids), :k]
    lists[:, :, NEIGHBOUR] = point_node(ids) + 1
    lists[:, :, LENGTH] = np.ascontiguousarray(near).view(np.int32)
    lists[:, :, WEIGHT] = weights.view(np.int32)


def plant(
    points: NDArray[np.float32],
    leaf_of: NDArray[np.int64],
    merges: NDArray[np.int64],
    listed: int = 0,
) -> Tree:
    """A tree's arrays from distinct points, the place of each id among them, and merges.

    Merges are as in scikit-learn: numbers below the number of points, then one for each merge.
    Counts, boxes and moments of internal nodes are yet to be made.
    """
    n_ids, (n, n_features) = len(leaf_of), points.shape
    tree = _arrays.empty_tree(n_features, None, with_moments=True, listed=listed)
    storage = _arrays.Storage(tree)
    storage.make_room(max(n_ids, n))
    tree = storage.show()
    tree.points[:n] = points
    leaves = point_node(np.arange(n))
    nodes = tree.nodes
    nodes[: node_rows(n, n - 1)] = 0
    nodes[leaves] = NONE
    nodes[leaves, SIZE] = np.bincount(leaf_of, minlength=n)
    order = np.argsort(leaf_of, kind="stable")
    begins = np.r_[True, np.diff(leaf_of[order]) > 0]
    ends = np.r_[begins[1:], True]
    nodes[leaves, FIRST], nodes[leaves, LAST] = order[begins], order[ends]
    ids = tree.ids
    ids[:n_ids, LEAF] = point_node(leaf_of)
    ids[:n_ids, (NEXT, PREVIOUS)] = NONE
    ids[order[:-1][~ends[:-1]], NEXT] = order[1:][~begins[1:]]
    ids[order[1:][~begins[1:]], PREVIOUS] = order[:-1][~ends[:-1]]
    parents = box_node(np.arange(n - 1))
    children = np.where(merges < n, point_node(merges), box_node(merges - n))
    nodes[parents] = NONE
    nodes[parents, LEFT], nodes[parents, RIGHT] = children[:, 0], children[:, 1]
    nodes[children[:, 0], PARENT] = nodes[children[:, 1], PARENT] = parents
    state = tree.state
    state[[NEXT_ID, N_POINTS, CHANGES]] = n_ids
    state[[N_LEAVES, POINT_ROWS]] = n
    state[BOX_ROWS] = n - 1
    state[ROOT] = parents[-1] if n > 1 else leaves[0]
    return tree
