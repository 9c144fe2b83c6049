"""One file of named arrays: every bit of it is covered by a checksum.

Layout, all numbers little-endian:

    0   8  magic
    8   4  version of the format
    12  4  length of the header
    16  16 checksum (BLAKE2b) of the 16 bytes above and the header
    32     header: JSON with `meta` and, for each array, name, dtype, shape, checksum; then zeros
    ...    the arrays in that order; each is followed by zeros up to a multiple of 64

The file ends there. What the header says is compared with the file's size before anything is
allocated, so a file can never ask for more memory than it has bytes. There is no pickle anywhere.
"""

import contextlib
import hashlib
import json
import math
import os
import struct
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import CorruptFileError

MAGIC = b"\x89PERCH\r\n"
VERSION = 1
_PREFIX = struct.Struct("<8sII")
_CHECKSUM = 16
_BEFORE = _PREFIX.size + _CHECKSUM
_ALIGNMENT = 64
_LONGEST_HEADER = 2**20

_DTYPES = ("<i4", "<i8", "<f4", "<f8", "|u1")

Arrays = Mapping[str, NDArray[Any]]


class Part(NamedTuple):
    """An array as the header describes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    checksum: str

    @property
    def length(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


# Writing


def write(path: Path, meta: dict[str, Any], arrays: Arrays) -> None:
    """Write a file; see `replacing`."""
    with replacing(path) as file:
        _write_all(file, meta, arrays)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` once it is whole and on the disk.

    If anything fails, what was there stays, and OSError names it.
    """
    try:
        with _aside(path) as file:
            yield file
    except OSError as error:  # say which file, not which one aside
        raise OSError(error.errno, f"cannot save: {error.strerror or error}", str(path)) from None


@contextlib.contextmanager
def _aside(path: Path) -> Iterator[BinaryIO]:
    path = path.resolve()  # a link stays a link
    descriptor, aside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(aside, _permissions(path))
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    _sync_folder(path.parent)


def _permissions(path: Path) -> int:
    """Those of the file that is replaced, or what a new file gets."""
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every system can open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_all(file: BinaryIO, meta: dict[str, Any], arrays: Arrays) -> None:
    ready = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    parts = [
        Part(name, array.dtype.str, array.shape, _blake(_bytes(array)))
        for name, array in ready.items()
    ]
    text = json.dumps({"meta": meta, "arrays": [part._asdict() for part in parts]})
    header = text.encode() + bytes(-(_BEFORE + len(text.encode())) % _ALIGNMENT)
    if len(header) > _LONGEST_HEADER:
        raise ValueError(f"settings of {len(header):,} bytes are too long for a file")
    prefix = _PREFIX.pack(MAGIC, VERSION, len(header))
    file.write(prefix + bytes.fromhex(_blake(prefix, header)) + header)
    for array in ready.values():
        file.write(_bytes(array))
        file.write(bytes(-array.nbytes % _ALIGNMENT))


def _bytes(array: NDArray[Any]) -> Any:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _blake(*pieces: Any) -> str:
    digest = hashlib.blake2b(digest_size=_CHECKSUM)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


# Reading


class Reader:
    """An open file whose header is whole, and whose size is what the header says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # One open file for everything: the path may be saved to again at any time.
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)
        size = os.fstat(self._file.fileno()).st_size
        self.meta, parts, place = _read_header(self._file, path, size)
        self._parts: dict[str, tuple[Part, int]] = {}
        for part in parts:
            self._parts[part.name] = part, place
            place += part.length + -part.length % _ALIGNMENT
        if place != size:
            cut = "cut short" if size < place else "longer than it should be"
            raise CorruptFileError(f"{path} is {cut}: {size:,} bytes instead of {place:,}")

    @property
    def names(self) -> list[str]:
        return list(self._parts)

    def part(self, name: str) -> Part:
        return self._parts[name][0]

    def read(self, name: str, *, mmap: bool = False) -> NDArray[Any]:
        """An array, compared with its checksum; with `mmap` only opened, changes not written."""
        part, place = self._parts[name]
        if part.length == 0:
            return np.empty(part.shape, part.dtype)
        if mmap:
            return np.asarray(np.memmap(self._file, part.dtype, "c", place, part.shape))
        array = np.empty(part.shape, part.dtype)
        padding = -part.length % _ALIGNMENT
        self._file.seek(place)
        whole = self._file.readinto(_bytes(array)) == part.length
        whole = whole and self._file.read(padding) == bytes(padding)
        if not whole or _blake(_bytes(array)) != part.checksum:
            raise CorruptFileError(f"{self.path} is damaged: {name!r} does not match its checksum")
        return array


def _read_header(file: BinaryIO, path: Path, size: int) -> tuple[dict[str, Any], list[Part], int]:
    start = file.read(_BEFORE)
    if not start.startswith(MAGIC):
        raise CorruptFileError(f"{path} is not a perchtree file, or its first bytes are damaged")
    if len(start) < _BEFORE:
        raise CorruptFileError(f"{path} is cut short: the header is missing")
    _, version, length = _PREFIX.unpack(start[: _PREFIX.size])
    if length > min(_LONGEST_HEADER, size - _BEFORE):
        raise CorruptFileError(f"{path} is cut short or damaged: its header is not all there")
    header = file.read(length)
    if _blake(start[: _PREFIX.size], header) != start[_PREFIX.size :].hex():
        raise CorruptFileError(f"{path} is damaged: the header does not match its checksum")
    if version != VERSION:
        raise CorruptFileError(
            f"{path} has format {version}, this version of perchtree reads {VERSION}: update it"
        )
    try:
        content = json.loads(header.rstrip(b"\0"))
        parts = [_as_part(entry) for entry in content["arrays"]]
        if len({part.name for part in parts}) < len(parts) or not isinstance(content["meta"], dict):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise CorruptFileError(f"{path} has a header that makes no sense") from None
    return content["meta"], parts, _BEFORE + length


def _as_part(entry: Any) -> Part:
    part = Part(str(entry["name"]), entry["dtype"], tuple(entry["shape"]), str(entry["checksum"]))
    shape = part.shape
    if part.dtype not in _DTYPES or not 1 <= len(shape) <= 3:
        raise ValueError
    if not all(type(n) is int and 0 <= n < 2**40 for n in shape):
        raise ValueError
    return part
