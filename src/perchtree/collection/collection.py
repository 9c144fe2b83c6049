"""Collection: records, the tree that they are in, and the file that both are kept in."""

import contextlib
import copy
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arguments import as_choice
from .._kernels.schema import NONE
from .._locks import make_locks
from .._progress import progress
from .._validate import as_rows
from ..clusters.correcting import Corrected, correct
from ..encode.interface import Encoder, Learner, encode_texts, name_of, plain_texts
from ..encode.making import make_encoder, restore_encoder, same_encoder, store_encoder
from ..errors import CorruptFileError
from ..files.contents import Contents
from ..files.locking import lock_for_writing
from ..files.trees import load_tree, save_tree
from ..inert import inert_line
from ..removing import refuse_missing, usable
from ..settings import Settings, takes_settings
from ..tree import ClusterTree
from .corrections import APART, TOGETHER, Correction, Corrections
from .merging import check_encoders, check_features, check_settings
from .records import COLUMNS, Records, as_columns

_SECTION = "records"
_CORRECTIONS = "corrections"

_NAME_LENGTH = 60
"""Characters of a key in a chain of several."""
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
        self._tidy(tree)
        columns = self.records.checked(tree.n_points, len(rows), **given)
        with self._staged(tree, len(rows), columns):
            return tree.insert_checked(rows, verbose=verbose)

    @contextlib.contextmanager
    def _staged(
        self, tree: ClusterTree, n_rows: int, columns: dict[str, list[Any]]
    ) -> Iterator[None]:
        """Keep checked columns of rows that are inserted meanwhile; of those that get in."""
        try:
            self.records.stage(tree.next_id, n_rows, columns)
            self._tree = tree  # readers see what is in, while the rest follows
            yield
        except BaseException:
            if tree.next_id == 0:
                self._tree = None
            self.records.drop_from(tree.next_id)
            raise

    def _tidy(self, tree: ClusterTree) -> None:
        """Forget what belongs to no point, if an interruption has kept us from it."""
        self.records.drop_from(tree.next_id)
        if self.records.n_keys > tree.n_points:
            self.records.forget(np.setdiff1d(np.arange(tree.next_id), tree.ids).tolist())

    # Removing and changing

    def remove(self, keys: Any, *, missing: str = "error", verbose: bool = False) -> NDArray[Any]:
        """Remove records, in the order given, with all that is known of them.

        Nothing of their keys, texts, classes and vectors is in a file or a pickle that is made
        afterwards, with one exception: a leaf that `max_leaves` has collapsed keeps its box, and a
        border of that may be a coordinate of a removed vector. A removed key can be added again.

        Parameters
        ----------
        keys : sequence
            Keys; ids, if the records have no keys.
        missing : {"error", "ok"}
            What to do about keys that no record has (any more), or that are given twice: refuse
            them all, or pass over them.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        keys : array
            Those that were removed.

        Raises
        ------
        ValueError
            If a record is missing: the message names the first few. Nothing has changed then.
        KeyboardInterrupt
            The first records are removed then, and the collection is whole.

        Examples
        --------
        >>> people = Collection()
        >>> _ = people.add([[0.0], [1.0], [9.0]], keys=["ann", "anne", "bob"])
        >>> people.remove(["anne"])
        array(['anne'], dtype=object)
        >>> people.keys
        array(['ann', 'bob'], dtype=object)
        """
        with self._locks.writing:
            ids = self.records.find(keys)
            known = np.zeros(len(ids), bool) if self._tree is None else self._tree.holds(ids)
            ids = ids[usable(ids, known, missing, "key", keys)]
            removed = self.records.keys(ids)
            if len(ids):
                self._take_out(ids, verbose=verbose)
            return removed

    def _take_out(self, ids: NDArray[np.int64], *, verbose: bool = False) -> None:
        """Remove points and what is known of them; if it is interrupted, those that are gone."""
        tree = self.tree
        try:
            tree.remove(ids, verbose=verbose)
        finally:
            gone = ids[~tree.holds(ids)].tolist()
            self.records.forget(gone)
            self.pairs.drop(gone)
            if tree.n_points == 0:
                self.records.drop_from(0)

    def update(
        self,
        keys: Any,
        X: ArrayLike | None = None,
        *,
        texts: Any = None,
        classes: Any = None,
        missing: str = "error",
        verbose: bool = False,
    ) -> None:
        """Replace the vectors, texts or classes of records under their keys, one after the other.

        What is not given stays as it was; if the collection has an encoder, it makes vectors of
        new texts. A record with a new vector is a new point of the tree: it
        gets a new id, and comes last in the order of `ids`. Any split into calls gives the same.

        Parameters
        ----------
        keys : sequence of n_rows
        X : array-like of shape (n_rows, n_features), optional
        texts, classes : sequences of n_rows, optional
        missing : {"error", "add"}
            What to do about keys that no record has: refuse them all, or add these records.
        verbose : bool
            Show a progress bar.

        Raises
        ------
        ValueError
            If anything is wrong. Nothing has changed then.
        KeyboardInterrupt, MemoryError
            The first records are updated then, the others as they were; the message says how many.

        Examples
        --------
        >>> people = Collection()
        >>> _ = people.add([[0.0], [1.0], [9.0]], keys=["ann", "anne", "bob"])
        >>> people.update(["ann"], [[8.0]])
        >>> people.nearest([[8.5]], k=2)[0]
        array([['ann', 'bob']], dtype=object)
        """
        as_choice("missing", missing, ("error", "add"))
        with self._locks.writing:
            if len(self) == 0 and missing == "add":
                self.add(X, keys=keys, texts=texts, classes=classes, verbose=verbose)
                return
            ids = self.records.find(keys)
            if missing == "error":
                refuse_missing(self.tree.holds(ids), "key", keys)
            columns = as_columns(len(ids), texts=texts, classes=classes)
            if self.encoder is not None and not (X is None and texts is None):
                X, _ = self._vectors(X, texts)
            if X is None:
                if (ids == NONE).any():
                    raise ValueError("new records need vectors: give X, one row per record")
                self.records.revise(ids.tolist(), columns)
                return
            rows = as_rows(X, self.tree.n_features, cosine=self.settings.is_cosine)
            columns |= self.records.checked_again(keys, len(rows))
            self._replace(rows, columns, verbose=verbose)

    def _replace(
        self,
        rows: NDArray[Any],
        columns: dict[str, list[Any]],
        *,
        verbose: bool = False,
        normalised: bool = False,
    ) -> None:
        """Insert checked rows, each in place of the record with its key if there is one.

        Rows with new keys are inserted together, which makes no difference to the tree.
        """
        tree, first = self.tree, self.next_id
        self._tidy(tree)
        try:
            with progress(len(rows), verbose) as bar:
                for part in list(self.records.runs(columns.get("keys"), len(rows))):
                    own = {name: values[part] for name, values in columns.items()}
                    self._replace_run(rows[part], own, normalised=normalised)
                    bar.update(part.stop - part.start)
        except (KeyboardInterrupt, MemoryError) as error:
            raise type(error)(
                f"{tree.next_id - first:,} of {len(rows):,} records are in, and the collection is "
                "whole: go on with the rest"
            ) from None

    def _replace_run(
        self, rows: NDArray[Any], columns: dict[str, list[Any]], *, normalised: bool
    ) -> None:
        """Replace one record, or insert several that are new.

        The new point goes in before the old one goes out, with readers kept away: a record is never
        missing, wherever this is interrupted, and nobody meets it twice.
        """
        tree = self.tree
        old = self.records.find(columns.get("keys", [NONE])[:1])
        if old[0] == NONE:
            with self._staged(tree, len(rows), columns):
                tree.insert_checked(rows, normalised=normalised)
            return
        with tree.lock():
            next_id, whole = tree.next_id, self.records.row(old) | columns
            try:
                with self._staged(tree, 1, whole):
                    tree.insert_checked(rows, normalised=normalised)
            finally:
                if tree.next_id > next_id:
                    self.pairs.moved(int(old[0]), next_id)
                    self._take_out(old)

    def merge(self, other: Self, *, update: bool = False, verbose: bool = False) -> Self:
        """Make a collection of the records of both; neither of the two changes.

        The records of the smaller one are inserted into a copy of the larger one.

        Parameters
        ----------
        other : Collection
            With the same settings (`n_jobs` aside), the same features, and keys if these have some.
        update : bool
            Whether a record of `other` replaces the one with the same key; otherwise equal keys are
            an error.
        verbose : bool
            Show a progress bar.

        Raises
        ------
        ValueError
            If the two do not fit together, corrections contradict each other, or `max_leaves` has
            collapsed leaves of the smaller one: their vectors are gone.
        """
        larger, smaller = (other, self) if len(other) > len(self) else (self, other)
        check_settings(self.settings, other.settings)
        if len(smaller) == 0:
            return larger.copy()
        check_features(
            self.tree.n_features, other.tree.n_features, self.feature_names, other.feature_names
        )
        check_encoders(self.encoder, other.encoder)
        if self.has_keys != other.has_keys:
            raise ValueError("the two cannot be merged: one has keys of its own, the other none")
        with smaller.tree.reading():
            ids = smaller.ids
            rows, columns = smaller.tree.vectors(ids), smaller.records.row(ids)
            said = list(smaller.pairs)
        union = larger.copy()
        first = union.next_id
        union.feature_names = self.feature_names or other.feature_names
        union.notes.pop("keys_are_rows", None)
        if union.has_keys:
            names = columns["keys"]
            known = union.records.find(names) != NONE
            if known.any() and not update:
                raise ValueError(
                    f"both have the key {columns['keys'][int(known.argmax())]!r:.100}, one of "
                    f"{int(known.sum()):,} such: with update=True, records of the second replace "
                    "those of the first"
                )
            if smaller is self:
                rows = rows[~known]
                columns = {n: list(itertools.compress(v, ~known)) for n, v in columns.items()}
        union._replace(rows, columns, verbose=verbose, normalised=True)
        of = union.records.find(names) if union.has_keys else first + np.arange(len(ids))
        for kind, a, b in said:
            a, b = of[np.searchsorted(ids, (a, b))].tolist()
            union.pairs.say(kind, a, b, union._name)
        return union

    # Asking

    @property
    def tree(self) -> ClusterTree:
        if self._tree is None:
            raise ValueError("the collection is empty: add records first")
        return self._tree

    def __len__(self) -> int:
        return 0 if self._tree is None else self._tree.n_points

    @property
    def next_id(self) -> int:
        """The id that the next record will get: so many were ever added."""
        return 0 if self._tree is None else self._tree.next_id

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
        ids = self.records.find(keys)
        missing = np.ones(len(ids), bool) if self._tree is None else ~self._tree.holds(ids)
        if missing.any():
            raise ValueError(
                f"there is no point with the key {list(keys)[int(missing.argmax())]!r:.100}"
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
            if tree.n_points == 0:
                return Corrected(given.astype(np.int64), 0, 0)
            pairs = self.pairs.pairs(TOGETHER), self.pairs.pairs(APART)
            return correct(tree.table, given, *pairs)

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
        self._tree = tree if tree.next_id else None
        contents = others.pop(_SECTION, Contents({}, {}))
        corrections = others.pop(_CORRECTIONS, None)
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
            self.records.restore(ids, self.records.checked(0, len(ids), **kept))
        except ValueError as error:
            raise CorruptFileError(f"{path} has records that make no sense: {error}") from None
        try:
            if corrections is not None:
                changes = corrections.meta["changes"]
                self.pairs = Corrections.restored(corrections.columns, changes, ids)
        except (KeyError, ValueError) as error:
            raise CorruptFileError(f"{path} has corrections that make no sense: {error}") from None

    def use_encoder(self, encoder: str | Encoder) -> None:
        """Make vectors of texts by this encoder; ValueError if records were made by another."""
        if self.encoder is not None:
            self.encoder = same_encoder(self.encoder, encoder)
        elif self._tree is not None:
            raise ValueError("these records have vectors of their own: leave out the encoder")
        else:
            self.encoder = make_encoder(encoder, self.settings.n_jobs)

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
                "records": self.records.copy(self.ids),
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
