"""Perch: a collection behind scikit-learn's interface, with cluster ids that stay."""

import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arguments import as_count
from ._renamed import moved
from ._validate import PROJECT_FIRST, is_sparse
from .clusters.exemplars import find_exemplars
from .clusters.names import Name
from .clusters.overlaps import Event
from .clusters.tracking import Tracker
from .collection import Collection
from .errors import CorruptFileError
from .files.contents import Contents
from .settings import FIXED, RULES, Settings, takes_settings
from .tree import ClusterTree

_SECTION = "estimator"
_OWN = ("n_clusters", "distance_threshold", "min_cluster_size", "verbose")
"""Parameters that are not settings of the tree."""
_ENCODE_FIRST = (
    "Collection(encoder='words').add(texts=texts) clusters a list of them, and "
    "perchtree.encode.Words().learned(texts).encode(texts) makes vectors of it"
)


class Perch(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Online hierarchical clustering: PERCH, and grafted trees, which are purer.

    Points can be added at any time with `partial_fit`; nothing is ever refitted. The tree contains
    clusterings of every size: `n_clusters`, `distance_threshold` and `min_cluster_size` only
    select one of them.

    The modes of the paper (KDD 2017) use bounding boxes, `linkage="box"`:

    - PERCH: `Perch(linkage="box")`
    - PERCH-B, approximate search: `Perch(linkage="box", search="beam")`
    - PERCH-C, collapsed, in bounded memory: `Perch(linkage="box", max_leaves=50_000)`
    - PERCH-BC: `Perch(linkage="box", search="beam", max_leaves=50_000)`

    The default linkage gives purer trees in all four modes (docs/quality.md).

    Parameters
    ----------
    n_clusters : int, optional
        The number of clusters. It can be changed at any time with `set_params`, without
        rebuilding the tree.
    distance_threshold : float, optional
        Alternatively: join clusters that are at most this far apart; with linkage="box", clusters
        have at most this diameter. See `ClusterTree.heights`.
    min_cluster_size : int, optional
        Alternatively: persistent clusters of at least this many points. If none of the three is
        given, this size is chosen from the data, as reported by `tree_.suggest_cuts()`.
    verbose : int
        1 shows an estimate of memory and a progress bar.
    linkage : {"average", "ward", "neighbors", "box"}
        What rotations are based on; "box" is the published algorithm. See `ClusterTree`.
    graft : int
        The number of neighbours of a new point considered for grafts; 0 for no grafts.
    masking, balance : str, optional
        With linkage="box": the two kinds of rotation in the paper, or None. See `ClusterTree`.
    search : {"auto", "astar", "scan", "beam", "cells"}
        How the nearest leaf is found: exactly, by beam search, or, for millions of points, in
        the nearest small nodes of the tree.
    beam_width : int
        Nodes that a beam search keeps at each level.
    recall : float
        The target share of true nearest neighbours for a search in cells.
    max_leaves : int, optional
        Collapsed mode: the maximum number of leaves.
    metric : {"euclidean", "cosine"}
        "cosine" normalises rows first; rows of zeros are then an error.
    n_jobs : int, optional
        Threads for searching: None means 1, -1 all cores. The result is the same.

    Attributes
    ----------
    labels_ : int64 array
        The cluster of each row of the last call of `fit` or `partial_fit`, computed when it is
        read. `fit` numbers clusters 0, 1, 2, ... in the order of their first points. After
        `partial_fit`, clusters that persist keep their id, new ones get unused numbers, and
        `events_` lists what has changed.
    all_labels_ : int64 array of shape (n_points,)
        The cluster of each point in the tree, in the order of `keys_`.
    keys_ : array of shape (n_points,)
        The keys of all points; their ids if no keys were given.
    collection_ : Collection
        The records. Corrections made with `collection_.together(a, b)` and
        `collection_.apart(a, b)` apply to all labels; a new `fit` discards them.
    tree_ : ClusterTree
        The tree itself.
    children_ : int64 array of shape (n_points - 1, 2)
        As in scikit-learn's AgglomerativeClustering.
    distances_ : float64 array of shape (n_points - 1,)
        How far apart the two parts of each of those nodes are; see `ClusterTree.heights`.
    n_leaves_ : int
        The number of leaves: points, less copies and those that were collapsed.
    n_features_in_ : int
        The number of columns of the first X.
    feature_names_in_ : array of str
        If the first X had column names.
    cluster_ids_, cluster_sizes_, exemplars_ : arrays of shape (n_clusters,)
        The ids in `all_labels_`, how many points each has, and the key of a point close to its
        mean.
    confidence_ : float64 array of shape (n_points,)
        How firmly each point belongs to its cluster, in the order of `keys_`: its silhouette in
        distances along the tree; see `ClusterTree.confidence`.
    names_ : list of Name
        Keywords and the text of an exemplar of each cluster, in the order of `cluster_ids_`, if
        points have texts.
    events_ : list of Event
        Births, merges, splits and ends of clusters between readings of the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from perchtree import Perch
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = Perch(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 1, 1])
    >>> model.partial_fit([[9.0], [9.1]]).set_params(n_clusters=3).labels_
    array([2, 2])
    >>> model.all_labels_
    array([0, 0, 1, 1, 2, 2])
    >>> model.predict([[0.2], [8.0]])
    array([0, 2])
    """

    collection_: Collection
    _tracker: Tracker
    _last: tuple[int, int]

    @takes_settings
    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distance_threshold: float | None = None,
        min_cluster_size: int | None = None,
        verbose: int = 0,
        **settings: Any,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.min_cluster_size = min_cluster_size
        self.verbose = verbose
        # As scikit-learn wants it: parameters are kept as they are given, and checked by `fit`.
        for name, value in (Settings().as_dict() | _only_settings(settings)).items():
            setattr(self, name, value)

    # Growing

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        keys: Any = None,
        texts: Any = None,
        classes: Any = None,
    ) -> Self:
        """Build a new tree from the rows of X, in order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; a pandas or polars frame may give names.
        y : ignored
        keys : array-like of shape (n_samples,), optional
            Your own ids of the rows: strings or whole numbers, each once.
        texts, classes : array-like of shape (n_samples,), optional
            The text of each row, and its true class: stored with the points, also in files.
        """
        return self._insert(X, {"keys": keys, "texts": texts, "classes": classes}, reset=True)

    def partial_fit(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        keys: Any = None,
        texts: Any = None,
        classes: Any = None,
    ) -> Self:
        """Add X to the tree. However data is split into calls, the tree is that of a single `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        keys : array-like of shape (n_samples,), optional
            As in `fit`; either always or never.
        texts, classes : array-like of shape (n_samples,), optional
        """
        columns = {"keys": keys, "texts": texts, "classes": classes}
        return self._insert(X, columns, reset=not self.__sklearn_is_fitted__())

    def _insert(self, X: ArrayLike, columns: dict[str, Any], *, reset: bool) -> Self:
        """Everything is checked before anything changes: an error leaves the model as it was.

        If the insert itself is interrupted, or runs out of memory, the first rows are in. With
        `reset`, Ctrl-C leaves a model of the first rows; without memory for all, the model stays
        as it was.
        """
        settings = self._checked_settings(fixed=not reset)
        before = vars(self).copy()
        collection = Collection(**settings.as_dict()) if reset else self.collection_
        first = 0 if reset else collection.tree.next_id
        try:
            rows = self._as_rows(X, reset=reset)
            collection.n_jobs = self.n_jobs
            if self.verbose:
                self._announce(collection, rows)
            collection.add(rows, **columns, verbose=bool(self.verbose))
            if reset:
                self._adopt(collection)
            self._last = first, collection.tree.next_id
        except BaseException as error:
            if reset and len(collection) and isinstance(error, KeyboardInterrupt):
                self._adopt(collection)
            else:
                self._put_back(before)
            if reset and isinstance(error, MemoryError):
                raise MemoryError(
                    "out of memory, and the model is as it was: fit fewer rows, or bound memory "
                    "by max_leaves"
                ) from None
            raise
        return self

    def remove(self, keys: Any, *, missing: str = "error") -> Self:
        """Remove points by their keys (ids, if there are none); see `Collection.remove`.

        Clusters that persist keep their ids, and `labels_` has the rows of the last call that are
        left.

        Parameters
        ----------
        keys : sequence
        missing : {"error", "ok"}
            What to do if no point has a key: fail without changing anything, or skip it.
        """
        check_is_fitted(self)
        self.collection_.remove(keys, missing=missing, verbose=bool(self.verbose))
        return self

    def _put_back(self, before: dict[str, Any]) -> None:
        """Make all attributes what they were."""
        for name in vars(self).keys() - before.keys():
            delattr(self, name)
        self.__dict__.update(before)

    def _adopt(self, collection: Collection) -> None:
        """Start over with a collection."""
        names = getattr(self, "feature_names_in_", None)
        collection.feature_names = None if names is None else [str(name) for name in names]
        last = 0, collection.tree.next_id
        # In one step, so that whatever interrupts it leaves the old model or the new one.
        self.__dict__.update(_last=last, _tracker=Tracker(), collection_=collection)

    def _announce(self, collection: Collection, rows: NDArray[Any]) -> None:
        tree = ClusterTree(rows.shape[1], **collection.settings.as_dict())
        size = tree.estimate_memory(len(collection) + len(rows)) / 1e6
        print(f"perchtree: the tree will take about {size:,.0f} MB", file=sys.stderr)

    def _checked_settings(self, *, fixed: bool) -> Settings:
        """The parameters as they are now, checked; if `fixed`, those of the tree must be as then.

        Settings that were changed since the tree was made would not mean anything.
        """
        self._check_reading()
        now = {name: getattr(self, name) for name in RULES}
        if not fixed:
            return Settings(**now)
        made = self.collection_.settings
        if now == vars(made):
            return made
        for name in FIXED:
            if now[name] != getattr(made, name):
                raise ValueError(
                    f"{name} was {getattr(made, name)!r} when the tree was made and is now "
                    f"{now[name]!r}: fit again, or set it back"
                )
        return Settings(**now)

    def _check_reading(self) -> None:
        """Check the parameters that say which clustering is read."""
        given = (self.n_clusters, self.distance_threshold, self.min_cluster_size)
        if sum(value is not None for value in given) > 1:
            raise ValueError(
                "give n_clusters, distance_threshold or min_cluster_size, not more than one"
            )
        for name in ("n_clusters", "min_cluster_size"):
            if getattr(self, name) is not None:
                as_count(name, getattr(self, name))
        if self.distance_threshold is not None and not 0 <= self.distance_threshold < np.inf:
            raise ValueError(
                "distance_threshold must be finite and must not be negative, got "
                f"{self.distance_threshold}"
            )

    def _as_rows(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        if is_sparse(X):
            raise ValueError(f"sparse input is not supported, boxes are dense: {PROJECT_FIRST}")
        if _holds_texts(X):
            raise ValueError(f"X holds texts, not vectors: {_ENCODE_FIRST}")
        try:
            rows: NDArray[Any] = validate_data(
                self, X, reset=reset, dtype=[np.float64, np.float32],
                ensure_all_finite=False,  # the tree's own checks name the row
            )  # fmt: skip
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise ValueError(f"X has a column of texts, {error}: {_ENCODE_FIRST}") from None
        return rows

    # Reading

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "collection_")

    @property
    def tree_(self) -> ClusterTree:
        check_is_fitted(self)
        return self.collection_.tree

    def _read(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids and labels of all points, for the tree and the parameters as they are now."""
        tree, tracker = self.tree_, self._tracker
        self._checked_settings(fixed=True)
        wanted = [_plain(self.n_clusters), _plain(self.distance_threshold)]
        if self.min_cluster_size is not None:  # files of version 0.1 know two parameters
            wanted.append(_plain(self.min_cluster_size))
        with tree.reading():
            corrections = self.collection_.pairs.changes
            state = (tree.changes, corrections, *wanted)
            if tracker.labels is None or tracker.state != state:
                points, clusters = tree.ids, self.collection_.corrected(self._cut()).labels
                # What was added, removed or said. As long as all of it is the same, a clustering
                # is numbered afresh.
                moved = 2 * tree.next_id - tree.n_points + corrections
                if tracker.labels is not None and moved > tracker.first_size:
                    tracker.number(points, clusters)
                else:
                    tracker.restart(points, clusters, moved)
                tracker.state = state
            assert tracker.labels is not None
            assert tracker.points is not None
            tracker.labels.flags.writeable = False
            return tracker.points, tracker.labels

    def _cut(self) -> NDArray[np.int64]:
        if self.tree_.n_points == 0:
            return np.empty(0, np.int64)
        return self.tree_.cut(
            self.n_clusters,
            distance=self.distance_threshold,
            min_cluster_size=self.min_cluster_size,
        )

    @property
    def labels_(self) -> NDArray[np.int64]:
        points, labels = self._read()
        first, stop = np.searchsorted(points, self._last)
        return labels[first:stop]

    @property
    def all_labels_(self) -> NDArray[np.int64]:
        return self._read()[1]

    @property
    def events_(self) -> list[Event]:
        self._read()
        return list(self._tracker.events)

    @property
    def children_(self) -> NDArray[np.int64]:
        return self.tree_.children

    @property
    def distances_(self) -> NDArray[np.float64]:
        table = self.tree_.table
        return table.heights[table.n_points :]

    @property
    def n_leaves_(self) -> int:
        return self.tree_.n_leaves

    @property
    def cluster_ids_(self) -> NDArray[np.int64]:
        return np.unique(self.all_labels_)

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        return np.unique(self.all_labels_, return_counts=True)[1]

    @property
    def exemplars_(self) -> NDArray[Any]:
        with self.tree_.reading() as tree:
            _, clusters = np.unique(self.all_labels_, return_inverse=True)
            ids = find_exemplars(tree, self.tree_.table, clusters)
            return self.collection_.records.keys(ids)

    @property
    def names_(self) -> list[Name]:
        collection = self.collection_ if self.__sklearn_is_fitted__() else None
        if collection is None or collection.texts is None:
            raise AttributeError("names are made of texts: fit(X, texts=...)")
        with self.tree_.reading():
            return collection.names(self.all_labels_)

    @property
    def confidence_(self) -> NDArray[np.float64]:
        with self.tree_.reading():
            return self.tree_.confidence(self.all_labels_)

    def describe(self) -> Any:
        """A pandas DataFrame with one row per cluster, the largest first; `Collection.describe`."""
        with self.tree_.reading():
            return self.collection_.describe(self.all_labels_)

    @property
    def keys_(self) -> NDArray[Any]:
        check_is_fitted(self)
        return self.collection_.keys

    def label_of(self, keys: Any) -> NDArray[np.int64]:
        """The cluster of each of these keys."""
        with self.tree_.reading():
            points, labels = self._read()
            return labels[np.searchsorted(points, self.collection_.ids_of(keys))]

    def members(self, cluster: int) -> NDArray[Any]:
        """The keys of the points of a cluster, in the order of arrival."""
        points, labels = self._read()
        ids = points[labels == cluster]
        if len(ids) == 0:
            raise ValueError(f"there is no cluster {cluster}: `cluster_ids_` lists them")
        return self.collection_.records.keys(ids)

    def predict(
        self, X: ArrayLike, *, return_distance: bool = False, max_distance: float | None = None
    ) -> NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give each row the cluster of its nearest leaf. Nothing is added to the tree.

        With search="cells", only the cells that an insert would search are considered.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_distance : bool
            Also return the distance to that leaf.
        max_distance : float, optional
            Rows whose nearest leaf is farther get the label -1.

        Returns
        -------
        labels : int64 array of shape (n_samples,)
            Only labels that are in `all_labels_`, or -1.
        distances : float32 array of shape (n_samples,), if asked for
        """
        queries = self._queries(X)
        with self.tree_.reading():
            ids, distances = self.tree_.nearest(queries, 1, exact=False)
            points, all_labels = self._read()
            labels = all_labels[np.searchsorted(points, ids[:, 0])]
        if max_distance is not None:
            labels = np.where(distances[:, 0] > max_distance, -1, labels)
        return (labels, distances[:, 0]) if return_distance else labels

    def nearest(
        self, X: ArrayLike, k: int = 1, *, exact: bool = True
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Find the keys of each row's k nearest points; see `Collection.nearest`."""
        ids, distances = self.tree_.nearest(self._queries(X), k, exact=exact)
        return self.collection_.records.keys(ids), distances

    def _queries(self, X: ArrayLike) -> NDArray[Any]:
        """Rows to search for, checked, with as many threads as the parameters say."""
        check_is_fitted(self)
        self._checked_settings(fixed=True)
        rows = self._as_rows(X, reset=False)
        self.collection_.n_jobs = self.n_jobs
        return rows

    # Files

    @moved(labels="fit(classes=...)", texts="fit(texts=...)")
    def save(self, path: str | Path, *, compress: bool | None = None) -> None:
        """Save everything to one file: parameters, tree, records, clusters and events.

        The file is replaced atomically: a crash or a full disk leaves the old file unchanged. Keys,
        texts and classes are those given to `fit` and `partial_fit`. For
        `compress` see `Collection.save`.
        """
        check_is_fitted(self)
        self._checked_settings(fixed=True)  # what cannot be used could not be loaded
        parameters = {name: _as_plain(name, getattr(self, name)) for name in _OWN}
        collection = self.collection_
        collection.n_jobs = self.n_jobs
        with self.tree_.reading():  # whoever reads labels changes the tracker
            meta = {
                "parameters": parameters,
                "tracker": self._tracker.stored(),
                "last": self._last,
            }
            self._tracker.keep(self.tree_.ids)
            columns = self._tracker.columns()
        collection.sections[_SECTION] = Contents(meta, columns, optional=True)
        collection.save(path, compress=compress)

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = False) -> Self:
        """Load a file written by `save`, verified as by `ClusterTree.load`.

        A file of `ClusterTree.save` or `Collection.save` becomes an estimator with its settings.
        """
        collection = Collection.open(path, mmap=mmap)
        contents = collection.sections.get(_SECTION)
        model = cls(**collection.settings.as_dict())
        model.n_features_in_ = collection.tree.n_features
        if collection.feature_names is not None:
            model.feature_names_in_ = np.array(collection.feature_names, object)
        model._adopt(collection)
        if contents is None:
            return model
        try:
            stored = {"min_cluster_size": None} | contents.meta["parameters"]  # new in 0.2
            model.set_params(**{name: stored[name] for name in _OWN})
            model._tracker = Tracker.restored(contents.meta["tracker"], dict(contents.columns))
            first, stop = contents.meta.get("last", (0, collection.tree.next_id))
            model._last = int(first), int(stop)
            model._check_reading()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise CorruptFileError(f"{path} has an estimator that makes no sense") from None
        return model


def _only_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Names are checked at once, values by `fit`."""
    Settings.of({name: getattr(Settings(), name, None) for name in given})
    return given


def _holds_texts(X: Any) -> bool:
    flat = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
    return flat and len(X) > 0 and isinstance(next(iter(X)), str)


def _as_plain(name: str, value: Any) -> Any:
    value = _plain(value)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"{name}={value!r} cannot be saved: it must be a number or a string")
    return value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
