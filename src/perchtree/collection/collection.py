"""Collection: records, their tree, and the file that stores both."""

import contextlib
import copy
import itertools
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from .._locks import make_locks
from ..clusters.remembering import Remembered
from ..encode.interface import Encoder
from ..encode.making import make_encoder, restore_encoder, store_encoder
from ..errors import CorruptFileError
from ..files.contents import Contents
from ..files.locking import lock_for_writing
from ..files.trees import is_compressed, load_sections, load_tree, save_sections, save_tree
from ..settings import Settings, takes_settings
from ..store.folder import Store
from ..tree import ClusterTree
from .answering import Answering
from .answers import Answers
from .clusterings import CLUSTERINGS, read_clusterings, stored_clusterings
from .corrections import Corrections
from .describing import Describing
from .durable import Durable, is_folder
from .following import STANDING, read_standing, stored_standing, without_removed
from .log import Log
from .merging import check_encoders, check_features, check_settings
from .records import COLUMNS, Records
from .standing import Clustered

_SECTION = "records"
_CORRECTIONS, _ANSWERS = "corrections", "answers"
_ENCODER = "encoder"


class Collection(Durable, Clustered, Answering, Describing):
    """Records with an identity, clustered online.

    A record has a vector and, optionally, your own key, a text and a true class. These stay
    together, also in files.

    Parameters
    ----------
    encoder : str or Encoder, optional
        Turns texts into vectors: a name such as "chars" or "words" (docs/text.md), or anything
        with a method `encode(list of str) -> array`. Records then have texts instead of vectors.
    **settings
        Settings of `ClusterTree`: `linkage`, `max_leaves`, `metric`, ...

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
        self.feature_names: list[str] | None = None
        """Names of the columns of X, if they have any."""
        self.notes: dict[str, Any] = {}
        """Small facts about how the records came to be, kept in the file."""
        self.sections: dict[str, Contents] = {}
        """What others keep in the same file, such as the estimator's clusters."""
        self.compress = False
        """Whether files are compressed, unless `save` is told otherwise: as the one it is from."""
        self.progress = {}
        self.records = Records()
        self.pairs = Corrections()
        self.answered = Answers()
        self.clusterings = Remembered()
        self.following = None
        self._tree = None
        self._start()

    def _start(self) -> None:
        self._locks = make_locks()
        if self._tree is not None:
            self._tree.use_locks(self._locks)
        self._locked: Path | None = None
        self._held = contextlib.ExitStack()
        self._log = Log()
        self._store: Store | None = None

    # Merging

    def merge(self, other: Self, *, update: bool = False, verbose: bool = False) -> Self:
        """Return a new collection with the records of both; neither of the two changes.

        The records of the smaller one are inserted into a copy of the larger one.

        Parameters
        ----------
        other : Collection
            Must have the same settings (except `n_jobs`) and features, and keys if this one does.
        update : bool
            Whether a record of `other` replaces one with the same key; otherwise equal keys are an
            error.
        verbose : bool
            Show a progress bar.

        Raises
        ------
        ValueError
            If the two are incompatible, corrections contradict each other, or `max_leaves` has
            collapsed leaves of the smaller one, whose vectors no longer exist.
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
            said, told = list(smaller.pairs), list(smaller.answered)
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
        for a, b, same, _ in told:
            a, b = of[np.searchsorted(ids, (a, b))].tolist()
            union.answered.say(a, b, same)
        return union

    def take_over(self, other: Self) -> None:
        """Take over the content of another collection, which must not be used afterwards.

        Files and folders that this one holds stay held.
        """
        own = ("_locks", "_locked", "_held", "_store")
        vars(self).update({name: v for name, v in vars(other).items() if name not in own})
        if self._tree is not None:
            self._tree.use_locks(self._locks)

    # Files

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        write: bool = False,
        mmap: bool = False,
        encoder: str | Encoder | None = None,
        sync: bool = True,
        **settings: Any,
    ) -> Self:
        """Load a collection from a file, or open one in a folder.

        In a folder (docs/durability.md) every change is on disk when the call that made it
        returns, with no need to save. Changes require `write=True`, which creates the folder if
        there is none. Without it, the collection shows the state in which it was opened until
        `refresh`.

        Parameters
        ----------
        path : path
            A file of a collection, a tree or an estimator; or a folder, `NAME.perchdb`.
        write : bool
            Keep other processes from changing the file or folder until `close`. Changes to a file
            should then be saved to the same path. FileInUseError if another process has it open
            for writing.
        mmap : bool
            Map features instead of reading them; see `ClusterTree.load`.
        encoder : str or Encoder, optional
            The encoder of the records. Only needed for one that a file cannot store, a model or
            your own object; a different one is rejected.
        sync : bool
            For a folder: whether calls wait for the disk. If not, they return immediately, changes
            are written in order, and `barrier` waits for them. Useful for bulk loads.
        **settings
            Settings of a new folder; those of an existing one must be the same.

        Raises
        ------
        CorruptFileError
            If the file is damaged; the message says which part.
        """
        if is_folder(path):
            return cls._open_folder(Path(path), encoder, settings, write=write, sync=sync)
        if settings:
            raise ValueError(
                f"{path} has its settings already: leave out {', '.join(map(str, settings))}"
            )
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
        self.compress = is_compressed(path)
        self.settings = stored.settings
        tree = ClusterTree.from_stored(stored)
        tree.use_locks(self._locks)
        self._tree = tree if tree.next_id else None
        contents = others.pop(_SECTION, Contents({}, {}))
        corrections, told = others.pop(_CORRECTIONS, None), others.pop(_ANSWERS, None)
        stored_encoder = others.pop(_ENCODER, None)
        standing = others.pop(STANDING, None)
        self.clusterings, tree.suggested = read_clusterings(path, others.pop(CLUSTERINGS, None))
        if beside(path).exists():
            newer = load_sections(beside(path)).get(CLUSTERINGS)
            self.clusterings.update(read_clusterings(beside(path), newer)[0])
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
        try:
            if told is not None:
                self.answered = Answers.restored(told.columns, told.meta["changes"], ids)
        except (KeyError, ValueError) as error:
            raise CorruptFileError(f"{path} has answers that make no sense: {error}") from None
        try:
            if standing is not None:
                self.following, self._log.past = read_standing(
                    standing, self._tree, self.pairs.said
                )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise CorruptFileError(f"{path} has standing clusters that make no sense") from None

    def save(self, path: str | Path, *, compress: bool | None = None) -> None:
        """Save everything to one file, to be read with `open`.

        The file is replaced atomically: a crash or a full disk leaves the old file unchanged. If
        the name ends in `.perchdb`, a new folder is created; a collection that is already in that
        folder needs no saving.

        Parameters
        ----------
        path : path
        compress : bool, optional
            Whether to compress the file; see `ClusterTree.save`. None means as before: if it was
            opened from a compressed file, or last saved as one. Folders are never compressed.
        """
        if is_folder(path):
            if compress:
                raise ValueError(f"{path} is a folder, and only files are compressed")
            self._save_folder(Path(path))
            return
        if compress is not None:
            self.compress = compress
        tree = self.tree
        with tree.stored() as stored, contextlib.ExitStack() as stack:
            if self._locked != _real(path):
                stack.enter_context(lock_for_writing(Path(path)))
            columns = self._columns(tree.ids)
            contents = {_SECTION: Contents(self.notes, columns)} if columns or self.notes else {}
            if self.pairs.changes:
                meta = {"changes": self.pairs.changes}
                contents[_CORRECTIONS] = Contents(meta, self.pairs.columns(tree.ids))
            if self.answered.changes:
                meta = {"changes": self.answered.changes}
                columns = self.answered.columns(tree.ids)
                contents[_ANSWERS] = Contents(meta, columns, optional=True)
            if self.encoder is not None:
                contents[_ENCODER] = Contents(*store_encoder(self.encoder), optional=True)
            if len(self.clusterings):
                contents[CLUSTERINGS] = stored_clusterings(self)
            if self.following is not None:
                past = without_removed(self._log.events(0, None), tree)
                contents[STANDING] = stored_standing(self.following, past)
            stored = stored._replace(settings=self.settings)
            save_tree(path, stored, self.sections | contents, compress=self.compress)
            beside(path).unlink(missing_ok=True)

    def save_beside(self, path: str | Path) -> Path:
        """Save the clusterings beside a file that cannot be changed; where that is.

        `open` finds them there, and `save` takes them into the file.
        """
        save_sections(beside(path), {CLUSTERINGS: stored_clusterings(self)})
        return beside(path)

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
        """Release the file or folder. This does not save anything to a file."""
        self._locked = None
        self._held.close()
        self._close_folder()

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
                "answered": self.answered.copy(),
                "clusterings": self.clusterings.copy(self.ids),
                "_tree": None if self._tree is None else self._tree.__getstate__(),
                "notes": copy.deepcopy(self.notes),
                "sections": dict(self.sections),
            }
            if self.following is not None:
                past = without_removed(self._log.events(0, None), self._tree)
                state["following"] = stored_standing(self.following, past)
        for name in ("_locks", "_locked", "_held", "_log", "_store"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._tree is not None:
            self._tree = ClusterTree.__new__(ClusterTree)
            self._tree.__setstate__(state["_tree"])
        self._start()
        if self.following is not None:
            standing = read_standing(state["following"], self._tree, self.pairs.said)
            self.following, self._log.past = standing

    def copy(self) -> Self:
        """An independent copy in memory, not connected to a file."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        settings = ", ".join(f"{n}={value!r}" for n, value in self.settings.unusual().items())
        return f"<Collection({settings}): {len(self):,} records>"


def beside(path: str | Path) -> Path:
    """Where clusterings are kept if the file itself cannot be changed."""
    path = _real(path)
    return path.with_name(path.name + ".clusterings")


def _real(path: str | Path) -> Path:
    return Path(path).resolve()
