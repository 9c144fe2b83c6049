"""Lines of text, from files (gzip too) and from streams as they arrive."""

import gzip
import os
import sys
import weakref
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from .batches import InputError

_PIECE = 2**18
NOT_TEXT = "is not UTF-8 text: convert the input, or say what it is by --format"


class Lines(Iterator[str]):
    """Lines with their ends. `number` is the last one's, from 1."""

    def __init__(self, path: Path | None) -> None:
        """A file; None is standard input."""
        self.number = 0
        self.live = path is None
        self.finished = False
        """Whether reading was ended before the end."""
        self.size: int | None = None
        """Bytes of the file, if it is one."""
        self._ready: deque[bytes] = deque()
        self._rest = b""
        self._undecodable = False
        if path is None:
            if sys.stdin is None:
                raise InputError("it is closed")
            self._descriptor = sys.stdin.fileno()
        else:
            self.size = path.stat().st_size if path.is_file() else None
            self._raw = path.open("rb")
            weakref.finalize(self, self._raw.close)
            is_packed = self._raw.peek(2)[:2] == b"\x1f\x8b"
            self._file = gzip.GzipFile(fileobj=self._raw) if is_packed else self._raw

    @property
    def done(self) -> int:
        """Bytes of the file that were read."""
        return 0 if self.size is None else self._raw.tell()

    @property
    def must_wait(self) -> bool:
        """Whether the next line of a stream may not have arrived yet."""
        return self.live and not self._ready

    def take_undecodable(self) -> bool:
        """Whether a line since the last time was no text."""
        found, self._undecodable = self._undecodable, False
        return found

    def finish(self) -> None:
        """Read no more: end after the lines that are here."""
        self.finished = True

    def peek(self) -> str:
        """The next line that is not blank, which stays; "" at the end."""
        place = 0
        while True:
            while place == len(self._ready):
                if not self._read():
                    return ""
            if self._ready[place].strip():
                try:
                    return self._ready[place].decode("utf-8-sig")
                except UnicodeDecodeError:
                    raise InputError(f"line {self.number + place + 1} {NOT_TEXT}") from None
            place += 1

    def __next__(self) -> str:
        while not self._ready:
            if not self._read():
                raise StopIteration
        self.number += 1
        line = self._ready.popleft()
        try:
            return line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            self._undecodable = True
            return line.decode(errors="replace")

    def _read(self) -> bool:
        """Read a piece; False at the end."""
        if self.finished:
            return False
        try:
            piece = os.read(self._descriptor, _PIECE) if self.live else self._file.read1(_PIECE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"the file is damaged after line {self.number}: {error}") from None
        if not piece:
            if self._rest:
                self._ready.append(self._rest)
                self._rest = b""
                return True
            return False
        *whole, self._rest = (self._rest + piece).split(b"\n")
        self._ready.extend(line + b"\n" for line in whole)
        return True
