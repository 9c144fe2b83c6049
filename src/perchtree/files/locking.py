"""One writer per file, across processes."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout


class FileInUseError(ValueError):
    """Another process is changing the file."""


@contextlib.contextmanager
def lock_for_writing(path: Path, *, wait: float = 0) -> Iterator[None]:
    """Keep all others who call this from changing a file; readers are not affected.

    Whoever changes a file holds its lock from before reading it until after saving it, or changes
    that another process saves in between are lost.

    The lock is on `.NAME.lock` in the same folder: one on the file itself would be lost with the
    first save, which puts another file in its place. Links are followed, so that all names of a
    file share a lock. The operating system releases it when the process ends, however it ends;
    the empty `.NAME.lock` stays, because deleting it while another process waits for it would let
    two of them in.

    Raises FileInUseError if the lock is still held elsewhere after `wait` seconds.
    """
    real = Path(os.path.realpath(path))
    sidecar = real.with_name(f".{real.name}.lock")
    # Not thread-local, so that any thread can release it. Without the fallback, because the
    # lock of a killed process would stay.
    lock = FileLock(sidecar, thread_local=False, fallback_to_soft=False)
    try:
        if not real.parent.is_dir():  # the lock would create it
            raise FileNotFoundError(errno.ENOENT, "there is no such folder")
        lock.acquire(timeout=wait)
    except Timeout:
        if not sidecar.exists():  # it was not held, it could not be created
            raise _unlockable(path, errno.EPERM, "no file can be created there") from None
        raise FileInUseError(
            f"{path} is being changed by another process: try again later"
        ) from None
    except OSError as error:
        raise _unlockable(path, error.errno, error.strerror or str(error)) from None
    try:
        yield
    finally:
        lock.release()


def _unlockable(path: Path, number: int | None, why: str) -> OSError:
    todo = "keep it in a folder that you can write to, on a file system with locks"
    return OSError(number, f"cannot be locked ({why}): {todo}", str(path))
