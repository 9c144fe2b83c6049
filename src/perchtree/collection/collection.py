"""Collection: records, the tree that they are in, and the file that both are kept in."""

import contextlib
import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._locks import make_locks
from .._validate import as_rows
from ..clusters.correcting import Corrected, correct
from ..errors import CorruptFileError
from ..files.contents import Contents
from ..files.locking import lock_for_writing
from ..files.trees import load_tree, save_tree
from ..inert import inert_line
from ..settings import Settings, takes_settings
from ..tree import ClusterTree
from .corrections import APART, TOGETHER, Correction, Corrections
from .records import COLUMNS, Records

_SECTION = "records"
_CORRECTIONS = "corrections"

_NAME_LENGTH = 60
"""Characters of a key in a chain of several."""


class Collection:
    """Records with an identity, clustered online.

    A record has a vector and, if you like, a key of your own, a text and a true class. They stay
    together from `add` to the file and back.

    Parameters
    ----------
    **settings
        Those of `ClusterTree`: `linkage`, `max_leaves`, `metric`, ...

    Examples
    --------
    >>> from perchtree import Collection
    >>> people = Collection(metric="cosine")
    >>> ids = people.add([[0, 1], [0, 2], [3, 0]], keys=["ann", "anne", "bob"])
    >>> people.nearest([[0.1, 5]], k=2)[0]
    array([['ann', 'anne']], dtype=object)
    >>> people.tree.cut(2)
    array([0, 0, 1])
    >>> people.keys
    array(['ann', 'anne', 'bob'], dtype=object)
    """

    @takes_settings
    def __init__(self, **settings: Any) -> None:
        self.settings = Settings.of(settings)
        self.feature_names: list[str] | None = None
        """Names of the columns of X, if they have any."""
        self.notes: dict[str, Any] = {}
        """Small facts about how the records came to be, kept in the file."""
        self.sections: dict[str, Contents] = {}
        """What others keep in the same file, such as the estimator's clusters."""
        self.records = Records()
        self.pairs = Corrections()
        """What was said about pairs of records, by their ids."""
        self._tree: ClusterTree | None = None
        self._start()

    def _start(self) -> None:
        self._locks = make_locks()
        if self._tree is not None:
            self._tree.use_locks(self._locks)
        self._locked: Path | None = None
        self._held = contextlib.ExitStack()

    # Growing

    def add(
        self,
        X: ArrayLike | None = None,
        *,
        keys: Any = None,
        texts: Any = None,
        classes: Any = None,
        verbose: bool = False,
    ) -> NDArray[np.int64]:
        """Add records, in order. Everything is checked before anything changes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        keys : sequence of n_rows, optional
            Your own ids: strings or whole numbers, each once; either always or never.
        texts, classes : sequences of n_rows, optional
            What each record is, and its true class if that is known.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        ids : int64 array of shape (n_rows,)
            The tree's ids of the new points.

        Raises
        ------
        ValueError
            If anything is wrong with the records. Nothing has changed then.
        KeyboardInterrupt, MemoryError
            The first records are in then, and the collection is whole; the message says how many.
        """
        if X is None:
            raise ValueError("records need vectors: give X, one row per record")
        with self._locks.writing:
            tree = self._tree
            n_features = None if tree is None else tree.n_features
            rows = as_rows(X, n_features, cosine=self.settings.is_cosine)
            if tree is None:
                tree = ClusterTree(rows.shape[1], **self.settings.as_dict())
                tree.use_locks(self._locks)
            return self._insert(tree, rows, verbose, keys=keys, texts=texts, classes=classes)

    def _insert(
        self, tree: ClusterTree, rows: NDArray[Any], verbose: bool, **given: Any
    ) -> NDArray[np.int64]:
        """Insert checked rows, if their columns can be used; no other thread changes the tree."""
        first = tree.next_id
        self.records.drop_from(first)  # if an interruption has kept us from it
        columns = self.records.checked(tree.n_points, len(rows), **given)
        try:
            self.records.stage(first, len(rows), columns)
            self._tree = tree  # readers see what is in, while the rest follows
            return tree.insert_checked(rows, verbose=verbose)
        except BaseException:
            if tree.next_id == 0:
                self._tree = None
            self.records.drop_from(tree.next_id)
            raise

    # Asking

    @property
    def tree(self) -> ClusterTree:
        if self._tree is None:
            raise ValueError("the collection is empty: add records first")
        return self._tree

    def __len__(self) -> int:
        return 0 if self._tree is None else self._tree.n_points

    @property
    def ids(self) -> NDArray[np.int64]:
        """The tree's ids of all records, in ascending order."""
        return np.empty(0, np.int64) if self._tree is None else self._tree.ids

    @property
    def has_keys(self) -> bool:
        """Whether records have keys of their own; otherwise ids are their keys."""
        return "keys" in self.records

    @property
    def keys(self) -> NDArray[Any]:
        """The keys of all records, in the order of `ids`."""
        return self.records.keys(self.ids)

    @property
    def texts(self) -> list[Any] | None:
        """The texts of all records, None where one has none; None if no record has any."""
        return self.records.column("texts", self.ids)

    @property
    def classes(self) -> list[Any] | None:
        """The true classes of all records, None where unknown; None if no record has any."""
        return self.records.column("classes", self.ids)

    def ids_of(self, keys: Any) -> NDArray[np.int64]:
        """The ids of records, given their keys; ValueError names the first that is unknown."""
        ids = self.records.ids_of(keys)
        missing = np.ones(len(ids), bool) if self._tree is None else ~self._tree.holds(ids)
        if missing.any():
            raise ValueError(
                f"there is no point with the key {list(keys)[int(missing.argmax())]!r}"
            )
        return ids

    def nearest(self, X: ArrayLike, k: int = 1) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Find the k nearest records of each row, by their keys; see `ClusterTree.nearest`.

        Returns
        -------
        keys : array of shape (n_rows, k)
        distances : float32 array of shape (n_rows, k)
        """
        ids, distances = self.tree.nearest(X, k)
        return self.records.keys(ids), distances

    @property
    def n_jobs(self) -> int | None:
        """Threads for searching; the one setting that can be changed."""
        return self.settings.n_jobs

    @n_jobs.setter
    def n_jobs(self, n_jobs: int | None) -> None:
        if n_jobs == self.settings.n_jobs:
            return
        self.settings = self.settings.changed(n_jobs=n_jobs)
        if self._tree is not None:
            self._tree.n_jobs = n_jobs

    # Correcting

    def together(self, a: Any, b: Any) -> None:
        """Say that two records, given by their keys, belong together: they share a cluster.

        Corrections are applied after any flat clustering: by `corrected`, `Perch` and `perch`.
        The tree, and `ClusterTree.cut`, stay what the data says. A record that is removed takes
        its corrections with it.

        Raises
        ------
        ValueError
            If it contradicts what was said before. The message shows the chain; nothing changes.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0], [1], [8], [9]], keys=["ann", "anna", "bob", "rob"])
        >>> people.together("bob", "rob")
        >>> people.apart("ann", "anna")
        >>> people.corrected(people.tree.cut(2))
        Corrected(labels=array([0, 1, 2, 2]), n_before=2, n_after=3)
        >>> people.corrections
        [Correction(kind='apart', a='ann', b='anna'), Correction(kind='together', a='bob', b='rob')]
        """
        self._say(TOGETHER, a, b)

    def apart(self, a: Any, b: Any) -> None:
        """Say that two records, given by their keys, do not belong together.

        They never share a cluster, and neither do records that are together with them: see
        `together`.
        """
        self._say(APART, a, b)

    def take_back(self, a: Any, b: Any) -> None:
        """Take back what was said about two records; ValueError if nothing was."""
        with self.tree.lock():
            one, other = self.ids_of([a, b]).tolist()
            self.pairs.take_back(one, other, self._name)

    def _say(self, kind: str, a: Any, b: Any) -> None:
        with self.tree.lock():
            one, other = self.ids_of([a, b]).tolist()
            self.pairs.say(kind, one, other, self._name)

    def _name(self, point_id: int) -> str:
        """The key of a record, for messages."""
        return inert_line(self.records.keys(np.array([point_id]))[0], _NAME_LENGTH)

    @property
    def corrections(self) -> list[Correction]:
        """All that was said about pairs of records, by their keys."""
        with self._locks.reading:
            said = list(self.pairs)
            a, b = (self.records.keys(np.array(ids, np.int64)).tolist()
                    for ids in ([c.a for c in said], [c.b for c in said]))  # fmt: skip
        return [Correction(c.kind, *keys) for c, *keys in zip(said, a, b, strict=True)]

    def corrected(self, labels: ArrayLike) -> Corrected:
        """Apply corrections to a flat clustering of all records.

        Whole clusters are joined, and clusters that hold records that are apart are split along
        the tree, where that cuts the fewest branches. So the number of clusters may change.

        Parameters
        ----------
        labels : array-like of whole numbers
            The cluster of each record, in the order of `ids`, as `tree.cut` returns them.

        Returns
        -------
        Corrected
            New `labels`, 0, 1, 2, ... in the order of the smallest ids; and the number of
            clusters before and after, `n_before` and `n_after`.
        """
        given = np.asarray(labels)
        tree = self.tree
        with tree.reading():
            if given.shape != (tree.n_points,) or given.dtype.kind not in "iu":
                raise ValueError(
                    f"expected {tree.n_points} whole numbers, the cluster of each record, got an "
                    f"array of {given.dtype} of the shape {given.shape}"
                )
            pairs = self.pairs.pairs(TOGETHER), self.pairs.pairs(APART)
            return correct(tree.table, given, *pairs)

    # Files

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False, mmap: bool = False) -> Self:
        """Load a collection from a file.

        Parameters
        ----------
        path : path
            A file of a collection, a tree or an estimator.
        write : bool
            Keep other processes from changing the file until `close`: for changes that are to
            be saved to the same path. FileInUseError if another process is changing it already.
        mmap : bool
            Map features instead of reading them; see `ClusterTree.load`.

        Raises
        ------
        CorruptFileError
            If the file is damaged; the message says which part.
        """
        collection = cls()
        if write:
            collection.hold(path)
        try:
            collection._load(path, mmap=mmap)
        except BaseException:
            collection.close()
            raise
        return collection

    def _load(self, path: str | Path, *, mmap: bool) -> None:
        stored, others = load_tree(path, mmap=mmap)
        self.settings = stored.settings
        tree = ClusterTree.from_stored(stored)
        tree.use_locks(self._locks)
        self._tree = tree if tree.n_points else None
        contents = others.pop(_SECTION, Contents({}, {}))
        corrections = others.pop(_CORRECTIONS, None)
        self.sections = others
        self.notes = dict(contents.meta)
        columns: dict[str, Any] = dict(contents.columns)
        names = columns.pop("feature_names", None)
        ids = tree.ids
        try:
            if names is not None:
                if len(names) != tree.n_features:
                    raise ValueError("names of other features than the tree has")
                self.feature_names = [str(name) for name in names]
            kept = {name: columns[name] for name in COLUMNS if name in columns}
            self._restore(ids, self.records.checked(0, len(ids), **kept))
        except ValueError as error:
            raise CorruptFileError(f"{path} has records that make no sense: {error}") from None
        try:
            if corrections is not None:
                changes = corrections.meta["changes"]
                self.pairs = Corrections.restored(corrections.columns, changes, ids)
        except (KeyError, ValueError) as error:
            raise CorruptFileError(f"{path} has corrections that make no sense: {error}") from None

    def _restore(self, ids: NDArray[np.int64], columns: dict[str, list[Any]]) -> None:
        if len(ids) == 0:
            return
        by_id: dict[str, list[Any]] = {}
        for name, values in columns.items():
            spread: list[Any] = [None] * (int(ids[-1]) + 1)
            for point_id, value in zip(ids.tolist(), values, strict=True):
                spread[point_id] = value
            by_id[name] = spread
        self.records.stage(0, int(ids[-1]) + 1, by_id)

    def save(self, path: str | Path) -> None:
        """Save everything to one file, from which `open` makes the same collection.

        It is written aside and put in place when whole: a crash or a full disk leaves the old
        file as it was.
        """
        tree = self.tree
        with tree.stored() as stored, contextlib.ExitStack() as stack:
            if self._locked != _real(path):
                stack.enter_context(lock_for_writing(Path(path)))
            columns = self._columns(tree.ids)
            contents = {_SECTION: Contents(self.notes, columns)} if columns or self.notes else {}
            if self.pairs.changes:
                meta = {"changes": self.pairs.changes}
                contents[_CORRECTIONS] = Contents(meta, self.pairs.columns(tree.ids))
            stored = stored._replace(settings=self.settings)
            save_tree(path, stored, self.sections | contents)

    def _columns(self, ids: NDArray[np.int64]) -> dict[str, Any]:
        """What the file keeps of the records with these ids."""
        columns: dict[str, Any] = {
            name: values
            for name in COLUMNS
            if (values := self.records.column(name, ids)) is not None
        }
        if self.has_keys:
            columns["keys"] = self.records.keys(ids)  # an error if a point has none
        if self.feature_names is not None:
            columns["feature_names"] = self.feature_names
        return columns

    def hold(self, path: str | Path) -> None:
        """Keep other processes from changing a file until `close`."""
        self.close()
        self._held.enter_context(lock_for_writing(Path(path)))
        self._locked = _real(path)

    def close(self) -> None:
        """Let go of the file. Nothing is saved by this."""
        self._locked = None
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # The object itself

    def __getstate__(self) -> dict[str, Any]:
        with contextlib.nullcontext() if self._tree is None else self._tree.stored():
            state = vars(self) | {
                "records": self.records.copy(),
                "pairs": self.pairs.copy(),
                "_tree": None if self._tree is None else self._tree.__getstate__(),
                "notes": copy.deepcopy(self.notes),
                "sections": dict(self.sections),
            }
        for name in ("_locks", "_locked", "_held"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._tree is not None:
            self._tree = ClusterTree.__new__(ClusterTree)
            self._tree.__setstate__(state["_tree"])
        self._start()

    def copy(self) -> Self:
        """An independent copy, which holds no file."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        settings = ", ".join(f"{n}={value!r}" for n, value in self.settings.unusual().items())
        return f"<Collection({settings}): {len(self):,} records>"


def _real(path: str | Path) -> Path:
    return Path(path).resolve()
