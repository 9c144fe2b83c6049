"""Compression of arrays in files: Zstandard, of the first byte of all values, then the second one.

Of floats the first byte says little and the last one nearly everything that can be compressed:
apart, they take less. This is done piece by piece, in pieces of 1 MiB.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

MOST = 256
"""An array takes at most so many times the bytes that it has in the file, zeros behind it
included: so a small file cannot fill the memory."""

_LARGEST_WINDOW = 23
"""Bytes that are kept to decompress others, as a power of two: made with 21."""


def _library() -> Any:
    """The module of Python 3.14, or the same for earlier versions."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise ImportError(
            "compressed files need Zstandard: pip install 'perchtree[zstd]'"
        ) from None
    return zstd


def check_library() -> None:
    """Say what to install if nothing can be compressed here."""
    _library()


def compressed(pieces: Iterable[memoryview], item: int) -> Iterator[bytes]:
    """The bytes of an array of values of `item` bytes, compressed."""
    compressor = _library().ZstdCompressor()
    for piece in pieces:
        apart = np.frombuffer(piece, np.uint8).reshape(-1, item).T
        yield compressor.compress(np.ascontiguousarray(apart))
    yield compressor.flush()


def decompress(stored: Iterator[bytes], pieces: Iterable[memoryview], item: int) -> bool:
    """Fill the pieces of an array; False unless what is stored is exactly these bytes.

    No more is decompressed than fits. `stored` is read to its end if all is well.
    """
    zstd = _library()
    options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    decompressor = zstd.ZstdDecompressor(options=options)

    def some(most: int) -> bytes | None:
        data = next(stored, b"") if decompressor.needs_input else b""
        if decompressor.eof or (decompressor.needs_input and not data):
            return None
        return bytes(decompressor.decompress(data, most))

    try:
        for piece in pieces:
            apart = bytearray()
            while len(apart) < len(piece):
                more = some(len(piece) - len(apart))
                if more is None:
                    return False
                apart += more
            values = np.frombuffer(piece, np.uint8).reshape(-1, item)
            values[:] = np.frombuffer(apart, np.uint8).reshape(item, -1).T
        while not decompressor.eof:
            if some(1) != b"":
                return False
    except zstd.ZstdError:
        return False
    return not decompressor.unused_data and next(stored, None) is None
