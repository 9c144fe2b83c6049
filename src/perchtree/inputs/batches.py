"""What every kind of input yields: batches of rows, with their ids, classes and texts."""

import difflib
import fnmatch
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._validate import unusable_rows, why_unusable
from ..inert import MAX_NAME, short_list, short_name

COMPANIONS = ("keys", "classes", "texts")
"""What can come with the features of a row: its id, its true class, and a text about it."""

_SEPARATOR = ", "
"""Between the texts of one row."""

MAX_ROW = 2**26
"""Bytes of values in one row of an array or a table: 64 MB."""

MAX_BATCH = 2**28
"""Bytes of values and texts in one batch: 256 MB. Batches of wide rows have fewer of them."""


class InputError(ValueError):
    """Something is wrong with an input; the message says where and what to do."""


class Columns(NamedTuple):
    """The columns that the user has named; all others are features."""

    features: tuple[str, ...] = ()
    """Names or patterns."""
    keys: str | None = None
    classes: str | None = None
    texts: str | tuple[str, ...] = ()
    """One column, or several whose values are joined."""
    known: tuple[str, ...] = ()
    """The feature names of the tree to which the rows will be added."""
    only_texts: bool = False
    """Whether vectors are made of the texts, and other columns are left alone."""

    @property
    def are_named(self) -> bool:
        """Whether the user has named any column."""
        return self._replace(known=(), only_texts=False) != Columns()

    @property
    def named(self) -> dict[str, str]:
        """The names of the columns that are not features, by what they hold.

        Texts after the first are texts.1, texts.2, ...; `join_texts` makes one of them.
        """
        texts = (self.texts,) if isinstance(self.texts, str) else self.texts
        named = {"keys": self.keys, "classes": self.classes}
        named |= {f"texts.{place}" if place else "texts": name for place, name in enumerate(texts)}
        return {kind: name for kind, name in named.items() if name}

    def companions(self, names: Sequence[str]) -> dict[str, str]:
        """`named`, if there are such columns."""
        named = self.named
        for name in named.values():
            if name not in names:
                raise InputError(_no_column(name, names))
        return named

    def pick_features(self, names: Sequence[str]) -> list[str]:
        """The names of the feature columns, in the order asked for."""
        if self.only_texts:
            return []
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
        if not picked and self.texts and not self.known:
            return []  # vectors can be made of the texts
        if not picked:
            raise InputError("there are no columns left for features")
        return self._as_known(list(dict.fromkeys(picked)), names)

    def _as_known(self, picked: list[str], names: Sequence[str]) -> list[str]:
        """The features in the order of the tree; a single other column may hold lists."""
        if not self.known or (len(picked) == 1 and picked[0] not in self.known):
            return picked
        missing = set(self.known) - set(picked if self.features else names)
        if missing:
            first = next(name for name in self.known if name in missing)
            raise InputError(f"{_no_column(first, names)}; the tree has it as a feature")
        if self.features and len(picked) > len(self.known):
            more = next(name for name in picked if name not in self.known)
            raise InputError(
                f"the tree has no feature {short_name(more)}: leave it out of --features"
            )
        return list(self.known)


def _no_column(name: str, names: Sequence[str]) -> str:
    # Comparing takes time in proportion to the lengths: long names are not worth a guess.
    close = difflib.get_close_matches(name, [n for n in names if len(n) <= MAX_NAME], 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"there is no column {short_name(name)}{hint}; there are: {short_list(names)}"


def check_unique(names: Sequence[str]) -> None:
    """Reject columns if two have the same name."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InputError(f"two columns are called {short_name(twice[0])}: rename one")


def as_text(value: Any) -> Any:
    """Bytes as text; anything else as it is."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def join_texts(companions: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Companions with one text per row: if there were several, those that are not empty."""
    several = [name for name in companions if name.startswith("texts.")]
    if not several:
        return companions
    columns = [companions["texts"], *(companions[name] for name in several)]
    joined = [
        _SEPARATOR.join(str(text) for text in texts if text is not None and text != "")
        for texts in zip(*columns, strict=True)
    ]
    return {k: v for k, v in companions.items() if k not in several} | {"texts": joined}


def rows_that_fit(n_rows: int, row_bytes: int) -> int:
    """How many rows of that size a batch of at most `n_rows` rows can hold."""
    if row_bytes > MAX_ROW:
        raise InputError(
            f"one row takes {row_bytes:,} bytes, more than {MAX_ROW >> 20} MB: leave out columns, "
            "or reduce the dimension first"
        )
    return max(1, min(n_rows, MAX_BATCH // max(1, row_bytes)))


class Problem(NamedTuple):
    """A row that cannot be used."""

    row: int
    """Its number in the input, from 0."""
    place: str
    """Where a person would look for it: lines are counted from 1, rows from 0."""
    why: str


class Batch(NamedTuple):
    """Consecutive rows of an input, in order."""

    X: NDArray[Any]
    companions: dict[str, list[Any]]
    rows: NDArray[np.int64]
    """The number of each row in the input."""
    place: Callable[[int], str]
    """Where to look for a row, given its number."""
    bad: list[Problem]
    """The rows in this range that cannot be used."""
    done: int
    """How much of the input has been read, in the unit of `Source.size`."""

    def only(self, kept: NDArray[np.bool_]) -> "Batch":
        """This batch reduced to some of its rows."""
        places = np.flatnonzero(kept).tolist()
        return self._replace(
            X=self.X[kept],
            companions={k: [v[i] for i in places] for k, v in self.companions.items()},
            rows=self.rows[kept],
        )

    def without(self, problems: Mapping[int, str]) -> "Batch":
        """This batch with some rows moved to `bad`: their positions, and what is wrong."""
        if not problems:
            return self
        kept = np.ones(len(self.X), bool)
        kept[list(problems)] = False
        numbers = self.rows.tolist()
        found = [Problem(numbers[i], self.place(numbers[i]), why) for i, why in problems.items()]
        return self.only(kept)._replace(bad=sorted([*self.bad, *found]))

    def checked(self, *, cosine: bool) -> "Batch":
        """This batch with rows that no tree can take moved to `bad`."""
        if self.X.size == 0:
            return self
        unusable = np.flatnonzero(unusable_rows(self.X, cosine=cosine)).tolist()
        return self.without({i: why_unusable(self.X[i]) for i in unusable})


def numbered(row: int) -> str:
    """What errors call a row of an array."""
    return f"row {row}"


class Source(Protocol):
    """An input that was opened; only its beginning has been read."""

    name: str
    """What errors call it."""
    size: int | None
    """The size of the input, in rows or in bytes; None for a stream."""
    live: bool
    """Whether rows arrive over time."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, if they have any; known once a batch was read."""
        ...

    def batches(self, n_rows: int) -> Iterator[Batch]:
        """All rows, in batches of at most `n_rows` rows and about `MAX_BATCH` bytes."""
        ...


class File(NamedTuple):
    """One of the files that an input consists of."""

    name: str
    n_bytes: int
    time: int
    """When it was changed, in nanoseconds."""

    @classmethod
    def at(cls, path: Path) -> "File":
        found = path.stat()
        return cls(str(path), found.st_size, found.st_mtime_ns)


class Ranged(Source, Protocol):
    """An input of which any range of rows can be read, by anyone who opens it."""

    def files(self) -> list[File]:
        """The files with its rows, in their order."""
        ...

    def between(self, start: int, stop: int, n_rows: int) -> Iterator[Batch]:
        """Rows from `start` up to, but without, `stop`, in batches of at most `n_rows` rows."""
        ...

    def place(self, row: int) -> str:
        """Where a person would look for a row, given its number."""
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
    values: "array[float]"
    """Not a list, whose numbers would take four times the memory."""
    companions: list[Any]
    """Ids, classes and texts, as far as they were asked for, in the order of `COMPANIONS`."""
