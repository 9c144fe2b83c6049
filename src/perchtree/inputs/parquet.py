"""Parquet files, and folders of them in the order of their names, read by pyarrow."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inert import inert_line, short_name
from .batches import (
    Batch,
    Columns,
    File,
    InputError,
    as_text,
    check_unique,
    join_texts,
    numbered,
    rows_that_fit,
)
from .stores import Store


def load_pyarrow() -> Any:
    """Import pyarrow, or raise an error that says how to install it."""
    try:
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'perchtree[parquet]'") from None
    return pyarrow


class Parquet:
    """Tables with one column per feature, or with one column of lists."""

    live = False

    def __init__(self, path: Path | str, columns: Columns) -> None:
        self._pa = load_pyarrow()
        self.name = str(path)
        self._store = None if isinstance(path, Path) else Store(path)
        self._root: PurePath = Path(path) if self._store is None else self._store.place
        files = self._listed()
        if not files:
            raise InputError("there are no .parquet files in this folder")
        counts = list(map(self._count_rows, files))
        self.size: int | None = sum(counts)
        starts = itertools.accumulate(counts, initial=0)
        self._counted = list(zip(files, starts, counts, strict=False))
        """Each file, the number of its first row, and how many it has."""
        with self._open(files[0]) as opened:
            schema = opened.schema_arrow
        check_unique(schema.names)
        self._companions = columns.companions(schema.names)
        self._features = columns.pick_features(schema.names)
        self._of_lists = len(self._features) == 1 and self._is_list(schema.field(self._features[0]))
        self.feature_names = None if self._of_lists else self._features
        self.n_features: int | None = None
        """How long lists are, once one was read or somebody has said so."""

    def _open(self, file: PurePath) -> Any:
        try:
            if self._store is not None:
                return self._pa.parquet.ParquetFile(self._store.open(file))
            return self._pa.parquet.ParquetFile(file, memory_map=True)
        except (self._pa.ArrowException, OSError) as error:
            raise InputError(
                f"{self._shown(file)} cannot be read: {inert_line(error, 200)}"
            ) from None

    def _shown(self, file: PurePath) -> str:
        """What errors call a file; in a folder, its path from there."""
        return "it" if file == self._root else str(file.relative_to(self._root))

    def _count_rows(self, file: PurePath) -> int:
        with self._open(file) as opened:
            return int(opened.metadata.num_rows)

    def _is_list(self, field: Any) -> bool:
        types = self._pa.types
        kind = field.type
        return bool(
            types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        )

    def files(self) -> list[File]:
        if self._store is not None:
            return self._store.files()
        return [File.at(Path(file)) for file in self._listed()]

    def _listed(self) -> list[PurePath]:
        """The files that are there now."""
        if self._store is not None:
            return [PurePosixPath(file.name) for file in self._store.files()]
        root = Path(self._root)
        return [*sorted(root.rglob("*.parquet"))] if root.is_dir() else [root]

    def batches(self, n_rows: int) -> Iterator[Batch]:
        return self.between(0, self.size or 0, n_rows)

    def between(self, start: int, stop: int, n_rows: int) -> Iterator[Batch]:
        wanted = list(dict.fromkeys([*self._features, *self._companions.values()]))
        for file, first, n_here in self._counted:
            if first + n_here <= start or stop <= first:
                continue
            with self._open(file) as opened:
                missing = set(wanted) - set(opened.schema_arrow.names)
                if missing:
                    raise InputError(
                        f"{self._shown(file)} has no column {short_name(min(missing))}"
                    )
                place = self._place_in(file, first)
                try:
                    for at, table in self._tables(
                        opened, start - first, stop - first, n_rows, wanted
                    ):
                        yield self._as_batch(table, first + at, place)
                except (self._pa.ArrowException, OSError) as error:
                    raise InputError(
                        f"{self._shown(file)} is damaged: {inert_line(error, 200)}"
                    ) from None

    def _tables(
        self, opened: Any, start: int, stop: int, n_rows: int, wanted: list[str]
    ) -> Iterator[tuple[int, Any]]:
        """Rows of one file, from `start` to `stop`; row groups outside of that are not read."""
        meta = opened.metadata
        lengths = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
        ends = np.cumsum(lengths)
        groups = np.flatnonzero((ends > start) & (ends - lengths < stop)).tolist()
        if not groups:
            return
        at = int(ends[groups[0]]) - lengths[groups[0]]
        n_rows_here = rows_that_fit(n_rows, self._largest_row(opened))
        for table in opened.iter_batches(n_rows_here, row_groups=groups, columns=wanted):
            begin, end = max(at, start), min(at + len(table), stop)
            if begin < end:
                yield begin, table.slice(begin - at, end - begin)
            at += len(table)
            if at >= stop:
                return

    @property
    def largest_group(self) -> int:
        """Rows of the largest row group: what must be read to have any of its rows."""
        largest = 1
        for file, _, _ in self._counted:
            with self._open(file) as opened:
                meta = opened.metadata
                groups = map(meta.row_group, range(meta.num_row_groups))
                largest = max([largest, *(group.num_rows for group in groups)])
        return largest

    def _largest_row(self, opened: Any) -> int:
        """Bytes of the features in one row: the largest mean of any row group.

        Only the file's own statistics tell how long lists are before they are read.
        """
        if not self._of_lists:
            return 8 * len(self._features)
        meta = opened.metadata
        largest = 1.0
        for group in map(meta.row_group, range(meta.num_row_groups)):
            for column in map(group.column, range(group.num_columns)):
                if column.path_in_schema.startswith(f"{self._features[0]}.") and group.num_rows:
                    largest = max(largest, column.num_values / group.num_rows)
        return int(8 * largest)

    def place(self, row: int) -> str:
        for file, first, n_here in self._counted:
            if first <= row < first + n_here:
                return self._place_in(file, first)(row)
        return numbered(row)

    def _place_in(self, file: PurePath, first: int) -> Callable[[int], str]:
        prefix = "" if file == self._root else f"{self._shown(file)}, "
        return lambda row: f"{prefix}row {row - first}"

    def _as_batch(self, table: Any, start: int, place: Callable[[int], str]) -> Batch:
        read = self._read_lists if self._of_lists else self._read_columns
        X, problems = read(table)
        rows = np.arange(start, start + len(table))
        companions = {
            kind: [as_text(value) for value in table[name].to_pylist()]
            for kind, name in self._companions.items()
        }
        batch = Batch(X, join_texts(companions), rows, place, [], start + len(table))
        return batch.without(problems)

    def _read_columns(self, table: Any) -> tuple[NDArray[Any], dict[int, str]]:
        problems: dict[int, str] = {}
        X: NDArray[Any] | None = None
        for place, name in enumerate(self._features):
            column = table[name]
            if column.null_count:
                for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
                    problems.setdefault(row, f"column {short_name(name)} has no value: fill it in")
            values = self._as_numbers(column, name)
            if X is None:
                X = np.empty((len(table), len(self._features)), values.dtype)
            if X.dtype != np.result_type(X.dtype, values.dtype):
                X = X.astype(np.result_type(X.dtype, values.dtype))
            X[:, place] = values
        return np.empty((len(table), 0)) if X is None else X, problems

    def _read_lists(self, table: Any) -> tuple[NDArray[Any], dict[int, str]]:
        name = self._features[0]
        column = table[name]
        lengths = self._pa.compute.list_value_length(column).fill_null(-1).to_numpy()
        if self.n_features is None:
            known = lengths[lengths > 0]
            self.n_features = int(known[0]) if len(known) else None
        d = self.n_features or 1
        problems = {}
        for row in np.flatnonzero(lengths != d).tolist():
            found = "no list" if lengths[row] < 0 else f"a list of {lengths[row]}"
            problems[row] = f"column {short_name(name)} has {found} instead of a list of {d}"
        X = np.full((len(table), d), np.nan)
        if problems:
            column = column.filter(self._pa.array(lengths == d))
        flat = column.flatten()
        values = self._as_numbers(flat, name).reshape(-1, d)
        if not problems:
            X = values
        else:
            X[lengths == d] = values
        if flat.null_count:
            empty = flat.is_null().to_numpy(zero_copy_only=False).reshape(-1, d).any(axis=1)
            for row in np.flatnonzero(lengths == d)[empty].tolist():
                problems[row] = (
                    f"column {short_name(name)} has a list with an empty place: fill it in"
                )
        return X, dict(sorted(problems.items()))

    def _as_numbers(self, column: Any, name: str) -> NDArray[Any]:
        types = self._pa.types
        kind = column.type
        if types.is_decimal(kind) or types.is_boolean(kind):
            column = column.cast(self._pa.float64())
        elif not (types.is_integer(kind) or types.is_floating(kind)):
            raise InputError(
                f"column {short_name(name)} is {kind}, not numbers; choose the columns with "
                "--features, name this one with --id, --class or --text, or use only texts with "
                "--encode"
            )
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
