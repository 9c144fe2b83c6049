"""What every kind of input yields: batches of rows, with what belongs to them."""

import difflib
import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._validate import unusable_rows, why_unusable

COMPANIONS = ("keys", "labels", "texts")
"""What can come with a row: its id, its class, what it is."""


class InputError(ValueError):
    """Something is wrong with an input; the message says where, and what to do."""


class Columns(NamedTuple):
    """Which columns are which, as far as the user has said; the others are features."""

    features: tuple[str, ...] = ()
    """Names or patterns."""
    keys: str | None = None
    labels: str | None = None
    texts: str | None = None
    known: tuple[str, ...] = ()
    """What the features of a tree are called, to which rows are to be added."""

    @property
    def are_named(self) -> bool:
        """Whether the user has named any column."""
        return self._replace(known=()) != Columns()

    def companions(self, names: Sequence[str]) -> dict[str, str]:
        """The columns that are no features: what they are for -> their name."""
        named = {kind: getattr(self, kind) for kind in COMPANIONS if getattr(self, kind)}
        for name in named.values():
            if name not in names:
                raise InputError(_no_column(name, names))
        return named

    def pick_features(self, names: Sequence[str]) -> list[str]:
        """Those of the columns that are features, in the order asked for."""
        others = set(self.companions(names).values())
        left = [name for name in names if name not in others]
        picked = left
        if self.features:
            picked = []
            everything = set(names)
            for wanted in self.features:
                found = [wanted] if wanted in everything else fnmatch.filter(left, wanted)
                if not found:
                    raise InputError(_no_column(wanted, names))
                picked += found
        if not picked:
            raise InputError("there are no columns left for features")
        return self._as_known(list(dict.fromkeys(picked)), names)

    def _as_known(self, picked: list[str], names: Sequence[str]) -> list[str]:
        """The tree's own features in their order; a single column may be one of lists."""
        if not self.known or (len(picked) == 1 and picked[0] not in self.known):
            return picked
        missing = set(self.known) - set(picked if self.features else names)
        if missing:
            first = next(name for name in self.known if name in missing)
            raise InputError(f"{_no_column(first, names)}; the tree has it as a feature")
        if self.features and len(picked) > len(self.known):
            more = next(name for name in picked if name not in self.known)
            raise InputError(f"the tree has no feature {more!r}: leave it out of --features")
        return list(self.known)


def _no_column(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    known = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"there is no column {name!r}{hint}; there are: {known}"


class Problem(NamedTuple):
    """A row that cannot be used."""

    row: int
    """Its number in the input, from 0."""
    place: str
    """What a person would look for: lines count from 1, rows from 0."""
    why: str


class Batch(NamedTuple):
    """Some rows, in order."""

    X: NDArray[Any]
    companions: dict[str, list[Any]]
    rows: NDArray[np.int64]
    """The number of each row in the input."""
    place: Callable[[int], str]
    """Where to look for a row, given its number."""
    bad: list[Problem]
    """Rows among these that could not be read."""
    done: int
    """How far into the input this is; see `Source.size`."""

    def only(self, kept: NDArray[np.bool_]) -> "Batch":
        """The same with some of the rows."""
        places = np.flatnonzero(kept).tolist()
        return self._replace(
            X=self.X[kept],
            companions={k: [v[i] for i in places] for k, v in self.companions.items()},
            rows=self.rows[kept],
        )

    def without(self, problems: Mapping[int, str]) -> "Batch":
        """Move rows to the bad ones, given their places in this batch and what is wrong."""
        if not problems:
            return self
        kept = np.ones(len(self.X), bool)
        kept[list(problems)] = False
        numbers = self.rows.tolist()
        found = [Problem(numbers[i], self.place(numbers[i]), why) for i, why in problems.items()]
        return self.only(kept)._replace(bad=sorted([*self.bad, *found]))

    def checked(self, *, cosine: bool) -> "Batch":
        """The same without rows that have values no tree takes."""
        if len(self.X) == 0:
            return self
        unusable = np.flatnonzero(unusable_rows(self.X, cosine=cosine)).tolist()
        return self.without({i: why_unusable(self.X[i]) for i in unusable})


def numbered(row: int) -> str:
    """The place of a row in an array."""
    return f"row {row}"


class Source(Protocol):
    """An input that was opened and understood; nothing but its beginning was read yet."""

    name: str
    """What errors call it."""
    size: int | None
    """How much there is, in rows or in bytes; None for a stream."""
    live: bool
    """Whether rows arrive as time goes by."""

    @property
    def feature_names(self) -> list[str] | None:
        """What the features are called, if they have names; known once a batch was read."""
        ...

    def batches(self, n_rows: int) -> Iterator[Batch]:
        """All rows, at most so many at a time."""
        ...


def skip_rows(batches: Iterable[Batch], first: int) -> Iterator[Batch]:
    """Leave out the first rows of an input."""
    for batch in batches:
        if len(batch.rows) and batch.rows[0] < first:
            batch = batch.only(batch.rows >= first)
        bad = [problem for problem in batch.bad if problem.row >= first]
        if len(batch.rows) or bad:
            yield batch._replace(bad=bad)


class Record(NamedTuple):
    """One row of a text input."""

    line: int
    values: list[float]
    companions: list[Any]
    """In the order of the columns that were asked for."""
