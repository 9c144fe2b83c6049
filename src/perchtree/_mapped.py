"""Rows of a file as an array that can be written to, grow, and be larger than the memory.

What is written stays in memory, page by page, and never reaches the file. New rows are memory, too,
behind those of the file. Pages that were read count as resident until they are let go of, although
the system can take them back at any time.
"""

import ctypes
import math
import os
import weakref
from collections.abc import Callable
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from . import _system
from ._system import PAGE

_AROUND = 2**19
"""Bytes that become resident when one of them is read, at most, if the system has them in memory
anyway: 200,000 on average."""

_RESIDENT = 8
"""A part of one in so many of the bytes may be resident before they are let go of."""

_PAGES = "/proc/self/pagemap"
_PRESENT, _SWAPPED, _OF_FILE = (np.uint64(1 << bit) for bit in (63, 62, 61))
"""What it says of a page."""


class Mapped:
    """Memory behind an array: rows of a file, and room for more."""

    def __init__(
        self, file: int, place: int, shape: tuple[int, ...], dtype: np.dtype[Any], n_rows: int
    ) -> None:
        """`file` is a descriptor, which this object takes over."""
        self._at_end(os.close, file)
        self._file, self._place, self._shape, self._dtype = file, place, shape, dtype
        self._row_bytes = math.prod(shape[1:]) * dtype.itemsize
        before = place % PAGE
        length = _whole_pages(before + n_rows * self._row_bytes)
        self._of_file = _whole_pages(before + shape[0] * self._row_bytes)
        self._address = _system.map_memory(length)
        self._at_end(_system.unmap, self._address, length)
        _system.map_file(self._address, self._of_file, file, place - before)
        rest = length - self._of_file
        if rest:
            _system.advise(self._address + self._of_file, rest, _system.HUGE_PAGES)
        self.__array_interface__ = {
            "shape": (n_rows, *shape[1:]),
            "typestr": dtype.str,
            "data": (self._address + before, False),
            "version": 3,
        }
        self._let_go_at = _system.resident_file_bytes()
        self._end = before + shape[0] * self._row_bytes

    def _at_end(self, call: Callable[..., None], *given: int) -> None:
        """Call it when no array looks at this any longer; not when Python ends: threads may."""
        weakref.finalize(self, call, *given).atexit = False

    @classmethod
    def of(
        cls, file: BinaryIO, place: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> NDArray[Any]:
        """An array in an open file."""
        if not _system.has_maps:
            return np.asarray(np.memmap(file, dtype, "c", place, shape))
        return np.asarray(cls(os.dup(file.fileno()), place, shape, dtype, shape[0]))

    @classmethod
    def behind(cls, array: NDArray[Any]) -> Self | None:
        """What an array, or a part of one, is a view of; None if it is in memory."""
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        return base if isinstance(base, cls) else None

    def grown(self, n_rows: int, used: int) -> NDArray[Any]:
        """A longer array of which the first `used` rows are the same. Nothing else is read.

        The shorter one stays as it is, for whoever still looks at it.
        """
        file = os.dup(self._file)
        larger = Mapped(file, self._place, self._shape, self._dtype, n_rows)
        for first, stop in _runs(self._written()):
            part = slice(first * PAGE, stop * PAGE)
            larger._pages[part] = self._pages[part]
        larger._pages[self._end :] = 0  # new rows are zeros: the file goes on with something else
        array, before = np.asarray(larger), self._shape[0]
        array[before:used] = np.asarray(self)[before:used]
        return array

    @property
    def step(self) -> int:
        """How many bytes may be read before `have_read` should be called."""
        return self._of_file // _RESIDENT // 2

    @property
    def scattered(self) -> int:
        """How many rows, far from each other, may be read before `have_read` should be called."""
        return max(1, self.step // max(_AROUND, self._row_bytes))

    def have_read(self) -> None:
        """Let go of what was read before it is too much. Nobody may write meanwhile."""
        if _system.resident_file_bytes() - self._let_go_at > self._of_file // _RESIDENT:
            self.let_go()
            self._let_go_at = _system.resident_file_bytes()

    def let_go(self) -> None:
        """Make pages that are as in the file not resident. Nobody may write meanwhile."""
        for first, stop in _runs(~self._written()):
            n_bytes = (stop - first) * PAGE
            _system.advise(self._address + first * PAGE, n_bytes, _system.NOT_NEEDED)

    @property
    def _pages(self) -> NDArray[np.uint8]:
        return _bytes_at(self._address, self._of_file)

    def _written(self) -> NDArray[np.bool_]:
        """For each page of the file, whether it may differ from it."""
        n_pages = self._of_file // PAGE
        try:
            with open(_PAGES, "rb", buffering=0) as pagemap:
                pagemap.seek(self._address // PAGE * 8)
                entries = np.frombuffer(pagemap.read(8 * n_pages), np.uint64)
        except OSError:  # hidden from this process
            entries = np.zeros(0, np.uint64)
        if len(entries) < n_pages:
            return np.ones(n_pages, bool)
        of_file = (entries & _OF_FILE) != 0
        return np.asarray(((entries & _PRESENT) != 0) & ~of_file | ((entries & _SWAPPED) != 0))


def _whole_pages(n_bytes: int) -> int:
    return -(-n_bytes // PAGE) * PAGE


def _bytes_at(address: int, n_bytes: int) -> NDArray[np.uint8]:
    return np.ctypeslib.as_array((ctypes.c_uint8 * n_bytes).from_address(address))


def _runs(pages: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first page of each run of marked ones, and that after the last."""
    edges = np.diff(np.concatenate([[False], pages, [False]]).astype(np.int8))
    starts, stops = (np.flatnonzero(edges == edge).tolist() for edge in (1, -1))
    return list(zip(starts, stops, strict=True))
