"""One writer per file, across processes."""

import contextlib
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
    # Not thread-local, so that any thread can release it. Without the fallback, because the
    # lock of a killed process would stay.
    lock = FileLock(
        real.with_name(f".{real.name}.lock"), thread_local=False, fallback_to_soft=False
    )
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise FileInUseError(
            f"{path} is being changed by another process: try again later"
        ) from None
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot be locked ({error.strerror or error}): keep it in a folder that you can "
            "write to, on a file system with locks",
            str(path),
        ) from None
    try:
        yield
    finally:
        lock.release()
