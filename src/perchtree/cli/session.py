"""A tree file at work: the model, and what belongs to its points."""

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from .._validate import as_list
from ..estimator import Perch
from ..files.trees import read_columns
from ..inputs.batches import Batch, InputError
from ..inputs.lines import Lines
from ..keys import Keys

_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")


class Session:
    """A model with the labels and texts of its points, and the file that it is saved to."""

    def __init__(
        self, path: str, model: Perch, labels: list[Any] | None = None, texts: Any = None
    ) -> None:
        self.path, self.model = path, model
        self._columns: dict[str, list[Any] | None] = {"labels": labels, "texts": texts}
        # Rows have their columns in order already; scikit-learn need not compare names.
        names = model.__dict__.pop("feature_names_in_", None)
        self.feature_names = None if names is None else [str(name) for name in names]
        # How this command runs is not part of the model.
        self._stored = {name: getattr(model, name) for name in ("n_jobs", "verbose")}
        model.verbose = 0
        self._lock: int | None = None

    @classmethod
    def open(cls, path: str, n_jobs: int | None = None, *, to_change: bool = False) -> "Session":
        """Load a file, verified in full; if it is `to_change`, nobody else may change it."""
        lock = _lock(path) if to_change else None
        try:
            model = Perch.load(path)
            columns = read_columns(path)
        except ValueError as error:
            if lock is not None:
                os.close(lock)
            raise type(error)(str(error) if path in str(error) else f"{path}: {error}") from None
        labels, texts = (
            None if columns.get(name) is None else as_list(columns[name])
            for name in ("labels", "texts")
        )
        session = cls(path, model, labels, texts)
        session._lock = lock
        if n_jobs is not None:
            model.set_params(n_jobs=n_jobs)
        return session

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def n_points(self) -> int:
        return self.model.tree_.n_points if hasattr(self.model, "tree_") else 0

    @property
    def labels(self) -> list[Any] | None:
        return self._trimmed("labels")

    @property
    def texts(self) -> list[Any] | None:
        return self._trimmed("texts")

    @property
    def ids(self) -> Any:
        """The user's own ids of the points, or their numbers."""
        return self.model.keys_ if self.has_keys else np.arange(self.n_points)

    @property
    def has_keys(self) -> bool:
        return self.n_points > 0 and len(self.model._known_keys()) > 0

    def _trimmed(self, name: str) -> list[Any] | None:
        """After an interruption there may be more entries than points."""
        column = self._columns[name]
        if column is not None:
            del column[self.n_points :]
        return column

    def checked(self, batch: Batch) -> Batch:
        """The batch without rows that this tree cannot take, and with ids of the tree's kind."""
        batch = batch.checked(cosine=self.model.metric == "cosine")
        if len(batch.X) == 0:
            return batch
        if self.n_points and batch.X.shape[1] != self.model.n_features_in_:
            raise InputError(
                f"rows have {batch.X.shape[1]} features, the tree has {self.model.n_features_in_}"
            )
        known = self.model._known_keys() if self.n_points else Keys()
        if batch.companions.get("keys") is None:
            if len(known):
                raise InputError(
                    "the tree's points have ids: name the column with --id (in a .npy file there "
                    "is none: use another kind of input)"
                )
            return batch
        if self.n_points and len(known) == 0:
            raise InputError("the tree's points have no ids: leave out --id, or fit again with it")
        batch = with_ids(batch, known.kind)
        problems = dict(known.problems(batch.companions["keys"])) if len(batch.X) else {}
        return batch.without({i: why.replace("keys", "ids") for i, why in problems.items()})

    def add(self, batch: Batch, feature_names: list[str] | None) -> None:
        """Insert rows that were checked. An interruption leaves the first of them in the tree."""
        known = self.n_points
        for name, kind in (("labels", "classes"), ("texts", "texts")):
            self._expect(name, batch.companions.get(kind), known, len(batch.X))
        if known == 0:
            self.feature_names = feature_names
        self.model.partial_fit(batch.X, keys=batch.companions.get("keys"))

    def nearest(self, X: Any) -> tuple[Any, Any]:
        """The nearest point of each row, and how far it is."""
        ids, distances = self.model.nearest(X)
        return ids[:, 0], distances[:, 0]

    def _expect(self, name: str, values: list[Any] | None, known: int, n_rows: int) -> None:
        """Keep labels or texts of rows about to be inserted; where there are none, None."""
        column = self._trimmed(name)
        if column is None:
            if values is None:
                return
            column = self._columns[name] = [None] * known
        column += [None] * n_rows if values is None else values

    def save(self) -> None:
        """Save to the file, safely."""
        model, labels, texts = self.model, self.labels, self.texts
        now = {name: getattr(model, name) for name in self._stored}
        model.set_params(**self._stored)
        if self.feature_names is not None:
            model.feature_names_in_ = np.array(self.feature_names, object)
        try:
            model.save(self.path, labels=_without_gaps(labels), texts=_without_gaps(texts))
        finally:
            model.__dict__.pop("feature_names_in_", None)
            model.set_params(**now)
        if self._lock is not None:  # the file is another one now
            os.close(self._lock)
            self._lock = _lock(self.path)

    def table(self) -> dict[str, Any]:
        """What is known of the points: their ids, and labels and texts if there are any."""
        everything = {"id": self.ids, "label": self.labels, "text": self.texts}
        return {name: column for name, column in everything.items() if column is not None}


def with_ids(batch: Batch, kind: type | None) -> Batch:
    """The batch with ids of one kind, numbers or texts, and without rows that have none such."""
    keys = batch.companions["keys"]
    first = next((key for key in keys if key is not None), "")
    kind = kind or (int if type(first) is int else str)
    ids = [_as_id(kind, key) for key in keys]
    problems = {}
    for i, key in enumerate(ids):
        if key is None:
            whole = "ids of this tree are whole numbers" if kind is int else "not an id"
            empty = keys[i] is None or keys[i] == ""
            problems[i] = "has no id" if empty else f"has the id {keys[i]!r:.50}: {whole}"
    batch.companions["keys"] = ids
    return batch.without(problems)


def _as_id(kind: type, key: Any) -> Any:
    """Text formats have no numbers, others may have both: an id of the kind asked for, or None."""
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


def _without_gaps(values: list[Any] | None) -> list[Any] | None:
    """Where some have no value, all are texts, and those are empty."""
    if values is None or None not in values:
        return values
    return ["" if value is None else str(value) for value in values]


def _lock(path: str) -> int | None:
    """Keep other commands from changing a file; held until the process ends."""
    with contextlib.suppress(ImportError):  # not on every system
        import fcntl

        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(f"{path} is being changed by another process: try later") from None
        except OSError:  # a file system without locks
            os.close(descriptor)
            return None
        return descriptor
    return None


def read_labels(path: str) -> Any:
    """Labels from a `.npy` file, or one a line of a text file."""
    if path.endswith(".npy"):
        labels = np.load(path, allow_pickle=False)
        if labels.ndim != 1:
            raise InputError(f"{path}: expected a 1-d array of labels, got {labels.ndim}-d")
        return labels
    return [line.rstrip("\r\n") for line in Lines(Path(path))]
