"""NumPy's files: `.npy`, memory-mapped, and `.npz`, of which only a batch at a time is read.

What a header or an archive declares is compared with what is there before memory is taken for it.
"""

import contextlib
import math
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .._validate import as_list
from ..inert import inert_line, short_list, short_name
from .batches import Batch, Columns, File, InputError, as_text, join_texts, numbered, rows_that_fit

_PIECE = 2**20
_NUMBERS = "biuf"
_READERS = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,  # differs in the encoding of field names only
}


class _Header(NamedTuple):
    """What an array is, as its file says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool
    n_bytes: int
    """Length of the header itself."""

    @property
    def is_matrix(self) -> bool:
        return len(self.shape) == 2 and self.dtype.kind in _NUMBERS

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    def check_matrix(self) -> None:
        if not self.is_matrix:
            raise InputError(
                "expected a 2-d array of numbers, one row per point, got "
                f"{len(self.shape)}-d of {inert_line(self.dtype, 100)}"
            )

    def check_size(self, n_bytes: int) -> None:
        """Reject a file that has fewer bytes than the array needs."""
        if self.n_bytes + self.dtype.itemsize * math.prod(self.shape) > n_bytes:
            raise InputError("the array is cut short: save it again by NumPy")


def _read_header(file: IO[bytes]) -> _Header:
    try:
        version = npy.read_magic(file)
        shape, by_column, dtype = _READERS[version](file)
    except (EOFError, OSError, zipfile.BadZipFile, zlib.error):
        raise
    except Exception:
        # NumPy evaluates the header as Python, so that damage raises nearly anything.
        raise InputError(
            "its header is damaged, or it is not an array: save it again by NumPy"
        ) from None
    if min(shape, default=0) < 0:
        raise InputError("its header is damaged: save it again by NumPy")
    return _Header(shape, dtype, by_column and len(shape) > 1, file.tell())


class NpyFile:
    """Rows of a 2-d array in a `.npy` file, or in all such files of a folder in the order of their
    names; in file order or in a random order."""

    live = False
    feature_names = None

    def __init__(self, path: Path, columns: Columns, shuffle: int | None = None) -> None:
        self.name = str(path)
        if columns.are_named:
            raise InputError(
                "a .npy file has no named columns; use .npz, Parquet, CSV or JSON Lines for that"
            )
        self._path, self._files = path, _files_of(path)
        if not self._files:
            raise InputError("there are no .npy files in this folder")
        self._maps, self._row_bytes = self._map_all()
        self._starts = np.cumsum([0, *map(len, self._maps)])
        self.size: int | None = int(self._starts[-1])
        self._order = None
        if shuffle is not None:
            self._order = np.random.default_rng(shuffle).permutation(self.size)

    def _map_all(self) -> tuple[list[NDArray[Any]], int]:
        """The arrays of all files, not read yet, and the bytes of one row."""
        maps: list[NDArray[Any]] = []
        widest = 0
        for file in self._files:
            try:
                mapped, row_bytes = _map(file)
            except InputError as error:
                raise InputError(f"{self._within(file)}{error}") from None
            if maps and mapped.shape[1] != maps[0].shape[1]:
                raise InputError(
                    f"{self._within(file)}rows have {mapped.shape[1]} features, those of the first "
                    f"file {maps[0].shape[1]}"
                )
            maps.append(mapped)
            widest = max(widest, row_bytes)
        return maps, widest

    def _within(self, file: Path) -> str:
        """The prefix of errors about one of several files."""
        return "" if str(file) == self.name else f"{file.relative_to(self.name)}, "

    def files(self) -> list[File]:
        return [File.at(file) for file in _files_of(self._path)]

    def batches(self, n_rows: int) -> Iterator[Batch]:
        return self.between(0, self.size or 0, n_rows)

    def between(self, start: int, stop: int, n_rows: int) -> Iterator[Batch]:
        n_rows = rows_that_fit(n_rows, self._row_bytes)
        for first in range(start, stop, n_rows):
            last = min(first + n_rows, stop)
            rows = np.arange(first, last)
            if self._order is None:
                yield Batch(self._slice(first, last), {}, rows, self.place, [], last)
            else:  # the rows' own numbers are their ids
                picked = self._order[first:last]
                companions = {"keys": picked.tolist()}
                yield Batch(self._pick(picked), companions, rows, self.place, [], last)

    def _slice(self, start: int, stop: int) -> NDArray[Any]:
        pieces = [
            mapped[max(0, start - first) : stop - first]
            for mapped, first in zip(self._maps, self._starts.tolist(), strict=False)
            if first < stop and start < first + len(mapped)
        ]
        return np.asarray(pieces[0]) if len(pieces) == 1 else np.concatenate(pieces)

    def _pick(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Rows of any order, read file by file."""
        if len(self._maps) == 1:
            return self._maps[0][rows]
        kinds = np.result_type(*{mapped.dtype for mapped in self._maps})
        picked = np.empty((len(rows), self._maps[0].shape[1]), kinds)
        places = np.searchsorted(self._starts, rows, side="right") - 1
        for place in np.unique(places).tolist():
            here = places == place
            picked[here] = self._maps[place][rows[here] - self._starts[place]]
        return picked

    def place(self, row: int) -> str:
        own = row if self._order is None else int(self._order[row])
        place = int(np.searchsorted(self._starts, own, side="right")) - 1
        return self._within(self._files[place]) + numbered(own - int(self._starts[place]))


def _files_of(path: Path) -> list[Path]:
    return sorted(path.rglob("*.npy")) if path.is_dir() else [path]


def _map(path: Path) -> tuple[NDArray[Any], int]:
    """The array in a `.npy` file, not read yet, and the bytes of one row."""
    with path.open("rb") as file:
        if file.read(4) == b"PK\x03\x04":
            raise InputError("this is a .npz file: name it so")
        file.seek(0)
        try:
            header = _read_header(file)
        except EOFError:
            raise InputError("the array is cut short: save it again by NumPy") from None
        header.check_matrix()
        header.check_size(os.fstat(file.fileno()).st_size)
    return np.load(path, mmap_mode="r", allow_pickle=False), header.row_bytes


class NpzFile:
    """Arrays in a `.npz` file: one with the features, others with ids, classes and texts."""

    live = False
    feature_names = None

    def __init__(self, path: Path, columns: Columns) -> None:
        self.name, self._path = str(path), path
        with _open_archive(path) as archive:
            members = [n[:-4] for n in archive.namelist() if n.endswith(".npy")]
            self._companions = columns.companions(members)
            self._features = self._find_features(archive, members, columns)
            self.size: int | None = None
            row_bytes = 0
            if self._features is not None:
                header = _header_of(archive, self._features)
                header.check_matrix()
                if header.by_column:
                    raise InputError(
                        f"array {short_name(self._features)} is stored column by column; save it "
                        "as .npy, or in C order"
                    )
                self.size, row_bytes = header.shape[0], header.row_bytes
            for name in self._companions.values():
                row_bytes += self._check_companion(archive, name)
        self._row_bytes = row_bytes

    def _find_features(
        self, archive: zipfile.ZipFile, members: list[str], columns: Columns
    ) -> str | None:
        """The array with features; None if vectors are to be made of texts."""
        if columns.only_texts:
            return None
        if columns.features:
            picked = columns.pick_features(members)
        elif "X" in members:
            return "X"
        else:
            picked = [
                name
                for name in columns.pick_features(members)
                if _header_of(archive, name).is_matrix
            ]
        if not picked and columns.texts:
            return None
        if len(picked) != 1:
            raise InputError(
                f"there are {len(picked)} arrays with features: pick one by --features; "
                f"there are: {short_list(members)}"
            )
        return picked[0]

    def _check_companion(self, archive: zipfile.ZipFile, name: str) -> int:
        """Reject an array that cannot hold ids, classes or texts; the bytes of one entry."""
        header = _header_of(archive, name)
        if header.dtype.kind not in "biufSUMm":
            raise InputError(
                f"array {short_name(name)} holds {inert_line(header.dtype, 100)}: expected numbers "
                "or texts"
            )
        if self.size is None and len(header.shape) == 1:
            self.size = header.shape[0]
        if header.shape != (self.size,):
            raise InputError(
                f"array {short_name(name)} does not have one entry for each of {self.size} rows"
            )
        return header.dtype.itemsize

    def batches(self, n_rows: int) -> Iterator[Batch]:
        n_rows = rows_that_fit(n_rows, self._row_bytes)
        n_all = self.size or 0
        with _open_archive(self._path) as archive, contextlib.ExitStack() as opened:
            features = None
            if self._features is not None:
                features = opened.enter_context(_Member(archive, self._features))
            companions = {
                kind: opened.enter_context(_Member(archive, name))
                for kind, name in self._companions.items()
            }
            for start in range(0, n_all, n_rows):
                stop = min(start + n_rows, n_all)
                n_read = stop - start
                X = np.empty((n_read, 0)) if features is None else features.read(n_read)
                values = {
                    kind: [as_text(value) for value in as_list(member.read(n_read))]
                    for kind, member in companions.items()
                }
                yield Batch(X, join_texts(values), np.arange(start, stop), numbered, [], stop)


class _Member:
    """An array of an archive, read from its beginning to its end."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._file = _open_member(archive, name)
        self._header = _read_header(self._file)

    def __enter__(self) -> "_Member":
        return self

    def __exit__(self, *_exception: object) -> None:
        self._file.close()

    def read(self, n_rows: int) -> NDArray[Any]:
        """The next rows."""
        wanted = bytearray(n_rows * self._header.row_bytes)
        place = 0
        while place < len(wanted):
            piece = self._file.read(min(_PIECE, len(wanted) - place))
            if not piece:
                raise EOFError("it ends before the last row")
            wanted[place : place + len(piece)] = piece
            place += len(piece)
        return np.ndarray((n_rows, *self._header.shape[1:]), self._header.dtype, wanted)


@contextlib.contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive; damage found while it is open becomes an `InputError`."""
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        # Damaged offsets become an OSError, unknown flags and versions a RuntimeError.
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
            why = inert_line(error, 200) or "it ends too early"
            raise InputError(
                f"the file is damaged or not a .npz file ({why}): save it again by numpy.savez"
            ) from None


def _open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    known = archive.getinfo(name + ".npy")
    if known.flag_bits & 1:
        raise InputError(f"array {short_name(name)} is encrypted: save it again by numpy.savez")
    # NumPy writes no others, and Python does not bound what those decompress to at a time.
    if known.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(
            f"array {short_name(name)} is compressed by another method than NumPy's: save it again "
            "by numpy.savez_compressed"
        )
    return archive.open(known)


def _header_of(archive: zipfile.ZipFile, name: str) -> _Header:
    with _open_member(archive, name) as file:
        try:
            header = _read_header(file)
            header.check_size(archive.getinfo(name + ".npy").file_size)
        except InputError as error:
            raise InputError(f"array {short_name(name)}: {error}") from None
    return header
