"""One writer per file: two processes never both hold its lock."""

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import threading

import pytest

from perchtree.files.locking import FileInUseError, lock_for_writing
from perchtree.files.replacing import replacing

pytestmark = pytest.mark.outer

# Holds a lock until its input is closed; with "save", saves the file first.
HOLDER = """
import sys
from pathlib import Path
from perchtree.files.locking import FileInUseError, lock_for_writing
from perchtree.files.replacing import replacing
path = Path(sys.argv[1])
try:
    with lock_for_writing(path):
        if "save" in sys.argv:
            with replacing(path) as file:
                file.write(b"new")
        print("held", flush=True)
        sys.stdin.read()
except FileInUseError as error:
    print(error)
"""
BUSY = "is being changed by another process: try again later"


@contextlib.contextmanager
def holder(path, *options):
    """A process that tries to hold the lock, and what it said."""
    command = [sys.executable, "-c", HOLDER, str(path), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def is_locked(path):
    try:
        with lock_for_writing(path):
            return False
    except FileInUseError:
        return True


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "tree.perch"
    path.write_bytes(b"old")
    return path


def test_one_process_at_a_time(path):
    with holder(path) as (first, said):
        assert said == "held"
        with pytest.raises(FileInUseError) as error, lock_for_writing(path):
            pass
        assert str(error.value) == f"{path} {BUSY}"
        with holder(path) as (_, second):
            assert second == f"{path} {BUSY}"
        first.communicate()
        assert not is_locked(path)
    with lock_for_writing(path), holder(path) as (_, said):
        assert said == f"{path} {BUSY}"
    with holder(path) as (_, said):
        assert said == "held"


def test_the_lock_survives_a_save(path):
    """A save puts another file in the place of the one that was there."""
    inode = path.stat().st_ino
    with holder(path, "save") as (_, said):
        assert said == "held"
        assert path.read_bytes() == b"new"
        assert path.stat().st_ino != inode
        assert is_locked(path)
    with lock_for_writing(path):
        with replacing(path) as file:
            file.write(b"newer")
        with holder(path, "save") as (_, said):
            assert said == f"{path} {BUSY}"
    assert path.read_bytes() == b"newer"


def test_a_killed_process_holds_nothing(path):
    with holder(path) as (process, said):
        assert said == "held"
        assert is_locked(path)
        process.kill()
        process.wait()
        assert not is_locked(path)


def test_waiting_for_a_lock(path):
    with holder(path) as (process, _):
        with pytest.raises(FileInUseError), lock_for_writing(path, wait=0.1):
            pass
        threading.Timer(0.2, process.stdin.close).start()
        with lock_for_writing(path, wait=60):
            assert process.wait() == 0


def test_threads_exclude_each_other_too(path):
    seen = []
    with lock_for_writing(path):
        thread = threading.Thread(target=lambda: seen.append(is_locked(path)))
        thread.start()
        thread.join()
    assert seen == [True]


def test_another_thread_may_release(path):
    """A server may open a file in one thread, and close it in another."""
    stack = contextlib.ExitStack()
    stack.enter_context(lock_for_writing(path))
    thread = threading.Thread(target=stack.close)
    thread.start()
    thread.join()
    assert not is_locked(path)


def test_all_names_of_a_file_share_a_lock(path, tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "link.perch").symlink_to(path)
    (folder / "linked").symlink_to(tmp_path)
    monkeypatch.chdir(folder)
    with holder(path) as (_, said):
        assert said == "held"
        for name in ("link.perch", "linked/tree.perch", "../tree.perch"):
            assert is_locked(name)
    assert sorted(os.listdir(folder)) == ["link.perch", "linked"]


def test_a_file_that_is_not_there_yet(tmp_path):
    path = tmp_path / "new.perch"
    with lock_for_writing(path):
        assert is_locked(path)
        assert not path.exists()
    assert os.listdir(tmp_path) == [".new.perch.lock"]


def test_other_files_are_not_locked(path, tmp_path):
    with lock_for_writing(path):
        assert not is_locked(tmp_path / "other.perch")


def test_an_error_inside_releases_the_lock(path):
    with pytest.raises(ZeroDivisionError), lock_for_writing(path):
        raise ZeroDivisionError
    assert not is_locked(path)


def test_where_there_can_be_no_lock(path, tmp_path):
    """A folder that is not there, one that is a file, one where nothing can be created."""
    for wrong in (tmp_path / "no" / "tree.perch", path / "tree.perch", "/proc/tree.perch"):
        with pytest.raises(OSError, match=r"cannot be locked \(.+\): keep it in") as error:
            is_locked(wrong)
        assert error.value.filename == str(wrong)
        assert ".lock" not in str(error.value)
    assert os.listdir(tmp_path) == ["tree.perch"]


def test_a_file_system_without_locks(path, monkeypatch):
    """No lock is better than one that stays when its process is killed."""

    def refuse(*_arguments):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match=r"cannot be locked \(Function not implemented\)"):
        is_locked(path)
