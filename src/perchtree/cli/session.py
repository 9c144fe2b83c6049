"""A tree file at work: the model, and what belongs to its points."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..estimator import Perch
from ..files.trees import read_columns
from ..inputs.batches import Batch, InputError
from ..inputs.lines import Lines
from ..keys import Keys


class Session:
    """A model with the labels and texts of its points, and the file that it is saved to."""

    def __init__(
        self, path: str, model: Perch, labels: list[Any] | None = None, texts: Any = None
    ) -> None:
        self.path, self.model = path, model
        self._columns: dict[str, list[Any] | None] = {"labels": labels, "texts": texts}

    @classmethod
    def open(cls, path: str, n_jobs: int | None = None) -> "Session":
        """Load a file, verified in full."""
        model = Perch.load(path)
        if n_jobs is not None:
            model.set_params(n_jobs=n_jobs)
        columns = read_columns(path)
        labels, texts = (_as_list(columns.get(name)) for name in ("labels", "texts"))
        return cls(path, model, labels, texts)

    @property
    def n_points(self) -> int:
        return self.model.tree_.n_points if hasattr(self.model, "tree_") else 0

    @property
    def feature_names(self) -> list[str] | None:
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

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
        return len(self.model._known_keys()) > 0

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
        keys = batch.companions.get("keys")
        if keys is None:
            if len(known):
                raise InputError("the tree's points have ids: name the column with --id")
            return batch
        kind = known.kind or (int if type(keys[0]) is int else str)
        batch.companions["keys"] = keys = [_as_kind(kind, key) for key in keys]
        missing = {i: "has no id" for i, key in enumerate(keys) if key is None or key == ""}
        return batch.without(dict(known.problems(keys)) | missing)

    def add(self, batch: Batch, feature_names: list[str] | None) -> None:
        """Insert rows that were checked. An interruption leaves the first of them in the tree."""
        known = self.n_points
        for name in self._columns:
            self._expect(name, batch.companions.get(name), known, len(batch.X))
        try:
            with _names_not_needed():
                self.model.partial_fit(batch.X, keys=batch.companions.get("keys"))
        finally:
            if known == 0 and self.n_points and feature_names is not None:
                self.model.feature_names_in_ = np.array(feature_names, object)

    def nearest(self, X: Any) -> tuple[Any, Any]:
        """The nearest point of each row, and how far it is."""
        with _names_not_needed():
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
        labels, texts = self.labels, self.texts
        self.model.save(self.path, labels=_as_column(labels), texts=_as_column(texts))

    def export_columns(self, start: int, stop: int) -> dict[str, Any]:
        """What is known of some points: their ids, and labels and texts if there are any."""
        everything = {"id": self.ids, "label": self.labels, "text": self.texts}
        return {k: column[start:stop] for k, column in everything.items() if column is not None}


@contextlib.contextmanager
def _names_not_needed() -> Iterator[None]:
    """Columns were picked by name already: scikit-learn need not remind us of names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _as_list(column: Any) -> list[Any] | None:
    if column is None:
        return None
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _as_column(values: list[Any] | None) -> list[Any] | None:
    """Whole numbers if all are; otherwise texts, empty where there is no value."""
    if values is None or all(type(value) is int for value in values):
        return values
    return ["" if value is None else str(value) for value in values]


def _as_kind(kind: type, key: Any) -> Any:
    """Text formats have no numbers, and Parquet may have ids of other kinds: use the tree's."""
    if key is None or type(key) is kind:
        return key
    try:
        return kind(key)
    except ValueError:
        return key  # to be refused


def read_labels(path: str) -> Any:
    """Labels from a `.npy` file, or one a line of a text file."""
    if path.endswith(".npy"):
        labels = np.load(path, allow_pickle=False)
        if labels.ndim != 1:
            raise InputError(f"{path}: expected a 1-d array of labels, got {labels.ndim}-d")
        return labels
    return [line.rstrip("\r\n") for line in Lines(Path(path))]
