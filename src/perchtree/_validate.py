"""Checks of what users pass in: it is accepted, or rejected with a clear error."""

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._aligned import aligned

MAX_NORM = 9e18
"""Rows of larger norm would overflow: squared distances are float32."""

MIN_NORM = 1e-18
"""If all rows have smaller norms, distances between them are mostly lost to underflow."""

_CHUNK_VALUES = 2**18
"""Values converted at a time, so that no second copy of the input is ever made."""


PROJECT_FIRST = "project it to some hundred dimensions first, by perchtree.encode.project(X)"


def as_rows(X: Any, n_features: int | None = None, *, cosine: bool = False) -> NDArray[Any]:
    """X as a 2-d numeric array, not converted or copied; ValueError if anything is wrong.

    This is the one place where rows are checked: everything below it trusts them.
    """
    rows = _as_numeric(X)
    if rows.ndim != 2:
        hint = "X.reshape(1, -1) makes one row of it" if rows.ndim == 1 else "one row per point"
        raise ValueError(f"expected a 2-d array, got {rows.ndim}-d: {hint}")
    if rows.shape[1] == 0:
        raise ValueError("expected at least one feature, got rows without any")
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(f"expected {n_features} features, got rows of {rows.shape[1]}")
    if rows.shape[0] == 0:
        raise ValueError("expected at least one row, got an empty array")
    largest = 0.0
    for start, stop in chunks(rows):
        part = rows[start:stop]
        if cosine:
            _refuse(unusable_rows(part, cosine=True), part, start)
            continue
        squared = _squared_norms(part)
        _refuse(~(squared <= MAX_NORM**2), part, start)
        largest = max(largest, float(squared.max()))
    if 0 < largest < MIN_NORM**2:
        warn_user(
            f"all norms are below {MIN_NORM:.0e}, where float32 squares underflow and distances "
            "vanish: rescale the data"
        )
    return rows


def warn_user(message: str) -> None:
    """Warn, and name the line of the caller's code that the warning is about, not one of ours."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "perchtree"


def as_points(rows: NDArray[Any], *, cosine: bool) -> NDArray[np.float32]:
    """Checked rows as kernels take them: writable, contiguous float32; normalised for cosine."""
    points = aligned(rows.shape)
    points[:] = as_directions(rows) if cosine else rows
    return points


def as_directions(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Checked rows scaled to a norm of one, for cosine distances."""
    rows = rows / np.abs(rows).max(axis=1, keepdims=True).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)  # of squares that are neither huge nor tiny
    return rows


def unusable_rows(rows: NDArray[Any], *, cosine: bool) -> NDArray[np.bool_]:
    """Which rows cannot be inserted; `why_unusable` says why."""
    if cosine:
        largest: NDArray[Any] = np.abs(rows.astype(np.float64)).max(axis=1)
        return ~np.asarray((largest > 0) & np.isfinite(largest))
    return ~(_squared_norms(rows) <= MAX_NORM**2)


def why_unusable(row: NDArray[Any]) -> str:
    """What is wrong with a row."""
    if np.isnan(row).any():
        return "contains NaN: drop the row or fill in the missing values"
    if np.isinf(row).any():
        return "contains infinity: drop the row or clip it"
    if not row.any():
        return "is all zeros, which has no direction: drop it, or use metric='euclidean'"
    return f"has a norm above {MAX_NORM:.0e}, where float32 squares overflow: rescale the data"


def _refuse(unusable: NDArray[np.bool_], rows: NDArray[Any], start: int) -> None:
    if unusable.any():
        row = int(unusable.argmax())
        raise ValueError(f"row {start + row} {why_unusable(rows[row])}")


def chunks(
    rows: NDArray[Any], most: int | None = None, values: int = _CHUNK_VALUES
) -> Iterator[tuple[int, int]]:
    """Ranges of rows, in order: about this many `values` each, and at most this many rows."""
    step = max(1, values // max(1, rows.shape[1]))
    if most is not None:
        step = min(step, most)
    for start in range(0, rows.shape[0], step):
        yield start, min(start + step, rows.shape[0])


def as_list(column: Any) -> list[Any]:
    """A column of any kind as a list of Python's own numbers and texts."""
    values = np.asarray(column).tolist() if hasattr(column, "dtype") else column
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix of SciPy, which need not be imported: if nobody has, X is
    none."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def _as_numeric(X: Any) -> NDArray[Any]:
    if is_sparse(X):
        raise ValueError(f"sparse input is not supported, boxes are dense: {PROJECT_FIRST}")
    if np.ma.is_masked(X):
        raise ValueError("masked values are not supported: drop those rows or fill them in")
    try:
        rows = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"expected a 2-d array of numbers: {error}") from None
    if rows.dtype.kind in "biuf":
        return rows
    if rows.dtype.kind == "O" and rows.ndim == 2:
        return _objects_as_numbers(rows)
    raise ValueError(
        f"expected numbers, got an array of {rows.dtype}: encode dates as numbers first, and texts "
        "by Collection(encoder='words').add(texts=...)"
    )


def _objects_as_numbers(rows: NDArray[Any]) -> NDArray[np.float64]:
    numbers = np.empty(rows.shape, np.float64)
    for index, row in enumerate(rows):
        try:
            numbers[index] = [float(value) for value in row]
        except (TypeError, ValueError):
            raise ValueError(
                f"row {index} holds something that is not a number: {list(row)!r:.200}; "
                "drop the row or fill it in"
            ) from None
    return numbers


def _squared_norms(rows: NDArray[Any]) -> NDArray[np.float64]:
    values = rows.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        norms: NDArray[np.float64] = np.einsum("ij,ij->i", values, values)
    return norms
