"""What is known of points apart from their features: id -> key, text and class."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from .._validate import as_list
from ..clusters.names import Terms

Key = str | int

COLUMNS = ("keys", "texts", "classes")


class Records:
    """Columns by id. Ids beyond those that are in the tree may be staged, but are never seen:
    every question names the ids it is about.
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {}
        self._id_of: dict[Key, int] = {}
        """Made when it is needed, for the first `_n_mapped` ids."""
        self._n_mapped = 0
        self._terms = Terms()
        """The words of the first texts, as many as were asked for; in no file and no copy."""

    def __contains__(self, column: str) -> bool:
        return column in self._columns

    @property
    def kind(self) -> type | None:
        """Whether keys are str or int; None if there are none."""
        keys = reversed(self._columns.get("keys", []))  # the oldest may all be gone
        return next((type(key) for key in keys if key is not None), None)

    @property
    def n_keys(self) -> int:
        """How many keys there are, staged ones included."""
        return len(self._ids_by_key())

    # Adding

    def drop_from(self, first_id: int) -> None:
        """Forget what was staged from an id on, for points that an interrupted insert left out."""
        self.forget(range(first_id, len(self._columns.get("keys", []))))
        self._n_mapped = min(self._n_mapped, first_id)
        self._terms.shorten(first_id)
        if first_id == 0:
            self._columns = {}
        for column in self._columns.values():
            del column[first_id:]

    def checked(self, n_points: int, n_rows: int, **given: Any) -> dict[str, list[Any]]:
        """Columns for this many new rows; ValueError if one cannot be used. Nothing is added
        yet."""
        columns = as_columns(n_rows, **given)
        if "keys" in columns:
            if n_points and "keys" not in self:
                raise ValueError("earlier points have no keys: give none, or start anew with keys")
            for row, why in self.key_problems(columns["keys"]):
                raise ValueError(f"row {row} {why}")
        elif "keys" in self:
            raise ValueError("earlier points have keys: give keys for these rows as well")
        return columns

    def checked_again(self, keys: Any, n_rows: int) -> dict[str, list[Any]]:
        """Keys for this many rows, known and new ones; ValueError if one cannot be used."""
        if "keys" not in self:
            raise ValueError(
                "records without keys of their own cannot get other vectors, because their ids "
                "would change: remove them, and add others"
            )
        columns = as_columns(n_rows, keys=keys)
        for row, why in self.key_problems(columns["keys"], again=True):
            raise ValueError(f"row {row} {why}")
        return columns

    def runs(self, keys: list[Any] | None, n_rows: int) -> Iterator[slice]:
        """Rows in order, split so that one whose key is known by then stands alone."""
        start, known = 0, set(self._known(keys or []))
        for row, key in enumerate(keys or []):
            if key in known:
                if start < row:
                    yield slice(start, row)
                yield slice(row, row + 1)
                start = row + 1
            known.add(key)
        if start < n_rows:
            yield slice(start, n_rows)

    def key_problems(
        self, keys: Sequence[Any], *, again: bool = False
    ) -> Iterator[tuple[int, str]]:
        """Keys of rows that cannot be used, and why; with `again`, a key may come again."""
        kind: Any = self.kind or (type(keys[0]) if keys else None)
        seen: set[Key] = set()
        known = self._known(keys)
        for row, key in enumerate(keys):
            if type(key) is not kind or kind not in (str, int):
                yield row, f"has {key!r:.100}: keys must be all strings or all whole numbers"
            elif not again and (key in known or key in seen):
                yield row, f"has {key!r:.100} again: keys must be unique"
            elif kind is int and not -(2**63) <= key < 2**63:
                yield row, f"has {key!r:.100}: keys must fit 64 bits"
            elif kind is str and not _is_text(key):
                yield row, f"has {key!r:.100}, which cannot be saved as text"
            else:
                seen.add(key)

    def stage(self, first_id: int, n_rows: int, columns: dict[str, list[Any]]) -> None:
        """Keep columns of points that are about to be inserted, from `first_id` on."""
        self.drop_from(first_id)
        for name in {*self._columns, *columns}:
            column = self._columns.setdefault(name, [])
            column += [None] * (first_id - len(column))
            column += columns.get(name, [None] * n_rows)

    def forget(self, ids: Iterable[int]) -> None:
        """Erase what is known of removed points. Their keys can be used again."""
        keys = self._columns.get("keys", [])
        for point_id in ids:
            # After an update the key may be that of a later point.
            if point_id < len(keys) and self._id_of.get(keys[point_id]) == point_id:
                del self._id_of[keys[point_id]]
            for column in self._columns.values():
                if point_id < len(column):
                    column[point_id] = None
            if point_id < len(self._terms):
                self._terms.replace(point_id, None)

    def revise(self, ids: Iterable[int], columns: dict[str, list[Any]]) -> None:
        """Give points other values in some columns."""
        for name, values in columns.items():
            column = self._columns.setdefault(name, [])
            for point_id, value in zip(ids, values, strict=True):
                column += [None] * (point_id + 1 - len(column))
                column[point_id] = value
                if name == "texts" and point_id < len(self._terms):
                    self._terms.replace(point_id, value)

    def copy(self, ids: NDArray[np.int64]) -> "Records":
        """An independent copy of what is known of some points."""
        twin = Records()
        twin.restore(ids, self.row(ids))
        return twin

    def restore(self, ids: NDArray[np.int64], columns: dict[str, list[Any]]) -> None:
        """Take columns of points with these ids, which ascend."""
        for name, values in columns.items():
            column = [None] * (int(ids[-1]) + 1 if len(ids) else 0)
            for point_id, value in zip(ids.tolist(), values, strict=True):
                column[point_id] = value
            self._columns[name] = column

    # Asking

    def column(self, name: str, ids: NDArray[np.int64]) -> list[Any] | None:
        """Values of a column for some ids, None where there is none; None if all would be."""
        values = self.values(name, ids)
        return values if any(value is not None for value in values) else None

    def values(self, name: str, ids: NDArray[np.int64]) -> list[Any]:
        """Values of a column for some ids, None where there is none."""
        values = self._columns.get(name, [])
        if len(ids) <= len(values) and np.array_equal(ids, np.arange(len(ids))):
            return values[: len(ids)]  # more may be staged, meanwhile too
        return [values[i] if 0 <= i < len(values) else None for i in ids.tolist()]

    def terms(self, next_id: int) -> Terms:
        """The words of all texts, by ids below this one; only those of new texts are looked for."""
        new = np.arange(len(self._terms), next_id)
        self._terms.extend(self.values("texts", new))
        return self._terms

    def row(self, ids: NDArray[np.int64]) -> dict[str, list[Any]]:
        """All that is known of some points, by column."""
        return {name: self.values(name, ids) for name in self._columns}

    def keys(self, ids: NDArray[np.int64]) -> NDArray[Any]:
        """Keys as an array, of int64 or of str objects; without keys, ids are the keys."""
        if "keys" not in self:
            return ids
        keys = self.values("keys", ids.ravel())
        if None in keys:
            raise self._without_keys()
        dtype = np.int64 if self.kind is int else object
        return np.array(keys, dtype).reshape(ids.shape)

    def _without_keys(self) -> ValueError:
        return ValueError(
            "some points have no keys: they were inserted into the tree itself; add them to the "
            "collection, with keys"
        )

    def find(self, keys: Any) -> NDArray[np.int64]:
        """The ids that have these keys; NONE where there is none.

        Without keys, ids are the keys: any whole number is its own id, whether or not it exists.
        """
        wanted = as_column("keys", keys)
        if "keys" in self:
            known = self._known(wanted)
            return np.array([_found(key, known) for key in wanted], np.int64)
        if all(type(key) is int for key in wanted):
            limit = 2**63
            return np.array([key if abs(key) < limit else NONE for key in wanted], np.int64)
        raise ValueError("the points have no keys: use their ids, which are whole numbers")

    def _known(self, keys: Sequence[Any]) -> dict[Key, int]:
        """The ids of those of the keys that are known, and perhaps of others."""
        return self._ids_by_key()

    def _ids_by_key(self) -> dict[Key, int]:
        """It has the keys of all ids below `_n_mapped`: an interruption leaves it right."""
        keys = self._columns.get("keys", [])
        while self._n_mapped < len(keys):
            key = keys[self._n_mapped]
            if key is not None:
                self._id_of[key] = self._n_mapped
            self._n_mapped += 1
        return self._id_of


def _found(key: Any, known: dict[Key, int]) -> int:
    try:
        return known.get(key, NONE)
    except TypeError:  # a list, say
        return NONE


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def as_columns(n_rows: int, **given: Any) -> dict[str, list[Any]]:
    """The given columns, for this many rows, as lists."""
    return {
        name: as_column(name, values, n_rows)
        for name, values in given.items()
        if values is not None
    }


def as_column(name: str, values: Any, n_rows: int | None = None) -> list[Any]:
    """A column as a list of plain Python objects."""
    dimensions = getattr(values, "ndim", 1)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__") or dimensions != 1:
        raise ValueError(f"{name} must be a list or an array, got {values!r:.100}")
    if getattr(getattr(values, "dtype", None), "kind", "") in ("M", "m"):
        raise ValueError(f"{name} must be strings or numbers, not dates: {name}.astype(str)")
    if n_rows is not None and len(values) != n_rows:
        raise ValueError(f"{len(values)} {name} for {n_rows} rows")
    return as_list(values)
