"""From an input into a collection, batch after batch, despite bad rows and interruptions."""

import contextlib
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..encode.interface import name_of
from ..inputs.batches import Batch, InputError, Problem, Source, skip_rows
from ..inputs.records import TextSource
from .collection import Collection
from .resuming import progress_of

_POLL = 0.2
_MOST_LISTED = 20
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")


class Stop:
    """A request to end an intake, which may come at any time, from a signal or another thread."""

    def __init__(self) -> None:
        self.asked = False
        self.drains = False
        """Whether what was read of a stream is still taken in; other work is interrupted."""
        self._deaf = False

    def ask(self) -> None:
        """Ask for the end. If asked again, or if nothing drains, work is interrupted at once."""
        again, self.asked = self.asked, True
        if not self._deaf and (again or not self.drains):
            raise KeyboardInterrupt

    def ignore(self) -> None:
        """From now on, ignore requests: all that is left is to save and to report."""
        self._deaf = True

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Requests wait until this is done."""
        before, self._deaf = self.asked, True
        try:
            yield
        finally:
            self._deaf = False
        if self.asked and not before and not self.drains:
            raise KeyboardInterrupt


class Taken(NamedTuple):
    """The result of reading an input."""

    n_rows: int
    """Rows that were read: the next one has this number."""
    bad: list[Problem]
    """The first of the rows that were left out."""
    n_bad: int


class Intake:
    """Reads an input into a collection, and saves that at intervals if asked to."""

    def __init__(
        self,
        collection: Collection,
        source: Source,
        *,
        n_rows: int,
        first_row: int = 0,
        skip_bad: bool = False,
        update: bool = False,
        name: str = "",
        show: Callable[[Batch | None], None] = lambda _batch: None,
    ) -> None:
        self.collection, self.source = collection, source
        self._n_rows, self._first_row, self._skip_bad = n_rows, first_row, skip_bad
        self._update, self._show = update, show
        self._name = name
        """Under which a folder remembers how far the input was taken in."""
        self._checkpoint: tuple[str, float] | None = None
        self._saved_at = time.monotonic()
        self._saved_row: int | None = None
        self._bad: list[Problem] = []
        self._n_bad = 0
        self._taken: tuple[Batch, int] | None = None
        """The last batch, and the id that its first row was to get."""

    def checkpoint_to(self, path: str, seconds: float) -> None:
        """Save to a file every `seconds`."""
        self._checkpoint = path, seconds

    @property
    def next_row(self) -> int:
        """The number of the first row that is not in the tree, and was not left out.

        It follows from the ids given so far, so it is right wherever a signal came.
        """
        if self._taken is None:
            return self._first_row
        batch, before = self._taken
        waiting = batch.rows[self.collection.next_id - before :]
        if len(waiting):
            return int(waiting[0])
        last: list[int] = [*batch.rows[-1:].tolist(), *(p.row for p in batch.bad[-1:])]
        return max(last) + 1

    def run(self, stop: Stop) -> Taken:
        """Insert everything. After an interruption, what was inserted is in the collection."""
        stop.drains = self.source.live
        try:
            self._take_all(stop)
            if not stop.asked and self.collection.is_kept:
                self.collection.note_progress(input=self._name, done=True)
        except KeyboardInterrupt:
            stop.asked = True
        stop.ignore()
        return Taken(self.next_row, self._bad, self._n_bad)

    def _take_all(self, stop: Stop) -> None:
        source = self.source
        batches: Iterator[Batch | None]
        if isinstance(source, TextSource) and source.live:
            batches = arriving(source, self._n_rows, self._first_row, stop)
        else:
            batches = skip_rows(source.batches(self._n_rows), self._first_row)
        try:
            for batch in batches:
                if batch is not None:
                    self._take(batch, stop)
                self._save_if_due(stop)
                self._show(batch)
        except InputError as error:
            raise InputError(f"{source.name}: {error}{self._what_was_saved()}") from None

    def _take(self, batch: Batch, stop: Stop) -> None:
        batch = self._fitting(batch)
        # Once a stop was asked for, the last line may be cut; to save is what counts then.
        if not self._skip_bad and not stop.asked:
            refuse_bad(batch)
        self._taken = batch, self.collection.next_id
        if len(batch.X):
            if self.collection.is_kept:
                last = max([int(batch.rows[-1]), *(problem.row for problem in batch.bad)])
                self.collection.progress = progress_of(
                    self._name, self.collection.next_id, batch.rows, last + 1
                )
            self._insert(batch)
        self._n_bad += len(batch.bad)
        self._bad += batch.bad[: _MOST_LISTED - len(self._bad)]

    def _fitting(self, batch: Batch) -> Batch:
        """The batch without rows that cannot be taken in."""
        if self.collection.encoder is None and len(self.collection) == 0 and only_texts(batch):
            self.collection.use_encoder("auto")
        return fitting(self.collection, batch, update=self._update)

    def _insert(self, batch: Batch) -> None:
        columns: dict[str, Any] = dict(batch.companions)
        if self.collection.encoder is None:
            columns["X"] = batch.X
            if len(self.collection) == 0:
                self.collection.feature_names = self.source.feature_names
        if self._update:
            self.collection.update(**columns, missing="add")
        else:
            self.collection.add(**columns)

    def _save_if_due(self, stop: Stop) -> None:
        if self._checkpoint is None:
            return
        path, seconds = self._checkpoint
        if time.monotonic() - self._saved_at < seconds:
            return
        if self.next_row != self._saved_row and len(self.collection):
            with stop.waiting():
                self.collection.save(path)
                self._saved_row = self.next_row
        self._saved_at = time.monotonic()

    def _what_was_saved(self) -> str:
        if self._saved_row is None or self._checkpoint is None:
            return ""
        return (
            f" (the last checkpoint, up to row {self._saved_row}, is whole: `perch add "
            f"{self._checkpoint[0]} ... --skip-rows {self._saved_row}` goes on from there)"
        )


def arriving(source: TextSource, n_rows: int, first_row: int, stop: Stop) -> Iterator[Batch | None]:
    """Batches of a stream as they come; None, some times a second, when none does.

    They are read in a thread of their own: a checkpoint need not wait for the next line. When a
    stop is asked for, what was read is still handed out, and then it ends.
    """
    ready: queue.Queue[Batch | BaseException | None] = queue.Queue(1)

    def read() -> None:
        try:
            for batch in source.batches(n_rows):
                ready.put(batch)
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        if stop.asked:
            source.finish()
        try:
            item = ready.get(timeout=_POLL)
        except queue.Empty:
            # The reader waits; it may have rows that it could not hand out before.
            yield from skip_rows(source.collected(), first_row)
            if stop.asked:
                return
            yield None
            continue
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return
        yield from skip_rows([item], first_row)


def refuse_bad(batch: Batch) -> None:
    """Name the first row that cannot be used, if there is one."""
    for problem in batch.bad:
        raise InputError(f"{problem.place} {problem.why}; --skip-bad skips such rows")


def only_texts(batch: Batch) -> bool:
    """Whether vectors can come from nothing but the texts."""
    return len(batch.X) > 0 and batch.X.shape[1] == 0 and "texts" in batch.companions


def fitting(collection: Collection, batch: Batch, *, update: bool = False) -> Batch:
    """The batch without rows that the collection cannot take, and with keys of its kind."""
    batch = batch.checked(cosine=collection.settings.is_cosine)
    if len(batch.X) == 0:
        return batch
    check_features(collection, batch)
    return fitting_keys(collection, batch, update=update)


def fitting_keys(collection: Collection, batch: Batch, *, update: bool = False) -> Batch:
    """The batch with keys of the collection's kind, and without rows whose keys it cannot take."""
    if batch.companions.get("keys") is None:
        if collection.has_keys:
            raise InputError(
                "the tree's points have ids: name the column with --id (in a .npy file there "
                "is none: use another kind of input)"
            )
        if update:
            raise InputError("name the column with ids, by --id: --update goes by them")
        return batch
    if len(collection) and not collection.has_keys:
        raise InputError("the tree's points have no ids: leave out --id, or fit again with it")
    batch = with_keys(batch, collection.records.kind)
    problems = dict(collection.records.key_problems(batch.companions["keys"], again=update))
    return batch.without({i: why.replace("keys", "ids") for i, why in problems.items()})


def check_features(collection: Collection, batch: Batch) -> None:
    """Reject a batch of another number of features, or without texts where vectors need them."""
    if collection.encoder is not None:
        if "texts" not in batch.companions or batch.X.shape[1]:
            raise InputError(
                f"the tree's vectors are made of texts, by the encoder "
                f"{name_of(collection.encoder)}: name their column by --text"
            )
        return
    if batch.X.shape[1] == 0:
        raise InputError("there are no columns left for features, and the tree encodes no texts")
    if len(collection) and batch.X.shape[1] != collection.tree.n_features:
        raise InputError(
            f"rows have {batch.X.shape[1]} features, the tree has {collection.tree.n_features}"
        )


def with_keys(batch: Batch, kind: type | None) -> Batch:
    """The batch with keys of one kind, numbers or texts, and without rows that have none such."""
    keys = batch.companions["keys"]
    first = next((key for key in keys if key is not None), "")
    kind = kind or (int if type(first) is int else str)
    own = [as_key(kind, key) for key in keys]
    problems = {}
    for i, key in enumerate(own):
        if key is None:
            whole = "ids of this tree are whole numbers" if kind is int else "not an id"
            empty = keys[i] is None or keys[i] == ""
            problems[i] = "has no id" if empty else f"has the id {keys[i]!r:.50}: {whole}"
    return batch._replace(companions=batch.companions | {"keys": own}).without(problems)


def keys_from_texts(collection: Collection, texts: Sequence[str]) -> list[Any]:
    """Keys as the collection has them, where ids are whole numbers that were given as texts."""
    kind = (collection.records.kind or str) if collection.has_keys else int
    keys = [as_key(kind, text) for text in texts]
    return [text if key is None else key for text, key in zip(texts, keys, strict=True)]


def as_key(kind: type, key: Any) -> Any:
    """Text formats have no numbers, others may have both: a key of the kind asked for, or None."""
    if key is None or key == "" or isinstance(key, bool):
        return None
    if type(key) is kind:
        return key
    if isinstance(key, float) and key.is_integer() and abs(key) < 2**53:
        key = int(key)
    if kind is int:
        whole = isinstance(key, str) and _WHOLE.fullmatch(key)
        return int(key) if whole or type(key) is int else None
    return str(key) if isinstance(key, int | str) else None
