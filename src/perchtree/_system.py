"""Calls of Linux that Python has no functions for; elsewhere there are none of them."""

import ctypes
import mmap
import sys

PAGE = mmap.PAGESIZE
HUGE_PAGES, NOT_NEEDED = 14, 4
"""What `advise` may say."""
_NO_RESERVE = 0x4000
_FIXED = 0x10
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

has_maps = _libc is not None
"""Whether memory can be mapped at an address."""

if _libc is not None:
    _libc.mmap.restype = ctypes.c_void_p
    _libc.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64,
    )  # fmt: skip
    _libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    _libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def allocate(descriptor: int, n_bytes: int) -> None:
    """Let a file that is about to be written have its place on the disk, if that can be had.

    Replacing a file of 500 MB then took half the time. (Not `os.posix_fallocate`: where a file
    system cannot do it, the C library writes to every block instead.)
    """
    if _libc is not None:
        _libc.fallocate(descriptor, 0, ctypes.c_int64(0), ctypes.c_int64(n_bytes))


def map_memory(n_bytes: int) -> int:
    """The address of so many bytes of zeros, which take no memory until they are written."""
    return _map(None, n_bytes, mmap.MAP_ANONYMOUS | _NO_RESERVE, -1, 0)


def map_file(address: int, n_bytes: int, descriptor: int, offset: int) -> None:
    """Put bytes of a file in the place of memory; what is written there stays in memory.

    `address` and `offset` are multiples of PAGE.
    """
    _map(address, n_bytes, _FIXED, descriptor, offset)


def _map(address: int | None, n_bytes: int, flags: int, descriptor: int, offset: int) -> int:
    assert _libc is not None
    access = mmap.PROT_READ | mmap.PROT_WRITE
    found = _libc.mmap(
        address, n_bytes, access, mmap.MAP_PRIVATE | flags, descriptor, ctypes.c_int64(offset)
    )
    if found == _FAILED:
        raise MemoryError(f"cannot map {n_bytes:,} bytes")
    return int(found)


def unmap(address: int, n_bytes: int) -> None:
    """Give memory back."""
    assert _libc is not None
    _libc.munmap(address, n_bytes)


def advise(address: int, n_bytes: int, advice: int) -> None:
    """`madvise`, by address."""
    assert _libc is not None
    _libc.madvise(address, n_bytes, advice)


def resident_file_bytes() -> int:
    """How much of files is resident in this process, its libraries included."""
    with open("/proc/self/statm", "rb", buffering=0) as statm:
        return int(statm.read().split()[2]) * PAGE
