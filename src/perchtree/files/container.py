"""One file of named sections, each with settings and arrays: checksums cover every byte of it.

Layout, all numbers little-endian:

    0   8  magic
    8   4  version of the format
    12  4  length of the header
    16  16 checksum (XXH3) of the 16 bytes above and the header
    32     header: JSON, then zeros up to a multiple of 64
    ...    the arrays in the order of the header; each is followed by zeros up to a multiple of 64

Checksums are XXH3 of 128 bits, which take about as long as reading memory; in formats 1 and 2 they
were BLAKE2b, which took many times as long. They find accidental damage. Neither is a signature:
who changes a file can change its checksums, so all that is read is validated as well.

The header is {"sections": {name: {"meta": ..., "optional": ..., "arrays": [...]}}};
each array has a name, dtype, shape and checksum. If it is compressed, "zstd" is its length in the
file, to which the checksum belongs. In format 1 the header was {"meta": ..., "arrays": [...]},
which is read as one section. Equal content makes equal bytes: everything is in alphabetical order.

What the header says is compared with the size of the file before anything is allocated, so a file
cannot ask for more memory than it has bytes, or a few hundred times of that if it is compressed:
there are more zeros behind an array that would ask for more. There is no pickle anywhere.
"""

import hashlib
import json
import math
import os
import struct
import weakref
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from .._aligned import aligned
from .._mapped import Mapped
from .._system import allocate
from ..errors import CorruptFileError
from .compression import MOST, compressed, decompress
from .replacing import replacing

MAGIC = b"\x89PERCH\r\n"
VERSION = 3
FORMAT_1 = "format 1"
"""The section that a file of format 1 consists of."""

_PREFIX = struct.Struct("<8sII")
_CHECKSUM = 16
_BEFORE = _PREFIX.size + _CHECKSUM
_ALIGNMENT = 64
_LONGEST_HEADER = 2**20
_LONGEST_ARRAY = 2**60
_PIECE = 2**20  # bytes that are hashed and written, or read and hashed, while they are in the cache

_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")


class Section(NamedTuple):
    """A part of a file that stands on its own.

    `meta` is anything that JSON can hold, and small: long lists belong into arrays. A version of
    perchtree that does not know a section refuses the file, unless the section is `optional`.
    """

    meta: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    optional: bool = False


class Part(NamedTuple):
    """An array as the header describes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    checksum: str
    zstd: int | None = None
    """How many bytes it has in the file, if it is compressed."""

    @property
    def length(self) -> int:
        """Number of bytes."""
        return math.prod(self.shape) * self.item

    @property
    def item(self) -> int:
        """Number of bytes of a value."""
        return np.dtype(self.dtype).itemsize

    @property
    def stored(self) -> int:
        """Number of bytes in the file, without the zeros that follow."""
        return self.length if self.zstd is None else self.zstd

    @property
    def space(self) -> int:
        """The same with the zeros."""
        least = max(self.stored, -(-self.length // MOST))
        return least + -least % _ALIGNMENT

    def described(self) -> dict[str, Any]:
        """What the header says of it."""
        return {name: value for name, value in self._asdict().items() if value is not None}


# Writing


def write(
    path: Path, sections: Mapping[str, Section], *, sync: bool = True, compress: bool = False
) -> None:
    """Write a file, which replaces `path` when it is complete; see `replacing`."""
    sections = dict(sorted(sections.items()))
    parts = {
        name: [_describe(*named, compress=compress) for named in sorted(section.arrays.items())]
        for name, section in sections.items()
    }
    start = _start(sections, parts)
    with replacing(path, sync=sync) as file:
        if not compress:
            space = sum(part.space for own in parts.values() for part in own)
            allocate(file.fileno(), len(start) + space)
        # Checksums are known when the arrays are written. How long the header will be is known
        # before: the arrays go first, and each is read from memory only once.
        file.seek(len(start))
        for name, section in sections.items():
            parts[name] = [
                _write_array(file, part, section.arrays[part.name]) for part in parts[name]
            ]
        file.seek(0)
        file.write(_start(sections, parts, len(start)))


def _describe(name: str, array: NDArray[Any], *, compress: bool) -> Part:
    """Describe an array that is not written yet: with a checksum of zeros, and with the largest
    length if it will be compressed."""
    dtype = array.dtype.newbyteorder("<").str
    if dtype not in _DTYPES or not 1 <= array.ndim <= 3:
        raise ValueError(
            f"array {name!r} of dtype {array.dtype} with {array.ndim} dimensions cannot be saved: "
            "make it an array of integers or floats with 1 to 3 dimensions"
        )
    zstd = _LONGEST_ARRAY - 1 if compress and array.size else None
    return Part(name, dtype, array.shape, "0" * 2 * _CHECKSUM, zstd)


def _start(
    sections: Mapping[str, Section], parts: Mapping[str, list[Part]], length: int = 0
) -> bytes:
    """All that comes before the arrays, at least so many bytes."""
    content = {
        name: {
            "meta": section.meta,
            "optional": section.optional,
            "arrays": [part.described() for part in parts[name]],
        }
        for name, section in sections.items()
    }
    try:
        header = json.dumps({"sections": content}, sort_keys=True).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"settings that JSON cannot hold cannot be saved: {error}") from None
    header = header.ljust(length - _BEFORE, b"\0")
    header += bytes(-(_BEFORE + len(header)) % _ALIGNMENT)
    if len(header) > _LONGEST_HEADER:
        raise ValueError(
            f"settings of {len(header):,} bytes cannot be saved, the limit is "
            f"{_LONGEST_HEADER:,}: keep long lists in arrays"
        )
    prefix = _PREFIX.pack(MAGIC, VERSION, len(header))
    return prefix + bytes.fromhex(_checksum(VERSION, prefix, header)) + header


def _write_array(file: BinaryIO, part: Part, array: NDArray[Any]) -> Part:
    """Write an array and the zeros that follow it; what the header says of it now."""
    digest, length = _digest(VERSION), 0
    pieces = _pieces(array)
    for piece in pieces if part.zstd is None else compressed(pieces, part.item):
        digest.update(piece)
        file.write(piece)
        length += len(piece)
    zstd = None if part.zstd is None else length
    part = part._replace(checksum=digest.hexdigest(), zstd=zstd)
    file.write(bytes(part.space - length))
    return part


def _pieces(array: NDArray[Any]) -> Iterator[memoryview]:
    """The bytes of an array, in pieces that are equal for equal arrays. Only one that lies
    otherwise in memory is copied, piece by piece."""
    dtype = array.dtype.newbyteorder("<")
    if array.flags.c_contiguous and array.dtype == dtype:
        yield from _split(array)
        return
    step = _PIECE // array.itemsize
    for first in range(0, array.size, step):
        yield from _split(array.flat[first : first + step].astype(dtype, copy=False))


def _split(array: NDArray[Any]) -> Iterator[memoryview]:
    """Views of the bytes of a contiguous array, one piece after the other."""
    whole = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    for first in range(0, len(whole), _PIECE):
        yield whole[first : first + _PIECE]


def _digest(version: int) -> Any:
    """What makes the checksums of a format."""
    return xxhash.xxh3_128() if version > 2 else hashlib.blake2b(digest_size=_CHECKSUM)


def _checksum(version: int, *pieces: bytes) -> str:
    digest = _digest(version)
    for piece in pieces:
        digest.update(piece)
    return str(digest.hexdigest())


# Reading


class _Stored(NamedTuple):
    """A section as the header describes it; each array with its place in the file."""

    meta: dict[str, Any]
    optional: bool
    parts: dict[str, tuple[Part, int]]


class Reader:
    """An open file whose header is intact, and whose size is what the header says.

    `known` names the sections that the caller can use. Other sections are left out if they are
    optional; otherwise the file is rejected. None accepts every section. A file of format 1 has
    one section, called "format 1", whatever is known.
    """

    def __init__(self, path: Path, known: Collection[str] | None = None) -> None:
        self.path = path
        # One open file for everything: the path may be saved to again at any time.
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)
        size = os.fstat(self._file.fileno()).st_size
        self.version, header = _read_header(self._file, path, size)
        try:
            stored, end = _parse(self.version, header, self._file.tell())
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise CorruptFileError(f"{path} has a header that makes no sense") from None
        if end != size:
            cut = "cut short" if size < end else "longer than it should be"
            raise CorruptFileError(f"{path} is {cut}: {size:,} bytes instead of {end:,}")
        if known is not None and self.version > 1:
            stored = _without_unknown(stored, known, path)
        self._sections = stored

    def __contains__(self, section: str) -> bool:
        return section in self._sections

    def sections(self) -> list[str]:
        """Names of the sections, in alphabetical order."""
        return list(self._sections)

    def meta(self, section: str) -> dict[str, Any]:
        """The settings of a section."""
        return self._section(section).meta

    def is_optional(self, section: str) -> bool:
        """Whether versions that do not know the section may leave it out."""
        return self._section(section).optional

    def names(self, section: str) -> list[str]:
        """Names of the arrays of a section, in alphabetical order (in format 1: as written)."""
        return list(self._section(section).parts)

    @property
    def is_compressed(self) -> bool:
        """Whether any array is."""
        stored = self._sections.values()
        return any(part.zstd is not None for own in stored for part, _ in own.parts.values())

    def part(self, section: str, name: str) -> Part:
        """What the header says of an array."""
        return self._find(section, name)[0]

    def read(self, section: str, name: str, *, mmap: bool = False) -> NDArray[Any]:
        """Read an array and compare it with its checksum.

        With `mmap` it is only mapped, without being compared; changes stay in memory.
        """
        part, place = self._find(section, name)
        if part.length == 0:
            array = np.empty(part.shape, part.dtype)
        elif mmap:
            if part.zstd is not None:
                raise ValueError(f"{name!r} is compressed, so it cannot be mapped")
            array = Mapped.of(self._file, place, part.shape, np.dtype(part.dtype))
        else:
            array = aligned(part.shape, part.dtype)
            if not self._read_into(array, part, place):
                raise CorruptFileError(
                    f"{self.path} is damaged: in section {section!r}, {name!r} does not match its "
                    "checksum"
                )
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _read_into(self, array: NDArray[Any], part: Part, place: int) -> bool:
        """Fill an array from the file; False if it or the zeros after it are not as written."""
        digest = _digest(self.version)
        self._file.seek(place)
        if part.zstd is None:
            for piece in _split(array):
                if self._file.readinto(piece) != len(piece):
                    return False
                digest.update(piece)
        elif not decompress(self._stored(part, digest), _split(array), part.item):
            return False
        return digest.hexdigest() == part.checksum and self._are_zeros(part.space - part.stored)

    def _stored(self, part: Part, digest: Any) -> Iterator[bytes]:
        """The bytes of a compressed array, as they are."""
        for first in range(0, part.stored, _PIECE):
            piece = self._file.read(min(_PIECE, part.stored - first))
            digest.update(piece)
            yield piece

    def _are_zeros(self, length: int) -> bool:
        """Whether so many zeros come next in the file."""
        for first in range(0, length, _PIECE):
            expected = min(_PIECE, length - first)
            if self._file.read(expected) != bytes(expected):
                return False
        return True

    def _section(self, section: str) -> _Stored:
        if section not in self._sections:
            raise CorruptFileError(f"{self.path} has no section {section!r}")
        return self._sections[section]

    def _find(self, section: str, name: str) -> tuple[Part, int]:
        parts = self._section(section).parts
        if name not in parts:
            raise CorruptFileError(f"{self.path} has no array {name!r} in section {section!r}")
        return parts[name]


def _read_header(file: BinaryIO, path: Path, size: int) -> tuple[int, bytes]:
    """Version and header of a file, compared with their checksum."""
    start = file.read(_BEFORE)
    if not start.startswith(MAGIC):
        raise CorruptFileError(f"{path} is not a perchtree file, or its first bytes are damaged")
    if len(start) < _BEFORE:
        raise CorruptFileError(f"{path} is cut short: the header is missing")
    _, version, length = _PREFIX.unpack(start[: _PREFIX.size])
    if length > min(_LONGEST_HEADER, size - _BEFORE):
        raise CorruptFileError(f"{path} is cut short or damaged: its header is not all there")
    header = file.read(length)
    if _checksum(version, start[: _PREFIX.size], header) != start[_PREFIX.size :].hex():
        raise CorruptFileError(f"{path} is damaged: the header does not match its checksum")
    if not 1 <= version <= VERSION:
        raise CorruptFileError(
            f"{path} has format {version}, this version of perchtree reads up to {VERSION}: "
            "update perchtree"
        )
    return version, header


def _parse(version: int, header: bytes, place: int) -> tuple[dict[str, _Stored], int]:
    """The sections of a header, and where the last array ends if the first starts at `place`."""
    content = json.loads(header.rstrip(b"\0"))
    entries = content["sections"] if version > 1 else {FORMAT_1: content | {"optional": False}}
    sections = {}
    for section, entry in entries.items():
        parts: dict[str, tuple[Part, int]] = {}
        for part in map(_as_part, entry["arrays"]):
            if part.name in parts:
                raise ValueError
            parts[part.name] = part, place
            place += part.space
        meta, optional = entry["meta"], entry["optional"]
        if not isinstance(meta, dict) or not isinstance(optional, bool):
            raise ValueError
        sections[section] = _Stored(meta, optional, parts)
    return sections, place


def _as_part(entry: Any) -> Part:
    shape, zstd = tuple(entry["shape"]), entry.get("zstd")
    part = Part(entry["name"], entry["dtype"], shape, entry["checksum"], zstd)
    if not isinstance(part.name, str) or part.dtype not in _DTYPES or not 1 <= len(part.shape) <= 3:
        raise ValueError
    if not all(type(n) is int and 0 <= n < 2**40 for n in part.shape):
        raise ValueError
    # NumPy refuses an array without elements, too, if its other dimensions are too large.
    if math.prod(max(n, 1) for n in part.shape) >= _LONGEST_ARRAY:
        raise ValueError
    if zstd is not None and not (type(zstd) is int and 0 < zstd < _LONGEST_ARRAY and part.length):
        raise ValueError
    return part


def _without_unknown(
    stored: dict[str, _Stored], known: Collection[str], path: Path
) -> dict[str, _Stored]:
    """The sections that are known; an error if another one is not optional."""
    for name, section in stored.items():
        if name not in known and not section.optional:
            raise CorruptFileError(
                f"{path} was written by a newer version of perchtree, which keeps {name!r} in it: "
                "update perchtree"
            )
    return {name: section for name, section in stored.items() if name in known}
