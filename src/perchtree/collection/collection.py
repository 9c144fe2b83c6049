"""Collection: records, the tree that they are in, and the file that both are kept in."""

import contextlib
import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._locks import make_locks
from .._validate import as_rows
from ..encode.interface import Encoder, Learner, encode_texts, name_of, plain_texts
from ..encode.making import make_encoder, restore_encoder, same_encoder, store_encoder
from ..errors import CorruptFileError
from ..files.contents import Contents
from ..files.locking import lock_for_writing
from ..files.trees import load_tree, save_tree
from ..settings import Settings, takes_settings
from ..tree import ClusterTree
from .records import COLUMNS, Records

_SECTION = "records"
_ENCODER = "encoder"


class Collection:
    """Records with an identity, clustered online.

    A record has a vector and, if you like, a key of your own, a text and a true class. They stay
    together from `add` to the file and back.

    Parameters
    ----------
    encoder : str or Encoder, optional
        What makes vectors of texts: a name such as "chars" or "words" (docs/text.md), or anything
        with a method `encode(list of str) -> array`. Records then have texts instead of vectors.
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
    def __init__(self, *, encoder: str | Encoder | None = None, **settings: Any) -> None:
        self.settings = Settings.of(settings)
        self.encoder = None if encoder is None else make_encoder(encoder, self.settings.n_jobs)
        """What makes vectors of texts; it stays as it is once there are records."""
        self.feature_names: list[str] | None = None
        """Names of the columns of X, if they have any."""
        self.notes: dict[str, Any] = {}
        """Small facts about how the records came to be, kept in the file."""
        self.sections: dict[str, Contents] = {}
        """What others keep in the same file, such as the estimator's clusters."""
        self.records = Records()
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
            Not if there is an encoder: it makes vectors of the texts. An encoder that weights by
            rarity learns from the first records, unless it has `learned` before.
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
        with self._locks.writing:
            tree, before = self._tree, self.encoder
            vectors, encoder = self._vectors(X, texts)
            n_features = None if tree is None else tree.n_features
            rows = as_rows(vectors, n_features, cosine=self.settings.is_cosine)
            if tree is None:
                tree = ClusterTree(rows.shape[1], **self.settings.as_dict())
                tree.use_locks(self._locks)
            try:
                self.encoder = encoder
                return self._insert(tree, rows, verbose, keys=keys, texts=texts, classes=classes)
            except BaseException:
                if self._tree is None:  # nothing is in that it could have learned from
                    self.encoder = before
                raise

    def _vectors(self, X: ArrayLike | None, texts: Any) -> tuple[Any, Encoder | None]:
        """Vectors of new records, and the encoder to keep: it may have learned from them."""
        encoder = self.encoder
        if encoder is None:
            if X is None:
                raise ValueError(
                    "records need vectors: give X, one row per record, or let texts be encoded: "
                    "Collection(encoder='words')"
                )
            return X, None
        if X is not None or texts is None:
            raise ValueError(
                f"vectors of this collection are made by its encoder, {name_of(encoder)}: give "
                "texts, and no X"
            )
        plain = plain_texts(texts)
        if self._tree is None and isinstance(encoder, Learner) and encoder.n_texts == 0:
            encoder = encoder.learned(plain)
        return encode_texts(encoder, plain), encoder

    def encode(self, texts: Any) -> NDArray[Any]:
        """The vectors of texts, by the collection's encoder."""
        if self.encoder is None:
            raise ValueError(
                "the collection has no encoder: give vectors, or make it by "
                "Collection(encoder='words')"
            )
        return encode_texts(self.encoder, plain_texts(texts))

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
        missing = ~np.isin(ids, self.ids)
        if missing.any():
            raise ValueError(
                f"there is no point with the key {list(keys)[int(missing.argmax())]!r}"
            )
        return ids

    def nearest(
        self, X: ArrayLike | None = None, k: int = 1, *, texts: Any = None
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Find the k nearest records of each row, by their keys; see `ClusterTree.nearest`.

        Where there is an encoder, give `texts` instead of X.

        Returns
        -------
        keys : array of shape (n_rows, k)
        distances : float32 array of shape (n_rows, k)
        """
        if (X is None) == (texts is None) or (X is not None and self.encoder is not None):
            raise ValueError(f"give {'X' if self.encoder is None else 'texts'}, and nothing else")
        ids, distances = self.tree.nearest(self.encode(texts) if X is None else X, k)
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

    # Files

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        write: bool = False,
        mmap: bool = False,
        encoder: str | Encoder | None = None,
    ) -> Self:
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
        encoder : str or Encoder, optional
            The encoder that the records were made with. Only one that a file cannot hold, a model
            or an object of your own, has to be given again; another one is refused.

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
            if encoder is not None:
                collection.use_encoder(encoder)
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
        stored_encoder = others.pop(_ENCODER, None)
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
            if stored_encoder is not None:
                self.encoder = restore_encoder(stored_encoder.meta, stored_encoder.columns)
            kept = {name: columns[name] for name in COLUMNS if name in columns}
            self._restore(ids, self.records.checked(0, len(ids), **kept))
        except ValueError as error:
            raise CorruptFileError(f"{path} has records that make no sense: {error}") from None

    def use_encoder(self, encoder: str | Encoder) -> None:
        """Make vectors of texts by this encoder; ValueError if records were made by another."""
        if self.encoder is not None:
            self.encoder = same_encoder(self.encoder, encoder)
        elif self._tree is not None:
            raise ValueError("these records have vectors of their own: leave out the encoder")
        else:
            self.encoder = make_encoder(encoder, self.settings.n_jobs)

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
            if self.encoder is not None:
                contents[_ENCODER] = Contents(*store_encoder(self.encoder), optional=True)
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
