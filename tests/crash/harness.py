"""Kills, failures and losses of power, in processes of their own; see docs/durability.md.

    python tests/crash/harness.py all          the whole, in an hour
    python tests/crash/harness.py all quick    a part of it, in seconds
    python tests/crash/harness.py power 2/8    the second of eight parts of one of its tests

A process that has everything imported and compiled forks one child for each run, so that a run
takes a tenth of a second. Calls to the system go through `shim.c`.
"""

import contextlib
import ctypes
import errno
import faulthandler
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

HERE = Path(__file__).parent
NOTHING, KILL_BEFORE, KILL_AFTER, FAIL_FROM, FAIL_ONCE = range(5)

PATIENCE = 600
"""Seconds after which a process hangs: most take a tenth of one, and a few a minute."""


def build_shim(folder):
    """Compile the shim; its path."""
    shim = Path(folder) / "shim.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(HERE / "shim.c"), "-ldl"]
    subprocess.run([*command, "-lpthread"], check=True)
    return shim


def run(*arguments, folder, timeout=None):
    """Run this module under the shim: what it prints."""
    environment = os.environ | {
        "LD_PRELOAD": str(build_shim(folder)),
        "PERCH_SHIM_FOLDER": str(Path(folder).resolve() / "work"),
        "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, str(Path(__file__)), "--inside", *map(str, arguments)]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


class Run:
    """A child process, and what it said before it ended."""

    def __init__(self, work, *given):
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)  # one that hangs says where
            code = 1
            try:
                warnings.simplefilter("ignore")
                work(lambda line: os.write(writing, f"{line}\n".encode()), *given)
                code = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writing)
        self._reading = reading
        self._said = b""

    def wait_for(self, line):
        while f"{line}\n".encode() not in self._said:
            piece = os.read(self._reading, 65536)
            if not piece:
                return
            self._said += piece

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def end(self):
        """Wait for its end: the lines it said, and its exit code (negative for a signal)."""
        while piece := os.read(self._reading, 65536):
            self._said += piece
        os.close(self._reading)
        _, status = os.waitpid(self.pid, 0)
        return self._said.decode().splitlines(), os.waitstatus_to_exitcode(status)


def folder_of(name):
    path = Path(os.environ["PERCH_SHIM_FOLDER"])
    path.mkdir(exist_ok=True)
    path = path / name
    shutil.rmtree(path, ignore_errors=True)
    return path


def acknowledged(lines):
    return max((int(line.split()[1]) for line in lines if line.startswith("acked")), default=0)


def checked(path, twin, lines, *, verify=True):
    """Open a folder after a crash: nothing acknowledged is lost, and nothing is half done."""
    if not (path / "collection.sqlite").exists():
        assert acknowledged(lines) == 0
        return 0
    try:
        kept = Collection.open(path)
    except FileNotFoundError:
        assert acknowledged(lines) == 0
        return 0
    with kept:
        assert kept.operation >= acknowledged(lines), (kept.operation, lines[-3:])
        twin.compare(kept)
        if verify:
            kept.verify()
        return kept.operation


# Killed at random


def one_thread(say, path, seed, number):
    """One operation after the other, with snapshots and compactions amid them."""
    chance = random.Random(number * 7919 + seed)
    kept = Collection.open(path, write=True, **SETTINGS)
    say("ready")
    snapshots = threading.Thread(target=snapshot_again, args=(kept,), daemon=True)
    snapshots.start()
    while True:
        step(kept, seed, kept.operation + 1)
        say(f"acked {kept.operation}")
        if chance.random() < 0.1:
            kept.compact()
            say("compacted")


def snapshot_again(kept):
    while True:
        if kept._tree is not None:
            kept.snapshot()
        time.sleep(0.01)


def many_threads(say, path, number):
    """Threads that add and remove records of their own."""
    kept = Collection.open(path, write=True, **SETTINGS)
    known = list(kept.keys)

    def work(thread):
        chance = random.Random(number * 31 + thread)
        mine = [key for key in known if key.startswith(f"{thread}/")]
        for i in range(10**6):
            batch = [f"{thread}/{number}/{i}/{j}" for j in range(chance.randrange(1, 4))]
            rows = [[chance.randrange(9) for _ in range(D)] for _ in batch]
            kept.add(rows, keys=batch, texts=batch)
            say(f"added {' '.join(batch)}")
            mine += batch
            if chance.random() < 0.3:
                gone = [mine.pop(chance.randrange(len(mine)))]
                say(f"removing {gone[0]}")
                kept.remove(gone)
                say(f"removed {gone[0]}")

    threads = [threading.Thread(target=work, args=(t,), daemon=True) for t in range(4)]
    for thread in threads:
        thread.start()
    say("ready")
    chance = random.Random(number)
    while True:
        time.sleep(chance.random() * 0.03)
        kept.snapshot() if kept._tree is not None and chance.random() < 0.8 else kept.compact()


def check_threads(path, known, lines):
    """What was acknowledged is there; a batch is there as a whole or not at all."""
    with Collection.open(path) as kept:
        present = set(kept.keys)
        for line in lines:
            kind, *keys = line.split()
            if kind == "added":
                known.update(dict.fromkeys(keys, True))
            elif kind == "removing":
                known[keys[0]] = None  # either way
            elif kind == "removed":
                known[keys[0]] = False
        for key, there in known.items():
            assert there is None or (key in present) == there, f"{key} is lost or has come back"
        batches = {}
        for key in present - known.keys():  # of batches that were not acknowledged
            batches.setdefault(key.rsplit("/", 1)[0], []).append(key)
        for names in batches.values():
            assert sorted(names)[0].endswith("/0"), "half of a batch"
            assert len(names) == int(max(names).rsplit("/", 1)[1]) + 1, "half of a batch"
        for key in known:
            if known[key] is None:
                known[key] = key in present
        known.update(dict.fromkeys(present, True))
        assert kept.texts is None or kept.texts == list(kept.keys)
        kept.verify()
        return kept.operation


def kill_at_random(n_kills, part=0):
    chance = random.Random(part)
    n_operations = n_killed = 0
    for episode in range(1000 * part, 1000 * part + max(1, n_kills // 20)):
        alone, together = folder_of("alone.perchdb"), folder_of("together.perchdb")
        twin, known = Twin(episode), {}
        for turn in range(min(10, n_kills // 2)):
            child = Run(one_thread, alone, episode, turn)
            child.wait_for("ready") if chance.random() < 0.8 else None
            time.sleep(chance.random() * 0.08)
            child.kill()
            lines, code = child.end()
            assert code == -signal.SIGKILL, (code, lines[-2:])
            n_operations += acknowledged(lines) > 0
            checked(alone, twin, lines)
            child = Run(many_threads, together, episode * 1000 + turn)
            child.wait_for("ready")
            time.sleep(chance.random() * 0.08)
            child.kill()
            lines, code = child.end()
            assert code == -signal.SIGKILL, (code, lines[-2:])
            check_threads(together, known, lines)
            n_killed += 2
    print(f"kill -9 at random moments: {n_killed} kills, 0 acknowledged operations lost")


# Killed at every call


def template(seed=3, n=25):
    """A folder with some of everything, and what it must be."""
    path, twin = folder_of("template.perchdb"), Twin(seed)

    def fill(say):
        kept = Collection.open(path, write=True, **SETTINGS)
        for number in range(1, n):
            step(kept, seed, number)
            if number in (8, 16):
                kept.snapshot()
        say(f"acked {n - 1}")
        kept._store.close()

    lines, code = Run(fill).end()
    assert code == 0
    checked(path, twin, lines)
    return path, twin


def armed(say, path, work, n, what, error=0):
    kept = Collection.open(path, write=True)
    SHIM.shim_arm(n, what, error)
    work(kept, say)
    say(f"calls {SHIM.shim_count()}")
    SHIM.shim_arm(-1, NOTHING, 0)
    os._exit(0)


def do_snapshot(kept, say):
    kept.snapshot()


def do_compact(kept, say):
    kept.compact()


def do_changes(kept, say):
    for _ in range(6):
        step(kept, 3, kept.operation + 1)
        say(f"acked {kept.operation}")
    kept.close()


WORKS = {"snapshot": do_snapshot, "compaction": do_compact, "six changes": do_changes}


def kill_at_every_call(part=0, stride=1):
    start, twin = template()
    for name, work in WORKS.items():
        path = folder_of("run.perchdb")
        shutil.copytree(start, path)
        lines, _ = Run(armed, path, work, -1, NOTHING).end()
        n_calls = int(lines[-1].split()[1])
        for n in range(1 + part, n_calls + 1, stride):
            for what in (KILL_BEFORE, KILL_AFTER):
                shutil.rmtree(path)
                shutil.copytree(start, path)
                lines, code = Run(armed, path, work, n, what).end()
                assert code == -signal.SIGKILL or name == "six changes", (name, n, code)
                own = Twin(twin.seed)
                checked(path, own, lines)
                lines, code = Run(go_on, path).end()
                assert code == 0, (name, n, lines)
                own = Twin(twin.seed)
                checked(path, own, lines, verify=False)
        which = told_of(part, stride)
        print(f"killed before and after each of {n_calls} calls of {name} ({which}): whole")


def go_on(say, path):
    """What every folder must allow after a crash: changes, a snapshot, a compaction."""
    kept = Collection.open(path, write=True)
    step(kept, 3, kept.operation + 1)
    kept.snapshot()
    assert kept.compact()
    names = os.listdir(path)
    assert not [name for name in names if name.endswith(".part")], names
    say(f"acked {kept.operation}")
    kept.close()


# Failures


def failing(say, path, work, n, what, error):
    """A failure at a call: afterwards nothing is written, and what was acknowledged stays."""
    try:
        kept = Collection.open(path, write=True)
    except OSError:
        say("not opened")
        return
    SHIM.shim_arm(n, what, error)
    failed = None
    try:
        work(kept, say)
    except (OSError, sqlite3.Error) as raised:
        failed = raised
    SHIM.shim_arm(-1, NOTHING, 0)
    if failed is not None and kept._store is not None:
        try:
            kept.add([[1] * D], keys=["after the failure"])
        except ReadOnlyError:
            say("read-only")
        else:
            say("went on")
    elif failed is not None:
        say("closed")
    else:
        say("unharmed")
    with contextlib.suppress(OSError, sqlite3.Error):
        kept.close()


def fail_at_every_call(part=0, stride=1):
    start, twin = template()
    for name, work in WORKS.items():
        path = folder_of("run.perchdb")
        shutil.copytree(start, path)
        lines, _ = Run(armed, path, work, -1, NOTHING).end()
        n_calls = int(lines[-1].split()[1])
        ends = {}
        for n in range(1 + part, n_calls + 1, stride):
            for what, error in ((FAIL_FROM, errno.ENOSPC), (FAIL_ONCE, errno.EIO)):
                shutil.rmtree(path)
                shutil.copytree(start, path)
                lines, code = Run(failing, path, work, n, what, error).end()
                assert code == 0, (name, n, what, lines)
                assert lines[-1] != "went on", (name, n, what)
                ends[lines[-1]] = ends.get(lines[-1], 0) + 1
                checked(path, Twin(twin.seed), lines)
                lines, code = Run(go_on, path).end()
                assert code == 0, (name, n, lines)
        told = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
        which = told_of(part, stride)
        print(f"ENOSPC from and EIO at each of {n_calls} calls of {name} ({which}): {told}")


# Loss of power


def traced(say, path, trace, seed):
    SHIM.shim_trace(str(trace).encode())
    kept = Collection.open(path, write=True, **SETTINGS)
    for number in range(1, 26):
        step(kept, seed, number)
        SHIM.shim_mark(number)
        if number in (9, 15, 21):
            kept.snapshot()
        if number in (12, 20):
            kept.compact()
    kept.close()
    SHIM.shim_trace(None)


def lose_power(n_cuts=None, part=0, stride=1):
    path = folder_of("traced.perchdb")
    trace = Path(os.environ["PERCH_SHIM_FOLDER"]).parent / "trace"
    _, code = Run(traced, path, trace, 5).end()
    assert code == 0
    events = read_trace(trace)
    chance = random.Random(part)
    pairs = [(cut, missing) for cut in range(1, len(events) + 1) for missing in MISSING]
    pairs = pairs[part::stride] if n_cuts is None else chance.sample(pairs, n_cuts)
    for cut, missing in pairs:
        left = folder_of("left.perchdb")
        left.mkdir()
        acked = leave(events[:cut], path, left, missing, chance)
        checked(left, Twin(5), [f"acked {acked}"])
    print(
        f"loss of power: {len(pairs)} states of {len(events)} calls (unsynced writes gone, all "
        "there, or some of them): 0 acknowledged operations lost"
    )


MISSING = ("all", "none", "earliest", "some", "some")


def read_trace(trace):
    content, place, events = trace.read_bytes(), 0, []
    while place < len(content):
        kind, n_name, offset, n_data = struct.unpack_from("<4q", content, place)
        place += 32
        name = content[place : place + n_name].decode()
        place += n_name
        data = b""
        if chr(kind) in "wr":
            data = content[place : place + n_data]
            place += n_data
        events.append((chr(kind), name, offset, data))
    return events


def leave(events, path, left, missing, chance):
    """What is on the disk after these calls, if unsynced writes are missing; the last mark.

    A write is safe when its file was synced after it; a rename or a removal when the folder was, or
    the file that was renamed. What is not safe may be there or not.
    """
    acked, files, entries, safe = 0, {}, {}, {}
    pending = []  # renames and removals that no sync of the folder has made safe
    for kind, name, offset, data in events:
        if kind == "m":
            acked = offset
        elif kind in "wt":
            if name not in entries:
                entries[name] = name
                files[name] = []
                safe[name] = 0
            files[entries[name]].append((kind, offset, data))
        elif kind == "s":
            if name in entries:
                safe[entries[name]] = len(files[entries[name]])
            elif name == str(path):
                pending.clear()
        elif kind == "r":
            new = data.decode()
            pending.append((dict(entries), len(pending)))
            entries[new] = entries.pop(name)
        elif kind == "u" and name in entries:
            pending.append((dict(entries), len(pending)))
            del entries[name]
            if name.endswith("-wal"):  # the next of this name is another file
                key = f"{name}#{len(files)}"
                files[key], safe[key] = files.pop(name), safe.pop(name)
                for before, _ in pending:
                    for entry, there in before.items():
                        if there == name:
                            before[entry] = key
    if pending and missing != "none" and (missing == "all" or chance.random() < 0.5):
        entries = pending[0 if missing == "all" else chance.randrange(len(pending))][0]
    for name, key in entries.items():
        kept = files[key][: safe[key]]
        loose = files[key][safe[key] :]
        if missing == "none":
            kept += loose
        elif missing == "earliest":
            kept += loose[1:]
        elif missing == "some":
            kept += [write for write in loose if chance.random() < 0.5]
        content = bytearray()
        for kind, offset, data in kept:
            if kind == "t":
                del content[offset:]
                content.extend(bytes(offset - len(content)))
            else:
                content.extend(bytes(max(0, offset + len(data) - len(content))))
                content[offset : offset + len(data)] = data
        (left / Path(name).name).write_bytes(content)
    return acked


# Locks


def locks_that_do_not_lock():
    path = folder_of("locks.perchdb")

    def attempt(say):
        SHIM.shim_loose_locks(1)
        try:
            Collection.open(path, write=True)
        except OSError as error:
            say(f"refused {error}")

    lines, _ = Run(attempt).end()
    assert lines[0].startswith("refused"), lines
    assert "locks do not work" in lines[0]
    print("a file system that grants every lock: refused")


def no_memory(turns):
    """Inserts that run out of memory: the collection stays whole."""
    ends = {}
    for turn in turns:
        path = folder_of("memory.perchdb")

        def work(say, path=path, turn=turn):
            kept = Collection.open(path, write=True, **SETTINGS)
            step(kept, 9, 1)
            say("acked 1")
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            limit, hard = used + 2**20 * (1 + turn), resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
            try:
                for _ in range(40):
                    import numpy as np

                    rows = np.random.default_rng(kept.next_id).normal(size=(5000, D))
                    kept.add(rows, keys=[f"{kept.next_id + i}" for i in range(5000)])
                    say(f"rows {len(kept)}")
            except (MemoryError, ReadOnlyError) as error:
                say(f"failed {type(error).__name__}")
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
            say(f"left {len(kept)}")
            kept.tree.check()

        lines, code = Run(work).end()
        end = (
            lines[-2].split()[1] if code == 0 and lines[-2].startswith("failed") else f"exit {code}"
        )
        ends[end] = ends.get(end, 0) + 1
        n_rows = max((int(line.split()[1]) for line in lines if line.startswith("rows")), default=0)
        with Collection.open(path) as kept:
            assert len(kept) >= n_rows
            kept.verify()
    n_limits = len(turns)
    print(f"out of memory amid inserts, {n_limits} limits: 0 acknowledged rows lost, whole; {ends}")


def told_of(part, stride):
    return f"from the {part + 1}., every {stride}." if stride > 1 else "every one"


def main(what, quick, part, parts):
    if what in ("all", "random"):
        kill_at_random(10 if quick else 1000 // parts, part)
    if what in ("all", "calls"):
        kill_at_every_call(part, 31 if quick else parts)
    if what in ("all", "failures"):
        fail_at_every_call(part, 41 if quick else parts)
    if what in ("all", "power"):
        lose_power(25 if quick else None, part, parts)
    if what in ("all", "locks"):
        locks_that_do_not_lock()
    if what in ("all", "memory"):
        no_memory(range(2) if quick else range(part, 20, parts))


if __name__ == "__main__":
    if "--inside" not in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            print(run(*sys.argv[1:], folder=folder), end="")
        sys.exit()
    import sqlite3
    import struct

    from workload import SETTINGS, D, Twin, step

    from perchtree import Collection, ReadOnlyError

    SHIM = ctypes.CDLL(None)
    SHIM.shim_count.restype = ctypes.c_long
    SHIM.shim_arm.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_int]
    warm = Twin(0)
    for number in range(1, 60):
        step(warm.collection, 0, number)
    _, what, *rest = sys.argv[1:]
    pieces = [word.split("/") for word in rest if "/" in word]
    number, of = map(int, pieces[0] if pieces else (1, 1))
    main(what, "quick" in rest, number - 1, of)
