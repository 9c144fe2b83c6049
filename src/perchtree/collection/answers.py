"""Answers about pairs of records; they may contradict each other."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class Answer(NamedTuple):
    """Answers about two records."""

    a: Any
    b: Any
    same: bool | None
    """None if unknown."""


class Kept(NamedTuple):
    """An answer about two ids, the smaller first, with its place in the order of answers."""

    a: int
    b: int
    same: bool | None
    place: int


class Answers:
    """Answers about pairs of ids, of which the last about a pair counts.

    Iterating over it gives each answer once, in the order in which they were given.
    """

    def __init__(self) -> None:
        self.changes = 0
        """A counter that grows with every change."""
        self._said: dict[int, dict[int, Kept]] = {}
        """The answers that an id is in, by the other id."""
        self._next = 0

    def __len__(self) -> int:
        return sum(map(len, self._said.values())) // 2

    def __iter__(self) -> Iterator[Kept]:
        return iter(self.about(self._said))

    def about(self, ids: Iterable[int]) -> list[Kept]:
        """All answers about some ids, in order."""
        found = {kept for point_id in ids for kept in self._said.get(point_id, {}).values()}
        return sorted(found, key=lambda kept: kept.place)

    # Changing

    def say(self, a: int, b: int, same: bool | None) -> None:
        """Store an answer; the same answer again changes nothing."""
        known = self._said.get(a, {}).get(b)
        if known is None or known.same is not same:
            self._put(Kept(min(a, b), max(a, b), same, self._next))
            self.changes += 1

    def take_back(self, a: int, b: int) -> None:
        """Forget the answer about two ids, if there is one."""
        if b in self._said.get(a, {}):
            self._remove(a, b)
            self.changes += 1

    def drop(self, ids: Iterable[int]) -> None:
        """Forget all answers about some ids."""
        gone = self.about(ids)
        for kept in gone:
            self._remove(kept.a, kept.b)
        self.changes += bool(gone)

    def moved(self, old: int, new: int) -> None:
        """Let answers about an old id, which is dropped, be about a new one."""
        said = self.about([old])
        self.drop([old])
        for kept in said:
            other = kept.b if kept.a == old else kept.a
            self._put(kept._replace(a=min(other, new), b=max(other, new)))

    def _put(self, kept: Kept) -> None:
        self._said.setdefault(kept.a, {})[kept.b] = kept
        self._said.setdefault(kept.b, {})[kept.a] = kept
        self._next = max(self._next, kept.place + 1)

    def _remove(self, a: int, b: int) -> None:
        for one, other in ((a, b), (b, a)):
            del self._said[one][other]
            if not self._said[one]:
                del self._said[one]

    # Files and copies

    def columns(self, living: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Answers about living ids as columns: a, b, same (-1 if unknown), place."""
        rows = np.array([(a, b, _stored(same), place) for a, b, same, place in self], np.int64)
        rows = rows.reshape(-1, 4)
        rows = rows[np.isin(rows[:, :2], living).all(axis=1)]
        return dict(zip(("a", "b", "same", "place"), rows.T, strict=True))

    @classmethod
    def restored(cls, columns: Mapping[str, Any], changes: Any, living: NDArray[np.int64]) -> Self:
        """The answers that were stored; ValueError if something about them is wrong."""
        a, b, same, place = (np.asarray(columns[name]) for name in ("a", "b", "same", "place"))
        if {column.dtype for column in (a, b, same, place)} != {np.dtype(np.int64)}:
            raise ValueError("answers that are no numbers")
        if not a.shape == b.shape == same.shape == place.shape:
            raise ValueError("half of an answer")
        there = np.isin(a, living) & np.isin(b, living)
        if not (there & (a < b) & np.isin(same, (-1, 0, 1))).all():
            raise ValueError("answers about records that are not there")
        if len(np.unique(place)) < len(a) or (place < 0).any():
            raise ValueError("answers in no order")
        if type(changes) is not int or not len(a) <= changes < 2**62:
            raise ValueError("another number of changes")
        answers = cls()
        for one, other, said, own in zip(*(c.tolist() for c in (a, b, same, place)), strict=True):
            answers._put(Kept(one, other, None if said < 0 else bool(said), own))
        if len(answers) != len(a):
            raise ValueError("the same pair again")
        answers.changes = changes
        return answers

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)()
        for kept in self:
            twin._put(kept)
        twin.changes = self.changes
        return twin


def _stored(same: bool | None) -> int:
    return -1 if same is None else int(same)
