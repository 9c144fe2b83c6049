"""Where changes of a collection are recorded: nowhere, unless a folder keeps it."""

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE
from ..clusters.following import Change, Followed, Following
from .sharing import Addition


class Log:
    """Records nothing: a collection in memory is saved as a whole, when its owner says so.

    Changes are recorded right after they were made, while no other thread can make one.
    """

    def __init__(self) -> None:
        self.past: list[Change] = []
        """What has become of standing clusters, if memory keeps it."""

    def begin(self) -> None:
        """Refuse changes if they cannot be recorded."""

    def as_inserted(self, rows: NDArray[Any]) -> tuple[NDArray[Any], bool]:
        """Checked rows in the form in which they go into the tree; whether they are normalised."""
        return rows, False

    def pieces(self, rows: NDArray[Any]) -> Iterator[slice]:
        """How rows are split into operations, each of which is recorded on its own."""
        yield slice(0, len(rows))

    def turn(self, addition: Addition, *, alone: bool) -> AbstractContextManager[bool]:
        """Wait until this thread may make an addition, or another has made it: whether it may.

        With `alone` it may at once, and no other thread makes it.
        """
        return contextlib.nullcontext(True)

    def to_add_with(self, addition: Addition, *, alone: bool) -> list[Addition]:
        """Those of other threads that are to be made with an addition; none if it is alone."""
        return []

    def shared(self, operation: int) -> None:
        """An operation that another thread has recorded is also that of this thread."""

    def added(self, *points: NDArray[Any], replaced: int = NONE) -> list[int]:
        """These were the last points to go in, by one operation for each array; a single one
        perhaps in place of another. The numbers of the operations."""
        return [0] * len(points)

    def removed(self, ids: NDArray[np.int64]) -> None:
        """Points are gone."""

    def revised(self, ids: list[int]) -> None:
        """Records have other texts or classes."""

    def corrected(self, ids: Iterable[int]) -> None:
        """Something else is said about some records."""

    def answered(self, pairs: list[tuple[int, int]], same: list[bool | None] | None = None) -> None:
        """Something was answered about pairs of records; without `same`, it was taken back."""

    def refined(self, neighbors: int, n_parts: int) -> None:
        """The tree was refined, in so many parts of passes."""

    def noted(self) -> None:
        """Settings, notes or the encoder may have changed."""

    def followed(self, followed: Followed) -> None:
        """Standing clusters have changed, by the change that is recorded next."""
        self.past += followed.changes

    def unfollowed(self) -> None:
        """No clusters are kept up to date any longer."""
        self.past = []

    def events(self, since: int, most: int | None) -> list[Change]:
        """What has become of standing clusters after the event with this number."""
        first = self.past[0].number if self.past else 0
        start = max(0, since + 1 - first)
        return self.past[start : None if most is None else start + most]

    def last_event(self, following: Following) -> int:
        """The number of the last event that can be asked for."""
        return following.last_event

    def settle(self) -> None:
        """Return when all that was recorded is on disk."""
