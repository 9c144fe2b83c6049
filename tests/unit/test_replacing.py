"""Replacing files: whatever happens to a process, the old file or the new one is there."""

import contextlib
import errno
import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading

import pytest

from perchtree.files.replacing import replacing

pytestmark = pytest.mark.outer

# A process in the middle of a save: it goes on when it is told to.
WRITER = """
import sys
from pathlib import Path
from perchtree.files.replacing import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"new" * 1000)
    file.flush()
    print("amid", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def writer(path):
    """A process that has written a part of `path`, killed at the end if it is still alive."""
    command = [sys.executable, "-c", WRITER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout.readline() == b"amid\n"
            yield process
        finally:
            process.kill()


def save(path, content):
    with replacing(path) as file:
        file.write(content)


def parts(folder):
    return [path for path in folder.iterdir() if path.name.endswith(".part")]


def mode(path):
    return path.stat().st_mode & 0o777


@contextlib.contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_a_killed_save_leaves_the_old_file_and_the_next_one_cleans_up(tmp_path):
    path = tmp_path / "tree.perch"
    save(path, b"old")
    for _ in range(3):
        with writer(path) as process:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert path.read_bytes() == b"old"
    # A killed process had removed what the one before it left.
    assert len(parts(tmp_path)) == 1
    save(path, b"newest")
    assert path.read_bytes() == b"newest"
    assert os.listdir(tmp_path) == ["tree.perch"]


def test_leftovers_go_even_if_the_save_fails(tmp_path):
    """They may be what fills the disk."""
    path = tmp_path / "tree.perch"
    with writer(path):
        pass
    assert len(parts(tmp_path)) == 1
    with pytest.raises(ZeroDivisionError), replacing(path):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_a_file_that_a_living_process_writes_is_left_alone(tmp_path):
    path = tmp_path / "tree.perch"
    with writer(path) as process:
        theirs = parts(tmp_path)
        save(path, b"ours")
        assert path.read_bytes() == b"ours"
        assert parts(tmp_path) == theirs
        process.communicate(b"")
        assert process.returncode == 0
    assert path.read_bytes() == b"new" * 1000
    assert os.listdir(tmp_path) == ["tree.perch"]


def test_threads_that_save_to_one_file(tmp_path):
    """Each finds the others' part files, and takes none of them for a leftover."""
    path = tmp_path / "tree.perch"
    failures = []

    def run(content):
        try:
            for _ in range(20):
                save(path, content)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(b"%d" % i * 1000,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert path.read_bytes() in [b"%d" % i * 1000 for i in range(4)]
    assert os.listdir(tmp_path) == ["tree.perch"]


def test_a_part_file_that_is_deleted_before_it_is_locked(tmp_path, monkeypatch):
    """The moment between the two system calls, in which it looks like a leftover."""
    path = tmp_path / "tree.perch"
    created = []

    def open_and_lose(name, flags, *mode):
        descriptor = os_open(name, flags, *mode)
        if flags & os.O_CREAT:
            created.append(name)
            if len(created) == 1:
                os.unlink(name)
        return descriptor

    os_open = os.open
    monkeypatch.setattr(os, "open", open_and_lose)
    save(path, b"saved all the same")
    assert len(created) == 2
    assert path.read_bytes() == b"saved all the same"
    assert os.listdir(tmp_path) == ["tree.perch"]


def test_only_leftovers_of_the_same_file_are_removed(tmp_path):
    others = [
        ".tree.perch.part",
        ".tree.perch.0123456789abcdef.part",
        ".tree.perch.notes.part",
        ".treeXperch.0123456789ab.part",
        ".other.tree.perch.0123456789ab.part",
        "tree.perch.0123456789ab.part",
        ".tree.perch.0123456789ab.part.txt",
    ]
    for name in [*others, ".tree.perch.0123456789ab.part"]:
        (tmp_path / name).write_text("something")
    save(tmp_path / "tree.perch", b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "tree.perch"])


def test_names_that_mean_something_to_patterns(tmp_path):
    path = tmp_path / "t[r]ee (1)*.perch"
    with writer(path):
        pass
    assert len(parts(tmp_path)) == 1
    save(path, b"new")
    assert os.listdir(tmp_path) == [path.name]


def test_new_files_get_what_the_umask_leaves(tmp_path):
    for mask in (0o022, 0o027, 0o077, 0o000):
        with umask(mask):
            save(tmp_path / f"{mask:o}.perch", b"new")
        assert mode(tmp_path / f"{mask:o}.perch") == 0o666 & ~mask


def test_the_umask_of_the_process_is_never_changed(tmp_path, monkeypatch):
    """It belongs to all threads: what another one creates meanwhile would be open to everybody."""

    def refuse(_mask):
        raise AssertionError("the umask was changed")

    with umask(0o027):
        monkeypatch.setattr(os, "umask", refuse)
        save(tmp_path / "tree.perch", b"new")
        save(tmp_path / "tree.perch", b"newer")
        monkeypatch.undo()
    assert mode(tmp_path / "tree.perch") == 0o640


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "tree.perch"
    save(path, b"old")
    for kept in (0o600, 0o664, 0o644, 0o400):
        path.chmod(kept)
        with umask(0o027), replacing(path) as file:
            # What is private is never readable to others, not even while it is written.
            assert mode(parts(tmp_path)[0]) == kept
            file.write(b"new")
        assert mode(path) == kept


def test_links_stay_links(tmp_path):
    real, link = tmp_path / "real.perch", tmp_path / "elsewhere" / "link.perch"
    link.parent.mkdir()
    link.symlink_to(real)
    save(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    with writer(link):
        pass
    assert len(parts(tmp_path)) == 1
    save(real, b"newer")
    assert link.read_bytes() == b"newer"
    assert parts(tmp_path) == parts(link.parent) == []


def test_errors_name_the_file_and_not_its_part(tmp_path):
    loop = tmp_path / "loop.perch"
    loop.symlink_to(loop)
    (tmp_path / "folder.perch").mkdir()
    (tmp_path / "file").write_text("")
    long = "n" * 245 + ".perch"
    for wrong in ("no/tree.perch", "file/tree.perch", "folder.perch", "loop.perch/x", long):
        path = tmp_path / wrong
        with pytest.raises(OSError, match="cannot save: ") as error:
            save(path, b"new")
        assert error.value.filename == str(path)
        assert ".part" not in str(error.value)
    assert parts(tmp_path) == []


def test_a_file_that_may_not_grow(tmp_path):
    path = tmp_path / "tree.perch"
    save(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match="cannot save: File too large"):
            save(path, bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["tree.perch"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    """Files are saved all the same, and nothing is taken for a leftover."""
    path = tmp_path / "tree.perch"
    with writer(path):
        pass
    left = parts(tmp_path)

    def refuse(*_arguments):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    save(path, b"new")
    assert path.read_bytes() == b"new"
    assert parts(tmp_path) == left


def test_permissions_that_cannot_be_kept(tmp_path, monkeypatch):
    path = tmp_path / "tree.perch"
    save(path, b"old")
    path.chmod(0o666)

    def refuse(*_arguments):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    with umask(0o077), pytest.raises(PermissionError, match="cannot save: Operation not"):
        save(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["tree.perch"]


FULL_DISK = """
import os, sys
from pathlib import Path
import numpy as np
from perchtree.files.container import Reader, Section, write
path = Path(sys.argv[1]) / "tree.perch"
for rows in (1000, 1_000_000):
    try:
        write(path, {"a": Section({}, {"x": np.arange(rows)})})
    except OSError as error:
        print(error.errno, error.strerror)
print(len(Reader(path).read("a", "x")), os.listdir(path.parent))
"""


def test_a_full_disk(tmp_path):
    """A small file system in memory, which only this process and its children see."""
    inside = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -c "$3" "$1"'
    alone = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    try:
        probe = subprocess.run(
            [*alone, 'mount -t tmpfs none "$1"', "sh", tmp_path], capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if probe.returncode:
        pytest.skip("file systems cannot be mounted")
    done = subprocess.run(
        [*alone, inside, "sh", tmp_path, sys.executable, FULL_DISK],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        f"{errno.ENOSPC} cannot save: No space left on device",
        "1000 ['tree.perch']",
    ]
