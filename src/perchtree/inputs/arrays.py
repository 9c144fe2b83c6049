"""NumPy's files: `.npy`, memory-mapped, and `.npz`, read piece by piece."""

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .batches import Batch, Columns, InputError, numbered

_PIECE = 2**20


class NpyFile:
    """Rows of a 2-d array in a `.npy` file, in their order or in a random one."""

    live = False
    feature_names = None

    def __init__(self, path: Path, columns: Columns, shuffle: int | None = None) -> None:
        self.name = str(path)
        if columns.are_named:
            raise InputError(
                "a .npy file has no named columns; use .npz, Parquet, CSV or JSON Lines for that"
            )
        try:
            self._X = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError):
            raise InputError(
                "this is not a .npy file of numbers, or cut short: save it again by numpy.save"
            ) from None
        if not isinstance(self._X, np.ndarray):
            raise InputError("this is a .npz file: name it so")
        _check_matrix(self._X.shape, self._X.dtype)
        self.size: int | None = len(self._X)
        self._order = None
        if shuffle is not None:
            self._order = np.random.default_rng(shuffle).permutation(len(self._X))

    def batches(self, n_rows: int) -> Iterator[Batch]:
        for start in range(0, len(self._X), n_rows):
            stop = min(start + n_rows, len(self._X))
            rows = np.arange(start, stop)
            if self._order is None:
                yield Batch(np.asarray(self._X[start:stop]), {}, rows, numbered, [], stop)
            else:  # the rows' own numbers are their ids
                picked = self._order[start:stop]
                companions = {"keys": picked.tolist()}
                yield Batch(self._X[picked], companions, rows, self._place, [], stop)

    def _place(self, row: int) -> str:
        assert self._order is not None
        return numbered(int(self._order[row]))


class NpzFile:
    """Arrays in a `.npz` file: one with the features, others with ids, classes and texts."""

    live = False
    feature_names = None

    def __init__(self, path: Path, columns: Columns) -> None:
        self.name, self._path = str(path), path
        try:
            with zipfile.ZipFile(path) as archive:
                members = [n[:-4] for n in archive.namelist() if n.endswith(".npy")]
                self._companions = columns.companions(members)
                self._member = self._find_features(archive, members, columns)
                shape, dtype, by_column = _read_header(archive, self._member)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"not a .npz file that can be read: {_one_line(error)}") from None
        _check_matrix(shape, dtype)
        if by_column:
            raise InputError(
                f"array {self._member!r} is stored column by column; save it as .npy, or in C order"
            )
        self.size: int | None = shape[0]

    def _find_features(self, archive: zipfile.ZipFile, members: list[str], columns: Columns) -> str:
        if columns.features:
            picked = columns.pick_features(members)
        elif "X" in members:
            return "X"
        else:
            picked = [n for n in columns.pick_features(members) if _is_matrix(archive, n)]
        if len(picked) != 1:
            raise InputError(
                f"there are {len(picked)} arrays with features: pick one by --features; "
                f"there are: {', '.join(members)}"
            )
        return picked[0]

    def batches(self, n_rows: int) -> Iterator[Batch]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                shape, dtype, _ = _read_header(archive, self._member)
                everything = {
                    kind: _read_whole(archive, name, shape[0])
                    for kind, name in self._companions.items()
                }
                with archive.open(self._member + ".npy") as file:
                    _header_of(file)
                    for start in range(0, shape[0], n_rows):
                        stop = min(start + n_rows, shape[0])
                        X = _read_rows(file, dtype, (stop - start, shape[1]))
                        companions = {k: _as_list(v[start:stop]) for k, v in everything.items()}
                        yield Batch(X, companions, np.arange(start, stop), numbered, [], stop)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"the file is damaged: {_one_line(error)}") from None


def _check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise InputError(
            f"expected a 2-d array of numbers, one row a point, got {len(shape)}-d of {dtype}"
        )


def _is_matrix(archive: zipfile.ZipFile, member: str) -> bool:
    shape, dtype, _ = _read_header(archive, member)
    return len(shape) == 2 and dtype.kind in "biuf"


def _read_header(
    archive: zipfile.ZipFile, member: str
) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    with archive.open(member + ".npy") as file:
        return _header_of(file)


def _header_of(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, dtype = read(file)
    except ValueError as error:
        raise InputError(f"not an array of NumPy's: {_one_line(error)}") from None
    return shape, dtype, by_column and len(shape) > 1


def _read_rows(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, int]) -> NDArray[Any]:
    X = np.empty(shape, dtype)
    wanted = memoryview(X.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    place = 0
    while place < len(wanted):
        piece = file.read(min(_PIECE, len(wanted) - place))
        if not piece:
            raise EOFError("it ends before the last row")
        wanted[place : place + len(piece)] = piece
        place += len(piece)
    return X


def _read_whole(archive: zipfile.ZipFile, member: str, n_rows: int) -> NDArray[Any]:
    with archive.open(member + ".npy") as file:
        try:
            values = npy.read_array(file, allow_pickle=False)
        except ValueError as error:
            raise InputError(f"array {member!r}: {_one_line(error)}") from None
    if values.shape != (n_rows,):
        raise InputError(f"array {member!r} has not one entry for each of {n_rows} rows")
    return values


def _as_list(values: NDArray[Any]) -> list[Any]:
    if values.dtype.kind == "S":
        return [value.decode(errors="replace") for value in values.tolist()]
    return list(values.tolist())


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
