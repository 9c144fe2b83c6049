"""Lines of text, from files (optionally gzipped) and from streams as they arrive.

Memory is bounded whatever is read: a line may have at most `MAX_LINE` bytes and `MAX_FIELDS`
fields, and compressed files are decompressed piece by piece.
"""

import gzip
import os
import sys
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path

from .batches import InputError

MAX_LINE = 2**26
"""Bytes in one line, and characters in one record of several lines: 64 MB."""

MAX_FIELDS = 2**22
"""Fields, or entries of lists, in one line: as Python objects they take much more memory."""

_STREAM_PIECE = 2**18
_FILE_PIECE = 2**22
"""Bytes read from a file at a time: enough for a columnar parser to pay off."""

NOT_TEXT = "is not UTF-8 text: convert the input, or say what it is by --format"


class Lines(Iterator[str]):
    """Lines with their ends. `number` is that of the last line returned, counted from 1."""

    def __init__(self, path: Path | None) -> None:
        """Open a file; None is standard input."""
        self.number = 0
        self.live = path is None
        self.finished = False
        """Whether reading was stopped before the end."""
        self.size: int | None = None
        """Bytes of the file; None for a stream or a pipe."""
        self._block, self._at = b"", 0
        """Whole lines, and where the first of them begins that was not returned yet."""
        self._rest: list[bytes] = []
        """Pieces of a line whose end was not read yet; joined once, when it comes."""
        self._n_rest = 0
        self._failure: Exception | None = None
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
        return self.live and self._at == len(self._block)

    def take_undecodable(self) -> bool:
        """Whether any line returned since the last call was not UTF-8."""
        found, self._undecodable = self._undecodable, False
        return found

    def finish(self) -> None:
        """Read no more: end after the lines that have arrived."""
        self.finished = True

    def peek(self) -> str:
        """The next line that is not blank, without consuming it; "" at the end.

        Blank lines before it are consumed: no format has a meaning for them.
        """
        while self._has_line():
            line = self._block[self._at : self._line_end()]
            if line.strip():
                try:
                    return line.decode("utf-8-sig")
                except UnicodeDecodeError:
                    raise InputError(f"line {self.number + 1} {NOT_TEXT}") from None
            next(self)
        return ""

    def __next__(self) -> str:
        if not self._has_line():
            raise StopIteration
        end = self._line_end()
        line = self._block[self._at : end]
        self._at = end
        self.number += 1
        try:
            return line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError:
            self._undecodable = True
            return line.decode(errors="replace")

    def next_block(self) -> memoryview:
        """Whole lines that come next, without consuming them; empty at the end."""
        return memoryview(self._block)[self._at :] if self._has_line() else memoryview(b"")

    def skip(self, n_bytes: int, n_lines: int) -> None:
        """Consume the first lines of the next block."""
        self._at += n_bytes
        self.number += n_lines

    def _line_end(self) -> int:
        return self._block.find(b"\n", self._at) + 1 or len(self._block)

    def _has_line(self) -> bool:
        """Read until there is a whole line; False at the end."""
        while self._at == len(self._block):
            if self.finished:
                return False
            piece = self._read_piece()
            if not piece:
                self._start_block(b"")
                return bool(self._block)
            self._check_length(piece)
            end = piece.rfind(b"\n") + 1
            if end:
                self._start_block(piece[:end])
            self._rest.append(piece[end:])
            self._n_rest += len(piece) - end
        return True

    def _start_block(self, last: bytes) -> None:
        self._block, self._at = b"".join([*self._rest, last]), 0
        self._rest, self._n_rest = [], 0

    def _check_length(self, piece: bytes) -> None:
        end = piece.find(b"\n")
        if self._n_rest + (len(piece) if end < 0 else end) > MAX_LINE:
            raise InputError(
                f"line {self.number + 1} is longer than {MAX_LINE >> 20} MB: is it the right "
                "format? Otherwise split it into several lines"
            )

    def _read_piece(self) -> bytes:
        """Bytes that come next, or none at the end."""
        if self.live:
            return os.read(self._descriptor, _STREAM_PIECE)
        if self.size is None:  # a pipe: take what is there
            return self._read_some(_STREAM_PIECE)
        pieces: list[bytes] = []
        missing = _FILE_PIECE
        while missing and (piece := self._read_some(missing, have_some=bool(pieces))):
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def _read_some(self, most: int, *, have_some: bool = False) -> bytes:
        """Part of a file. Damage is reported once the bytes before it have been used."""
        if self._failure is None:
            try:
                return self._file.read1(most)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                self._failure = error
        if have_some:
            return b""
        raise InputError(f"the file is damaged after line {self.number}: {self._failure}")


def check_fields(text: str, separator: str, line: int) -> None:
    """Reject a line whose parts would take too much memory, before it is split into them."""
    if len(text) > MAX_FIELDS and text.count(separator) >= MAX_FIELDS:
        raise InputError(
            f"line {line} has more than {MAX_FIELDS:,} fields: is it the right format? Otherwise "
            "leave some out"
        )
