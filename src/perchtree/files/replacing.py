"""Replace a file in one step: readers see the old file or the new one, never a part of it.

New content is written to `.NAME.XXXXXXXXXXXX.part` in the same folder, flushed to disk and
renamed. The part file stays locked until it has its final name. A process that is killed leaves
its part file behind without a lock, and the next one that replaces the same file deletes it.
"""

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from filelock import lock_descriptor

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_EXISTING = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)


@contextlib.contextmanager
def replacing(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` once it is complete and on disk.

    Without `sync`, once it is complete: if power is lost soon after, its content may be, too.

    A new file gets the permissions that the umask leaves, a replaced one keeps those it had, and
    a symbolic link keeps pointing to the file that is replaced. If anything fails, the old file
    stays as it was; an OSError names `path`.
    """
    try:
        with _part_of(Path(os.path.realpath(path)), sync) as file:
            yield file
    except OSError as error:  # name the file that the user knows, not its part file
        raise OSError(error.errno, f"cannot save: {error.strerror or error}", str(path)) from None


@contextlib.contextmanager
def _part_of(path: Path, sync: bool) -> Iterator[BinaryIO]:
    _remove_leftovers(path)  # first, because they may be what fills the disk
    part, descriptor = _create_part(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
            if os.name == "nt":  # Windows cannot rename an open file
                file.close()
            os.replace(part, path)  # still locked, or it could be taken for a leftover
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    if sync:
        _sync_folder(path.parent)


def _create_part(path: Path) -> tuple[Path, int]:
    """Create a locked part file next to `path`: its path, and a descriptor that holds the lock."""
    mode = _mode(path)
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
        # The kernel applies the umask: to ask for it means to change it, for all threads. Nobody
        # may open the part of a private file, not even before `chmod`.
        descriptor = os.open(part, _NEW, 0o666 if mode is None else mode)
        try:
            if mode is not None and _permissions(os.fstat(descriptor)) != mode:
                os.chmod(part, mode)
            locked = _lock(descriptor)
        except BaseException:
            _discard(part, descriptor)
            raise
        if locked:
            return part, descriptor
        # Another process took the new file for a leftover before it was locked.
        _discard(part, descriptor)


def _discard(part: Path, descriptor: int) -> None:
    os.close(descriptor)
    with contextlib.suppress(OSError):
        os.unlink(part)


def _mode(path: Path) -> int | None:
    """Permissions of the file that is replaced; None if there is no file."""
    try:
        return _permissions(path.stat())
    except OSError:
        return None


def _permissions(status: os.stat_result) -> int:
    return stat.S_IMODE(status.st_mode) & 0o777


def _lock(descriptor: int) -> bool:
    """Lock a part file; False if another process was faster and is deleting it."""
    try:
        locked = lock_descriptor(descriptor, blocking=False)
    except OSError:
        return True  # without locks on this file system, nobody deletes part files either
    return locked and os.fstat(descriptor).st_nlink > 0


def _remove_leftovers(path: Path) -> None:
    """Delete part files of `path` whose process is gone."""
    leftover = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{12}}\.part")
    with contextlib.suppress(OSError):  # what is wrong with the folder is said when it is used
        for name in os.listdir(path.parent):
            if leftover.fullmatch(name):
                _remove_unlocked(path.with_name(name))


def _remove_unlocked(part: Path) -> None:
    with contextlib.suppress(OSError):  # gone by now, or somebody else's
        descriptor = os.open(part, _EXISTING)
        try:
            if lock_descriptor(descriptor, blocking=False):
                os.unlink(part)  # while it is locked, so that its process notices
        finally:
            os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a loss of power."""
    with contextlib.suppress(OSError):  # not every system can open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
