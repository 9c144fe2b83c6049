"""A collection stored in a folder: nothing that was acknowledged is lost."""

import json
import weakref
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..clusters.following import Followed
from ..encode.interface import Encoder
from ..encode.making import restore_encoder
from ..errors import CorruptFileError
from ..files.contents import Contents
from ..settings import Settings
from ..store.facts import unpack_contents
from ..store.folder import SUFFIX, Beginning, Store
from ..store.pairs import read_answers, read_pairs
from ..store.schema import plain_errors
from ..store.verifying import Verified, verify_folder
from ..tree import ClusterTree
from .answers import Answers
from .changing import Changing
from .clusterings import CLUSTERINGS, read_clusterings, stored_clusterings
from .corrections import TOGETHER, Corrections
from .following import STANDING, restored, whole, without_removed
from .keeping import (
    ANSWER_CHANGES,
    ENCODER,
    FEATURES,
    NOTES,
    PAIR_CHANGES,
    PROGRESS,
    SECTION,
    SETTINGS,
    Closed,
    KeptLog,
    as_bytes,
    facts_of,
)
from .kept import KeptRecords


def is_folder(path: str | Path) -> bool:
    """Whether a name is that of a folder with a collection."""
    return Path(path).name.endswith(SUFFIX) or Path(path).is_dir()


class Durable(Changing):
    """Records that may be stored in a folder, and the operations that need a folder."""

    _store: Store | None
    _news: Followed
    """What has become of standing clusters by being loaded: nothing, on the same version."""

    @property
    def _folder(self) -> Store:
        if self._store is None:
            raise ValueError(
                "this collection is in memory: Collection.open('NAME.perchdb', write=True) keeps "
                "one in a folder"
            )
        return self._store

    @property
    def is_kept(self) -> bool:
        """Whether the collection is stored in a folder; otherwise it is in memory."""
        return self._store is not None

    @property
    def path(self) -> Path | None:
        """The folder of the collection; None if it is in memory."""
        return None if self._store is None else self._store.folder

    @property
    def operation(self) -> int:
        """The number of the last operation on disk; for a reader, the last one it sees."""
        store = self._folder
        return store.journal.durable if store.writes else store.operation

    @property
    def is_writable(self) -> bool:
        """Whether the folder is open for changes, and no write has failed."""
        return self._store is not None and self._store.writes and self._store.journal.is_writable

    def barrier(self) -> int:
        """Wait until everything is on disk, and return the number of the last operation."""
        store = self._folder
        if not store.writes:
            return store.operation
        number = store.journal.recorded
        store.journal.wait(number)
        return number

    @property
    def sync(self) -> bool:
        """Whether changes wait for the disk; otherwise only `barrier` does."""
        return self._kept_log.sync

    @sync.setter
    def sync(self, sync: bool) -> None:
        self._kept_log.sync = sync

    @property
    def _kept_log(self) -> KeptLog:
        self._folder  # noqa: B018  # an error if there is none
        assert isinstance(self._log, KeptLog)
        return self._log

    def note_progress(self, **progress: Any) -> None:
        """Remember how much of an input has been added, in the folder if there is one."""
        with self._changing():
            self.progress = progress
            self._log.noted()

    def note_section(self, name: str, contents: Contents) -> None:
        """Store additional data with the records, in the folder if there is one."""
        with self._changing():
            self.sections[name] = contents
            self._log.noted()

    def refresh(self) -> int:
        """For readers: update to the current state, and return the number of its last operation."""
        store = self._folder
        if store.writes:
            return self.barrier()
        with self._locks.writing, self._locks.reading:
            tree = store.refresh(self._tree, self.settings)
            self._show(store, tree)
        return store.operation

    def snapshot(self) -> None:
        """Store the current tree, so that opening the folder takes no longer than reading it.

        This happens automatically from time to time. Other threads are not blocked.
        """
        self._folder.snapshot(self.tree)

    def compact(self) -> bool:
        """Erase removed records and the history of operations from all files of the folder.

        This happens automatically after many removals. Changes wait until it is done.

        Returns
        -------
        done : bool
            False, with a warning, if a reader in another process still uses an earlier state.
            Compact again when it has been refreshed or closed.
        """
        with self._changing():
            self._note_clusterings()
            return self._folder.compact(self._tree)

    def verify(self) -> Verified:
        """Verify the folder completely: database, snapshots, and that a replay gives this tree.

        Raises CorruptFileError, with a message that says what is damaged.
        """
        store = self._folder
        store.see(self.barrier())
        return verify_folder(store, self._tree, self.settings)

    def search(self, query: str, n: int = 10) -> list[Any]:
        """The keys of records whose text or key has these words, best first.

        Parameters
        ----------
        query : str
            Words, all of which must occur; "quoted phrases", prefix*, OR and NOT as in SQLite's
            FTS5.
        n : int
            The maximum number of keys.
        """
        self.barrier()
        ids = np.array(self._folder.rows.search(query, n), np.int64)
        return list(self.records.keys(ids).tolist())

    # Opening and closing

    @classmethod
    def _open_folder(
        cls,
        path: Path,
        encoder: str | Encoder | None,
        settings: dict[str, Any],
        *,
        write: bool,
        sync: bool,
    ) -> Self:
        collection = cls(**({"encoder": encoder} if encoder is not None else {}), **settings)
        wanted = collection.settings
        beginning = {name: as_bytes(name, value) for name, value in facts_of(collection).items()}
        store = Store(path, Beginning(beginning) if write else None, write=write)
        try:
            collection._keep_in(store, sync=sync)
            for name in settings:
                there, given = getattr(collection.settings, name), getattr(wanted, name)
                if there != given and name != "n_jobs":
                    raise ValueError(f"{path} has {name}={there!r}, not {given!r}: leave it out")
            if encoder is not None:
                collection.use_encoder(encoder)
            if write and "n_jobs" in settings:
                collection.n_jobs = wanted.n_jobs
        except BaseException:
            store.close()
            raise
        weakref.finalize(collection, store.close)
        return collection

    def _keep_in(self, store: Store, *, sync: bool) -> None:
        with plain_errors(store.name):
            self.settings = Settings.of(json.loads(store.facts[SETTINGS]))
        tree = store.load(self.settings)
        self.records = KeptRecords(store.rows)
        self._show(store, tree)
        n_points = 0 if tree is None else tree.n_points
        if len(store.rows) != n_points:
            raise CorruptFileError(
                f"{store.name} is damaged: {len(store.rows):,} records for {n_points:,} points"
            )
        self._store = store
        self._log = KeptLog(self, store, sync=sync)
        if store.writes and self._news.changes:
            with self._changing():
                self._log.followed(self._news)
                self._log.noted()

    def _show(self, store: Store, tree: ClusterTree | None) -> None:
        """Take over what a folder keeps, as it is seen now."""
        if tree is not None:
            tree.use_locks(self._locks)
        self._tree = tree
        stored = store.facts
        with plain_errors(store.name):
            self.settings = Settings.of(json.loads(stored[SETTINGS]))
            self.feature_names = json.loads(stored[FEATURES])
            self.notes, self.progress = json.loads(stored[NOTES]), json.loads(stored[PROGRESS])
            self.sections = {
                name.removeprefix(SECTION): unpack_contents(value)
                for name, value in stored.items()
                if name.startswith(SECTION)
            }
            known = read_clusterings(store.name, self.sections.get(CLUSTERINGS))
            self.clusterings, suggested = known
            if tree is not None:
                tree.suggested = suggested
            self.encoder = None
            if stored[ENCODER]:
                contents = unpack_contents(stored[ENCODER])
                self.encoder = restore_encoder(contents.meta, contents.columns)
            said = np.array(read_pairs(store.connection), np.int64).reshape(-1, 3)
            columns = dict(zip(("a", "b", "same"), said.T, strict=True))
            changes = json.loads(stored[PAIR_CHANGES])
            self.pairs = Corrections.restored(columns, changes, self.ids)
            changes = json.loads(stored.get(ANSWER_CHANGES, b"0"))
            told = np.array(read_answers(store.connection) if changes else [], np.int64)
            columns = dict(zip(("a", "b", "same", "place"), told.reshape(-1, 4).T, strict=True))
            self.answered = Answers.restored(columns, changes, self.ids)
            standing = json.loads(stored.get(STANDING, b"null"))
        self.following, self._news = None, Followed([], {}, [])
        if standing is not None:
            anchors = store.events.anchors()
            self.following, self._news = restored(standing, tree, anchors, self.pairs.said)
        assert isinstance(self.records, KeptRecords)
        self.records.refresh()

    def _note_clusterings(self) -> None:
        """Keep the clusterings that were last written, as far as their points are still there."""
        if len(self.clusterings) and self._tree is not None:
            self.sections[CLUSTERINGS] = stored_clusterings(self)
            self._log.noted()

    def _save_folder(self, path: Path) -> None:
        """Make a folder of this collection, unless it is the one that keeps it."""
        if self._store is not None and path.resolve() == self._store.folder.resolve():
            with self._changing():
                self._note_clusterings()
            self.barrier()
            return
        if path.exists() and any(path.iterdir()):
            raise FileExistsError(f"{path} exists: remove the folder first, or add to it")
        with self.tree.stored() as stored:
            ids = self.ids
            columns = self.records.row(ids)
            blank = [None] * len(ids)
            records = zip(
                *(columns.get(name, blank) for name in ("keys", "texts", "classes")), strict=True
            )
            beginning = Beginning(
                {name: as_bytes(name, value) for name, value in facts_of(self).items()},
                stored._replace(settings=self.settings),
                zip(ids.tolist(), records, strict=True),
                [(a, b, kind == TOGETHER) for kind, a, b in self.pairs],
                list(self.answered),
                whole(self.following, without_removed(self._log.events(0, None), self._tree)),
            )
            Store(path, beginning, write=True).close()

    def _close_folder(self) -> None:
        if self._store is None:
            return
        store = self._store
        self._store, self._log = None, Closed(store.name)
        try:
            store.finish(self._tree)
        finally:
            store.close()
