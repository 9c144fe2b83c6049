"""Reading a collection of records."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._locks import Locks
from ..clusters.following import Following
from ..clusters.remembering import Remembered
from ..encode.interface import Encoder, encode_texts, plain_texts
from ..encode.making import make_encoder, same_encoder
from ..files.contents import Contents
from ..settings import Settings
from ..tree import ClusterTree
from .answers import Answers
from .corrections import Corrections
from .log import Log
from .records import Records, as_column


class Asking:
    """Records, corrections of them, and the tree they are in once there is one."""

    settings: Settings
    encoder: Encoder | None
    """Turns texts into vectors; fixed once there are records."""
    records: Records
    pairs: Corrections
    """Corrections of pairs of records, by their ids."""
    answered: Answers
    """Answers about pairs of records, by their ids."""
    clusterings: Remembered
    """The clusterings that `perch cut` has written last, by its options."""
    feature_names: list[str] | None
    """Names of the columns of X, if they have any."""
    notes: dict[str, Any]
    """Small facts about how the records came to be, kept in the file."""
    sections: dict[str, Contents]
    """What other modules keep in the same file, such as the estimator's clusters."""
    progress: dict[str, Any]
    """How far an input has been read, kept in the folder."""
    following: Following | None
    """The clusters that are kept up to date."""
    _tree: ClusterTree | None
    _locks: Locks
    _log: Log

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep others from changing anything; afterwards, wait until the change is on disk."""
        with self._settling(), self._recording():
            yield

    @contextlib.contextmanager
    def _recording(self) -> Iterator[None]:
        """Keep others from changing anything; an error if changes cannot be recorded."""
        with self._locks.writing:
            self._log.begin()
            yield

    @contextlib.contextmanager
    def _settling(self) -> Iterator[None]:
        """Afterwards, wait until changes of this thread are on disk."""
        try:
            yield
        finally:
            if not self._locks.writing.is_mine:
                self._log.settle()

    def _follow(
        self, tree: ClusterTree, gone: NDArray[np.int64], *, silently: bool = False
    ) -> None:
        """Bring standing clusters up to date, before the change is recorded.

        Others can read meanwhile: nobody but this thread changes the tree.
        """
        following, settling = self.following, self._locks.reading
        if following is None:
            return
        with tree.reading() as arrays:
            said = self.pairs.said
        if silently:
            self._log.followed(following.begin(arrays, said, settling))
        else:
            self._log.followed(following.follow(arrays, gone, said, settling))
        if following.n_points != tree.n_points:  # someone has changed the tree itself
            gone = following.missed(arrays)
            self._log.followed(following.follow(arrays, gone, said, settling))

    @property
    def tree(self) -> ClusterTree:
        if self._tree is None:
            raise ValueError("the collection is empty: add records first")
        return self._tree

    def __len__(self) -> int:
        return 0 if self._tree is None else self._tree.n_points

    @property
    def next_id(self) -> int:
        """The id of the next record, which is the number of records ever added."""
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
        keys = as_column("keys", keys)
        ids = self.records.find(keys)
        missing = np.ones(len(ids), bool) if self._tree is None else ~self._tree.holds(ids)
        if missing.any():
            raise ValueError(f"there is no point with the key {keys[int(missing.argmax())]!r:.100}")
        return ids

    def nearest(
        self, X: ArrayLike | None = None, k: int = 1, *, texts: Any = None, exact: bool = True
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Find the k nearest records of each row, by their keys; see `ClusterTree.nearest`.

        If the collection has an encoder, give `texts` instead of X.

        Returns
        -------
        keys : array of shape (n_rows, k)
        distances : float32 array of shape (n_rows, k)
        """
        if (X is None) == (texts is None) or (X is not None and self.encoder is not None):
            raise ValueError(f"give {'X' if self.encoder is None else 'texts'}, and nothing else")
        rows = self.encode(texts) if X is None else X
        assert rows is not None
        ids, distances = self.tree.nearest(rows, k, exact=exact)
        return self.records.keys(ids), distances

    @property
    def n_jobs(self) -> int | None:
        """Threads for searching; the one setting that can be changed."""
        return self.settings.n_jobs

    @n_jobs.setter
    def n_jobs(self, n_jobs: int | None) -> None:
        if n_jobs == self.settings.n_jobs:
            return
        with self._changing():
            self.settings = self.settings.changed(n_jobs=n_jobs)
            if self._tree is not None:
                self._tree.n_jobs = n_jobs
            self._log.noted()

    def encode(self, texts: Any) -> NDArray[Any]:
        """The vectors of texts, by the collection's encoder."""
        if self.encoder is None:
            raise ValueError(
                "the collection has no encoder: give vectors, or make it by "
                "Collection(encoder='words')"
            )
        return encode_texts(self.encoder, plain_texts(texts))

    def use_encoder(self, encoder: str | Encoder) -> None:
        """Use this encoder for texts; ValueError if existing records were made with another one."""
        if self.encoder is not None:
            self.encoder = same_encoder(self.encoder, encoder)
        elif self._tree is not None:
            raise ValueError("these records have vectors of their own: leave out the encoder")
        else:
            self.encoder = make_encoder(encoder, self.settings.n_jobs)
