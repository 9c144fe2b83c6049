"""Perch: the tree behind scikit-learn's interface, with cluster ids that stay."""

import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validate import as_choice, as_count, as_directions, as_rows
from .errors import CorruptFileError
from .exemplars import find_exemplars
from .files.trees import read_tree, user_columns, write_tree
from .keys import Keys
from .search.threads import count_jobs
from .tracking import Event, Tracker
from .tree import ClusterTree

_METRICS = ("euclidean", "cosine")
_ABOUT_COLUMNS = ("n_features_in_", "feature_names_in_")
_TREE_PARAMETERS = (
    "linkage", "graft", "masking", "balance", "search", "beam_width", "max_leaves",
)  # fmt: skip


class Perch(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Online hierarchical clustering: PERCH and its purer, grafted form.

    Points can be added at any time by `partial_fit`; nothing is ever refitted. The tree holds
    clusterings of every size: `n_clusters` and `distance_threshold` only say which is read.

    The modes of the paper (KDD 2017) go by boxes, `linkage="box"`:

    - PERCH: `Perch(linkage="box")`
    - PERCH-B, approximate search: `Perch(linkage="box", search="beam")`
    - PERCH-C, collapsed, in bounded memory: `Perch(linkage="box", max_leaves=50_000)`
    - PERCH-BC: `Perch(linkage="box", search="beam", max_leaves=50_000)`

    The default linkage makes purer trees in all four (docs/quality.md).

    Parameters
    ----------
    n_clusters : int, optional
        How many clusters to read from the tree. None takes the number that the tree suggests.
        It can be changed at any time by `set_params`, without rebuilding.
    distance_threshold : float, optional
        Instead: clusters may extend over at most this distance (the diagonal of their box).
    linkage : {"average", "ward", "box"}
        What decides about rotations; "box" is the paper. See `ClusterTree`.
    graft : int
        Neighbours of a new point to whose subtrees it may be grafted; 0 for none.
    masking, balance : str, optional
        With linkage="box": the paper's two kinds of rotation, None for none. See `ClusterTree`.
    search : {"auto", "astar", "scan", "beam"}
        How the nearest leaf is found: exactly, or by a beam search.
    beam_width : int
        Nodes that a beam search keeps at each level.
    max_leaves : int, optional
        Collapsed mode: the most leaves the tree may have.
    metric : {"euclidean", "cosine"}
        "cosine" normalises rows first; rows of zeros are then an error.
    n_jobs : int, optional
        Threads for searching: None is 1, -1 all cores. The result is the same.
    verbose : int
        1 shows an estimate of memory and a progress bar.

    Attributes
    ----------
    labels_ : int64 array of shape (n_points,)
        The cluster of each point, made when it is read. `fit` numbers clusters 0, 1, 2, ... by
        their first points. After more points were added by `partial_fit`, clusters that persist
        keep their id, new ones get numbers never used, and `events_` tells what has changed.
    tree_ : ClusterTree
    children_ : int64 array of shape (n_points - 1, 2)
        As in scikit-learn's AgglomerativeClustering.
    distances_ : float64 array of shape (n_points - 1,)
        The extent (diagonal of the box) of each of those nodes.
    n_leaves_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        If the first X had column names.
    cluster_ids_, cluster_sizes_, exemplars_ : arrays of shape (n_clusters,)
        The ids in `labels_`, how many points each has, and a point close to its mean (its key, if
        keys were given).
    keys_ : array
        The keys given to `fit` or `partial_fit`, in the order of `labels_`.
    events_ : list of Event
        Births, merges, splits and ends of clusters between readings of `labels_`.

    Examples
    --------
    >>> import numpy as np
    >>> from perchtree import Perch
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = Perch(n_clusters=2).fit(X)
    >>> model.labels_
    array([0, 0, 1, 1])
    >>> model.partial_fit([[9.0], [9.1]]).set_params(n_clusters=3).labels_
    array([0, 0, 1, 1, 2, 2])
    >>> model.predict([[0.2], [8.0]])
    array([0, 2])
    """

    tree_: ClusterTree
    _keys: Keys
    _tracker: Tracker
    _fitted_metric: str

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distance_threshold: float | None = None,
        linkage: str = "average",
        graft: int = 5,
        masking: str | None = "published",
        balance: str | None = "size",
        search: str = "auto",
        beam_width: int = 120,
        max_leaves: int | None = None,
        metric: str = "euclidean",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.linkage = linkage
        self.graft = graft
        self.masking = masking
        self.balance = balance
        self.search = search
        self.beam_width = beam_width
        self.max_leaves = max_leaves
        self.metric = metric
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Growing

    def fit(self, X: ArrayLike, y: Any = None, *, keys: Any = None) -> Self:
        """Make a new tree of X, inserted in order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; a pandas or polars frame may give names.
        y : ignored
        keys : array-like of shape (n_samples,), optional
            Your own ids of the rows: strings or whole numbers, each once.
        """
        return self._insert(X, keys, reset=True)

    def partial_fit(self, X: ArrayLike, y: Any = None, *, keys: Any = None) -> Self:
        """Add X to the tree. Any split of data into such calls gives the tree of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        keys : array-like of shape (n_samples,), optional
            As in `fit`; either always or never.
        """
        return self._insert(X, keys, reset=not self.__sklearn_is_fitted__())

    def _insert(self, X: ArrayLike, keys: Any, *, reset: bool) -> Self:
        """Everything is checked before anything changes: an error leaves the model as it was."""
        self._check_parameters()
        before = {name: vars(self)[name] for name in _ABOUT_COLUMNS if name in vars(self)}
        try:
            rows = self._as_rows(X, reset=reset)
            as_rows(rows, rows.shape[1])
            tree = self._make_tree(rows.shape[1]) if reset else self.tree_
            if not reset:
                self._check_settings(tree)
            with tree.lock:
                known = Keys() if reset else self._known_keys()
                new_keys = known.checked_for(keys, tree.n_points, len(rows))
                if reset:
                    self._tracker = Tracker()
                    self._keys, self._fitted_metric, self.tree_ = known, self.metric, tree
                tree.n_jobs = self.n_jobs
                self._announce(len(rows))
                known.expect(new_keys)
                tree.insert(rows, verbose=bool(self.verbose))
                known.trim(tree.n_points)
        except ValueError:
            for name in _ABOUT_COLUMNS:
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise
        return self

    def _known_keys(self) -> Keys:
        """The keys of the points that are in the tree: after Ctrl-C, not of all that were given."""
        self._keys.trim(self.tree_.n_points)
        if 0 < len(self._keys) < self.tree_.n_points:
            raise ValueError(
                "some points have no keys: they were inserted into `tree_` itself; "
                "use partial_fit(X, keys=...)"
            )
        return self._keys

    def _announce(self, n_rows: int) -> None:
        if self.verbose:
            size = self.tree_.estimate_memory(self.tree_.n_points + n_rows) / 1e6
            print(f"perchtree: the tree will take about {size:,.0f} MB", file=sys.stderr)

    def _check_parameters(self) -> None:
        as_choice("metric", self.metric, _METRICS)
        if self.n_clusters is not None:
            as_count("n_clusters", self.n_clusters)
        if self.distance_threshold is not None:
            if self.n_clusters is not None:
                raise ValueError("give n_clusters or distance_threshold, not both")
            if not 0 <= self.distance_threshold < np.inf:
                raise ValueError(
                    "distance_threshold must be finite and must not be negative, got "
                    f"{self.distance_threshold}"
                )
        count_jobs(self.n_jobs)

    def _make_tree(self, n_features: int) -> ClusterTree:
        settings = {name: getattr(self, name) for name in _TREE_PARAMETERS}
        return ClusterTree(n_features, **settings, n_jobs=self.n_jobs)

    def _check_settings(self, tree: ClusterTree) -> None:
        then = {name: getattr(tree, name) for name in _TREE_PARAMETERS}
        for name, value in (then | {"metric": self._fitted_metric}).items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"{name} was {value!r} when the tree was made and is now "
                    f"{getattr(self, name)!r}: fit again, or set it back"
                )

    def _as_rows(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        rows: NDArray[Any] = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # our own checks name the row
        )  # fmt: skip
        return rows if self.metric == "euclidean" else as_directions(rows)

    # Reading

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    def _read(self) -> NDArray[np.int64]:
        """Labels for the tree and the parameters as they are now."""
        check_is_fitted(self)
        self._check_parameters()
        tracker, tree = self._tracker, self.tree_
        wanted = _plain(self.n_clusters), _plain(self.distance_threshold)
        with tree.lock:
            state = (tree.n_points, tree.stats.grafts, *wanted)
            if tracker.labels is None or tracker.state != state:
                clusters = self._cut()
                # As long as nothing was added since, a clustering is numbered afresh.
                added = tracker.labels is not None and tree.n_points > tracker.first_size
                labels = tracker.number(clusters) if added else tracker.restart(clusters)
                tracker.labels, tracker.state = labels, state
            assert tracker.labels is not None
            tracker.labels.flags.writeable = False
            return tracker.labels

    def _cut(self) -> NDArray[np.int64]:
        tree = self.tree_
        if self.distance_threshold is not None:
            return tree.cut(distance=self.distance_threshold)
        if self.n_clusters is not None:
            return tree.cut(self.n_clusters)
        suggested = tree.suggest_cuts(1)
        return tree.cut(suggested[0].n_clusters if suggested else 1)

    @property
    def labels_(self) -> NDArray[np.int64]:
        return self._read()

    @property
    def events_(self) -> list[Event]:
        self._read()
        return list(self._tracker.events)

    @property
    def children_(self) -> NDArray[np.int64]:
        return self._fitted_tree.children

    @property
    def distances_(self) -> NDArray[np.float64]:
        tree = self._fitted_tree
        return tree.heights[tree.n_points :]

    @property
    def n_leaves_(self) -> int:
        return self._fitted_tree.n_leaves

    @property
    def cluster_ids_(self) -> NDArray[np.int64]:
        return np.unique(self.labels_)

    @property
    def cluster_sizes_(self) -> NDArray[np.int64]:
        return np.unique(self.labels_, return_counts=True)[1]

    @property
    def exemplars_(self) -> NDArray[Any]:
        with self._fitted_tree.lock:
            _, clusters = np.unique(self.labels_, return_inverse=True)
            ids = find_exemplars(self.tree_._tree, self.tree_.table, clusters)
            return self.keys_[ids] if len(self._known_keys()) else ids

    @property
    def keys_(self) -> NDArray[Any]:
        check_is_fitted(self)
        if len(self._known_keys()) == 0:
            raise AttributeError("no keys were given: fit(X, keys=...) keeps them")
        return self._keys.as_array()

    @property
    def _fitted_tree(self) -> ClusterTree:
        check_is_fitted(self)
        return self.tree_

    def label_of(self, keys: Any) -> NDArray[np.int64]:
        """The cluster of each of these keys."""
        labels = self.labels_
        return labels[self._keys.places(keys)]

    def members(self, cluster: int) -> NDArray[Any]:
        """The points of a cluster, in the order of arrival: keys if there are any, else ids."""
        ids = np.flatnonzero(self.labels_ == cluster)
        if len(ids) == 0:
            raise ValueError(f"there is no cluster {cluster}: `cluster_ids_` lists them")
        return self.keys_[ids] if len(self._known_keys()) else ids

    def predict(
        self, X: ArrayLike, *, return_distance: bool = False, max_distance: float | None = None
    ) -> NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give each row the cluster of its nearest leaf. Nothing is added to the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_distance : bool
            Also return how far that leaf is.
        max_distance : float, optional
            Rows whose nearest leaf is farther get the label -1.

        Returns
        -------
        labels : int64 array of shape (n_samples,)
            Only labels that are in `labels_`, or -1.
        distances : float32 array of shape (n_samples,), if asked for
        """
        with self._fitted_tree.lock:
            ids, distances = self.nearest(X)
            labels = self._read()[ids[:, 0]]
        if max_distance is not None:
            labels = np.where(distances[:, 0] > max_distance, -1, labels)
        return (labels, distances[:, 0]) if return_distance else labels

    def nearest(self, X: ArrayLike, k: int = 1) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The ids of each row's k nearest points and their distances; see `ClusterTree.nearest`.

        With the metric "cosine", distances are those between normalised rows.
        """
        check_is_fitted(self)
        rows = self._as_rows(X, reset=False)
        with self.tree_.lock:
            self.tree_.n_jobs = self.n_jobs
            return self.tree_.nearest(rows, k)

    # Files

    def save(self, path: str | Path, *, labels: Any = None, texts: Any = None) -> None:
        """Save everything to one file: parameters, tree, keys, clusters and events.

        Written aside and put in place when whole, as `ClusterTree.save`.

        Parameters
        ----------
        path : path
        labels, texts : sequences of n_points, optional
            Classes of the points and what they are: kept in the file, for `read_columns`.
        """
        check_is_fitted(self)
        self._check_parameters()  # what cannot be used could not be loaded
        parameters = {k: _as_plain(k, v) for k, v in self.get_params(deep=False).items()}
        with self.tree_.lock:
            tracker = self._tracker
            meta = {
                "kind": "estimator",
                "settings": self.tree_._settings(),
                "parameters": parameters,
                "fitted_metric": self._fitted_metric,
                "tracker": tracker.stored(),
            }
            columns: dict[str, Any] = user_columns(self.tree_.n_points, labels=labels, texts=texts)
            columns["events"] = tracker.stored_events()
            if hasattr(self, "feature_names_in_"):
                columns["feature_names"] = self.feature_names_in_.tolist()
            if len(self._known_keys()):
                columns["keys"] = self._keys.as_array()
            if tracker.labels is not None:
                columns["clusters"] = tracker.labels
            write_tree(path, meta, self.tree_._tree, columns)

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = False) -> Self:
        """Load what `save` has written, verified as by `ClusterTree.load`.

        A file of `ClusterTree.save` becomes an estimator with that tree and its settings.
        """
        file = read_tree(path, mmap=mmap)
        tree = ClusterTree._from_file(path, file, verify=not mmap)
        if file.meta.get("kind") != "estimator":
            return cls._around(tree, file.columns)
        try:
            model = cls(**file.meta["parameters"])
            model.tree_ = tree
            model._fitted_metric = as_choice("metric", file.meta["fitted_metric"], _METRICS)
            model.n_features_in_ = tree.n_features
            columns: dict[str, Any] = file.columns
            if "feature_names" in columns:
                model.feature_names_in_ = np.array(columns["feature_names"], object)
                if model.feature_names_in_.shape != (tree.n_features,):
                    raise ValueError
            model._keys = Keys()
            if "keys" in columns:
                model._keys.expect(model._keys.checked(columns["keys"], tree.n_points))
            model._tracker = Tracker.restored(
                file.meta["tracker"], columns["events"], columns.get("clusters"), tree.n_points
            )
            model._check_parameters()
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise CorruptFileError(f"{path} has an estimator that makes no sense") from None
        return model

    @classmethod
    def _around(cls, tree: ClusterTree, columns: Any) -> Self:
        """An estimator for a tree that was made without one."""
        settings = {name: getattr(tree, name) for name in (*_TREE_PARAMETERS, "n_jobs")}
        model = cls(**settings)
        model.tree_, model._tracker, model._fitted_metric = tree, Tracker(), model.metric
        model.n_features_in_ = tree.n_features
        model._keys = Keys()
        if "keys" in columns:
            model._keys.expect(model._keys.checked(columns["keys"], tree.n_points))
        return model


def _as_plain(name: str, value: Any) -> Any:
    value = _plain(value)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"{name}={value!r} cannot be saved: it must be a number or a string")
    return value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
