"""What is known of points beside their features: id -> key, text and class."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validate import as_list

Key = str | int

COLUMNS = ("keys", "texts", "classes")


class Records:
    """Columns by id. Ids beyond those that are in the tree may be staged, but are never seen:
    every question names the ids it is about.
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {}
        self._id_of: dict[Key, int] = {}
        """Made when it is needed, for the first ids up to some place."""

    def __contains__(self, column: str) -> bool:
        return column in self._columns

    @property
    def kind(self) -> type | None:
        """Whether keys are str or int; None if there are none."""
        keys = self._columns.get("keys", [])
        return next((type(key) for key in keys if key is not None), None)

    # Adding

    def drop_from(self, first_id: int) -> None:
        """Forget what was staged from an id on, for points that an interrupted insert left out."""
        for key in reversed(self._columns.get("keys", [])[first_id:]):
            self._id_of.pop(key, None)
        if first_id == 0:
            self._columns = {}
        for column in self._columns.values():
            del column[first_id:]

    def checked(self, n_points: int, n_rows: int, **given: Any) -> dict[str, list[Any]]:
        """Columns for so many new rows; ValueError if one cannot be used. Nothing is added yet."""
        columns = {
            name: _as_column(name, values, n_rows)
            for name, values in given.items()
            if values is not None
        }
        if "keys" in columns:
            if n_points and "keys" not in self:
                raise ValueError("earlier points have no keys: give none, or start anew with keys")
            for row, why in self.key_problems(columns["keys"]):
                raise ValueError(f"row {row} {why}")
        elif "keys" in self:
            raise ValueError("earlier points have keys: give keys for these rows as well")
        return columns

    def key_problems(self, keys: Sequence[Any]) -> Iterator[tuple[int, str]]:
        """New keys that cannot be used, and why."""
        kind: Any = self.kind or (type(keys[0]) if keys else None)
        seen: set[Key] = set()
        known = self._ids_by_key()
        for row, key in enumerate(keys):
            if type(key) is not kind or kind not in (str, int):
                yield row, f"has {key!r:.100}: keys must be all strings or all whole numbers"
            elif key in known or key in seen:
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

    def copy(self) -> "Records":
        """An independent copy."""
        twin = Records()
        twin._columns = {name: list(column) for name, column in self._columns.items()}
        return twin

    # Asking

    def column(self, name: str, ids: NDArray[np.int64]) -> list[Any] | None:
        """Values of a column for some ids, None where there is none; None if all would be."""
        values = self._values(name, ids)
        return values if any(value is not None for value in values) else None

    def _values(self, name: str, ids: NDArray[np.int64]) -> list[Any]:
        values = self._columns.get(name, [])
        if len(ids) <= len(values) and np.array_equal(ids, np.arange(len(ids))):
            return values[: len(ids)]  # more may be staged, meanwhile too
        return [values[i] if i < len(values) else None for i in ids.tolist()]

    def keys(self, ids: NDArray[np.int64]) -> NDArray[Any]:
        """Keys as an array, of int64 or of str objects; without keys, ids are the keys."""
        if "keys" not in self:
            return ids
        keys = self._values("keys", ids.ravel())
        if None in keys:
            raise ValueError(
                "some points have no keys: they were inserted into the tree itself; add them to "
                "the collection, with keys"
            )
        dtype = np.int64 if self.kind is int else object
        return np.array(keys, dtype).reshape(ids.shape)

    def ids_of(self, keys: Any) -> NDArray[np.int64]:
        """The ids that have these keys; ValueError names the first that is unknown."""
        wanted = _as_column("keys", keys)
        if "keys" not in self:
            if all(type(key) is int for key in wanted):
                return np.array(wanted, np.int64)
            raise ValueError("the points have no keys: use their ids, which are whole numbers")
        known = self._ids_by_key()
        try:
            return np.array([known[key] for key in wanted], np.int64)
        except (KeyError, TypeError):
            unknown = next(key for key in wanted if _is_unknown(key, known))
            raise ValueError(f"there is no point with the key {unknown!r:.100}") from None

    def _ids_by_key(self) -> dict[Key, int]:
        """It always has the first keys, in order: an interruption cannot leave it half done.

        Where ids have gaps, it is shorter than the ids it covers, and the last ones are met again.
        """
        keys = self._columns.get("keys", [])
        for point_id in range(len(self._id_of), len(keys)):
            if keys[point_id] is not None:
                self._id_of[keys[point_id]] = point_id
        return self._id_of


def _is_unknown(key: Any, known: dict[Key, int]) -> bool:
    try:
        return key not in known
    except TypeError:  # a list, say
        return True


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _as_column(name: str, values: Any, n_rows: int | None = None) -> list[Any]:
    """A column as a list of plain Python objects."""
    dimensions = getattr(values, "ndim", 1)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__") or dimensions != 1:
        raise ValueError(f"{name} must be a list or an array, got {values!r:.100}")
    if getattr(getattr(values, "dtype", None), "kind", "") in ("M", "m"):
        raise ValueError(f"{name} must be strings or numbers, not dates: {name}.astype(str)")
    if n_rows is not None and len(values) != n_rows:
        raise ValueError(f"{len(values)} {name} for {n_rows} rows")
    return as_list(values)
