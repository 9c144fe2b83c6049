"""The caller's own ids for points: strings or whole numbers, each once."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._validate import as_list

Key = str | int


class Keys:
    """Keys in the order of the points."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys: list[Key] = list(keys)
        self._places: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def checked(self, keys: Any, n_rows: int) -> list[Key]:
        """New keys for so many rows, not added yet; ValueError if one cannot be used."""
        new = _as_keys(keys)
        if len(new) != n_rows:
            raise ValueError(f"{len(new)} keys for {n_rows} rows")
        for row, why in self.problems(new):
            raise ValueError(f"row {row} {why}")
        return new

    def problems(self, keys: Sequence[Any]) -> Iterator[tuple[int, str]]:
        """New keys that cannot be used, and why."""
        kind: Any = self.kind or type(keys[0])
        seen: set[Key] = set()
        known = self._place_of
        for row, key in enumerate(keys):
            if type(key) is not kind or kind not in (str, int):
                yield row, f"has {key!r}: keys must be all strings or all whole numbers"
            elif key in known or key in seen:
                yield row, f"has {key!r} again: keys must be unique"
            elif kind is int and not -(2**63) <= key < 2**63:
                yield row, f"has {key!r}: keys must fit 64 bits"
            elif kind is str and not _is_text(key):
                yield row, f"has {key!r}, which cannot be saved as text"
            else:
                seen.add(key)

    @property
    def kind(self) -> type | None:
        """Whether keys are str or int; None if there are none yet."""
        return type(self._keys[0]) if self._keys else None

    def checked_for(self, keys: Any, n_points: int, n_rows: int) -> list[Key]:
        """The same for rows that come after so many points: either all have keys or none."""
        if keys is None:
            if len(self) > 0:
                raise ValueError("earlier points have keys: give keys for these rows as well")
            return []
        if len(self) < n_points:
            raise ValueError("earlier points have no keys: give none, or fit again with keys")
        return self.checked(keys, n_rows)

    def expect(self, keys: Sequence[Key]) -> None:
        """Add keys of points about to be inserted; `trim` then takes back those that were not."""
        self._keys += keys

    def trim(self, n_points: int) -> None:
        for key in reversed(self._keys[n_points:]):
            self._places.pop(key, None)
        del self._keys[n_points:]

    @property
    def _place_of(self) -> dict[Key, int]:
        """Made when it is needed. It always has the first keys, in order: an interrupted change
        cannot leave it half done."""
        for place in range(len(self._places), len(self._keys)):
            self._places[self._keys[place]] = place
        return self._places

    def places(self, keys: Any) -> NDArray[np.int64]:
        """The points that have these keys."""
        try:
            return np.array([self._place_of[key] for key in _as_keys(keys)], np.int64)
        except KeyError as error:
            raise ValueError(f"there is no point with the key {error.args[0]!r}") from None

    def as_array(self) -> NDArray[Any]:
        """As int64, or as str objects."""
        if self._keys and isinstance(self._keys[0], int):
            return np.array(self._keys, np.int64)
        return np.array(self._keys, object)


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _as_keys(keys: Any) -> list[Any]:
    dimensions = getattr(keys, "ndim", 1)
    if isinstance(keys, str | bytes) or not hasattr(keys, "__len__") or dimensions != 1:
        raise ValueError(f"keys must be a list or an array, got {keys!r:.100}")
    if getattr(getattr(keys, "dtype", None), "kind", "") in ("M", "m"):
        raise ValueError("keys must be strings or whole numbers, not dates: keys.astype(str)")
    return as_list(keys)
