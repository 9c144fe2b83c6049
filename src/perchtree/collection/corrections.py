"""Corrections of pairs of records: that they belong together, or that they do not."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..clusters.following import NOTHING, Said

TOGETHER, APART = KINDS = ("together", "apart")

_MOST_SHOWN = 3
"""Names at each end of a long chain in a message."""


class Correction(NamedTuple):
    """A correction of two records."""

    kind: str
    """"together" or "apart"."""
    a: Any
    b: Any


class Corrections:
    """A consistent set of corrections of pairs of ids.

    Iterating over it gives each `Correction` once, in the order of its ids, the smaller first.
    """

    def __init__(self) -> None:
        self.changes = 0
        """A counter that grows with every change."""
        self._said: dict[str, dict[int, set[int]]] = {kind: {} for kind in KINDS}
        """For each kind, the other ids of the pairs that an id is in."""
        self._as_said = NOTHING
        self._groups: dict[int, list[int]] = {}
        """The group of each id: all ids it belongs together with, in one shared list."""

    def __len__(self) -> int:
        return sum(len(others) for said in self._said.values() for others in said.values()) // 2

    def __iter__(self) -> Iterator[Correction]:
        pairs = ((a, b, kind) for kind in KINDS for a, b in self._pairs(kind))
        return (Correction(kind, a, b) for a, b, kind in sorted(pairs))

    def pairs(self, kind: str) -> NDArray[np.int64]:
        """All pairs of a kind, as an array of shape (n, 2)."""
        return np.array(sorted(self._pairs(kind)), np.int64).reshape(-1, 2)

    def _pairs(self, kind: str) -> Iterator[tuple[int, int]]:
        return ((a, b) for a, others in self._said[kind].items() for b in others if a < b)

    @property
    def said(self) -> Said:
        """All corrections as arrays, cached until the next change."""
        if self._as_said.changes != self.changes:
            self._as_said = Said(self.pairs(TOGETHER), self.pairs(APART), self.changes)
        return self._as_said

    def about(self, ids: Iterable[int]) -> set[Correction]:
        """All corrections of some ids, the smaller id of each pair first."""
        return {
            Correction(kind, min(a, b), max(a, b))
            for kind, said in self._said.items()
            for a in ids
            for b in said.get(a, ())
        }

    # Changing

    def say(self, kind: str, a: int, b: int, name: Callable[[int], str] = str) -> None:
        """Add a correction; ValueError, and no change, if it contradicts existing ones.

        Adding the same correction again changes nothing. `name` gives the name of an id for
        messages.
        """
        if a == b:
            if kind == APART:
                raise ValueError(f"{name(a)} cannot be apart from itself")
            return
        if b in self._said[kind].get(a, ()):
            return
        chains = self._contradiction(kind, a, b)
        if chains:
            why = " != ".join(_shown([name(point_id) for point_id in chain]) for chain in chains)
            raise ValueError(f"{name(a)} and {name(b)} cannot be {kind}: {why}")
        self._add(kind, a, b)
        self.changes += 1

    def take_back(self, a: int, b: int, name: Callable[[int], str] = str) -> None:
        """Remove the correction of two ids; ValueError if there is none."""
        kind = next((kind for kind in KINDS if b in self._said[kind].get(a, ())), None)
        if kind is None:
            raise ValueError(f"nothing was said about {name(a)} and {name(b)}")
        self._remove(kind, a, b)
        self._regroup(self._groups.get(a, []) if kind == TOGETHER else [])
        self.changes += 1

    def drop(self, ids: Iterable[int]) -> None:
        """Remove all corrections of some ids."""
        gone = {i for i in ids if any(i in said for said in self._said.values())}
        touched = [other for i in gone for other in self._groups.get(i, [])]
        for kind, said in self._said.items():
            for a in gone & said.keys():
                for b in list(said.get(a, ())):
                    self._remove(kind, a, b)
        self._regroup(touched)
        self.changes += bool(gone)

    def moved(self, old: int, new: int) -> None:
        """Transfer the corrections of an old id, which is dropped, to a new one."""
        said = [(kind, other) for kind in KINDS for other in self._said[kind].get(old, ())]
        self.drop([old])
        for kind, other in said:
            self._add(kind, new, other)

    def _add(self, kind: str, a: int, b: int) -> None:
        for one, other in ((a, b), (b, a)):
            self._said[kind].setdefault(one, set()).add(other)
        small, large = sorted((self._group(a), self._group(b)), key=len)
        if kind == TOGETHER and small is not large:
            large += small
            self._groups.update(dict.fromkeys([a, b, *small], large))

    def _remove(self, kind: str, a: int, b: int) -> None:
        for one, other in ((a, b), (b, a)):
            self._said[kind][one].remove(other)
            if not self._said[kind][one]:
                del self._said[kind][one]

    def _group(self, point_id: int) -> list[int]:
        return self._groups.get(point_id) or [point_id]

    def _regroup(self, ids: list[int]) -> None:
        """Recompute the groups of ids after some of their corrections were removed."""
        for point_id in ids:
            self._groups.pop(point_id, None)
        for point_id in ids:
            if point_id in self._said[TOGETHER] and point_id not in self._groups:
                group = list(self._reached(point_id))
                self._groups.update(dict.fromkeys(group, group))

    # Contradictions

    def _contradiction(self, kind: str, a: int, b: int) -> list[list[int]] | None:
        """Explain why a new correction would be a contradiction; None if it is not.

        A chain of ids that are together, from one to the other, or two chains: the last id of the
        first and the first id of the second are apart.
        """
        one, other = self._group(a), self._group(b)
        if one is other or kind == APART:
            return [self._chain(a, b)] if one is other and kind == APART else None
        near, far = (a, b) if len(one) <= len(other) else (b, a)
        for x in self._group(near):
            for y in self._said[APART].get(x, ()):
                if y == far or self._groups.get(y) is self._groups.get(far, ()):
                    chains = [self._chain(near, x), self._chain(y, far)]
                    return chains if near == a else [chain[::-1] for chain in chains[::-1]]
        return None

    def _chain(self, a: int, b: int) -> list[int]:
        """A shortest chain of corrections from one id to another of its group."""
        came_from = self._reached(a)
        chain = [b]
        while chain[-1] != a:
            chain.append(came_from[chain[-1]])
        return chain[::-1]

    def _reached(self, start: int) -> dict[int, int]:
        """All ids in the group of an id, nearest first, each with the one before it."""
        came_from, at = {start: start}, [start]
        for point_id in at:
            for other in self._said[TOGETHER].get(point_id, ()):
                if other not in came_from:
                    came_from[other] = point_id
                    at.append(other)
        return came_from

    # Files and copies

    def columns(self, living: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """The corrections of existing ids as columns: a, b, and whether they are the same."""
        rows = np.array([(a, b, kind == TOGETHER) for kind, a, b in self], np.int64).reshape(-1, 3)
        rows = rows[np.isin(rows[:, :2], living).all(axis=1)]
        return dict(zip(("a", "b", "same"), rows.T, strict=True))

    @classmethod
    def restored(cls, columns: Mapping[str, Any], changes: Any, living: NDArray[np.int64]) -> Self:
        """Corrections from stored columns; ValueError if they are invalid."""
        a, b, same = (np.asarray(columns[name]) for name in ("a", "b", "same"))
        if not a.dtype == b.dtype == same.dtype == np.int64 or not a.shape == b.shape == same.shape:
            raise ValueError("half of a pair")
        if not (np.isin(a, living) & np.isin(b, living) & (a < b) & np.isin(same, (0, 1))).all():
            raise ValueError("pairs of records that are not there")
        if type(changes) is not int or not len(a) <= changes < 2**62:
            raise ValueError("another number of changes")
        corrections = cls()
        for one, other, are_same in zip(a.tolist(), b.tolist(), same.tolist(), strict=True):
            corrections.say(TOGETHER if are_same else APART, one, other)
        if corrections.changes != len(a):
            raise ValueError("the same pair again")
        corrections.changes = changes
        return corrections

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)()
        for kind, a, b in self:
            twin._add(kind, a, b)
        twin.changes = self.changes
        return twin


def _shown(names: list[str]) -> str:
    """A chain of names; a long one without its middle."""
    n_hidden = len(names) - 2 * _MOST_SHOWN
    if n_hidden > 1:
        names = [*names[:_MOST_SHOWN], f"... {n_hidden:,} more ...", *names[-_MOST_SHOWN:]]
    return " = ".join(names)
