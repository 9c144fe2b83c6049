"""`perch` as a process: streams, signals, checkpoints, memory."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from perchtree import ClusterTree, Collection, CorruptFileError, Perch
from reference import clades_of

pytestmark = pytest.mark.jit

PERCH = [sys.executable, "-m", "perchtree"]


def start(*args, **more):
    return subprocess.Popen(
        [*PERCH, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **more,
    )  # fmt: skip


def end_of(process, code, timeout=120):
    _, error = process.communicate(timeout=timeout)
    assert process.returncode == code, error.decode()
    assert b"Traceback" not in error
    return error.decode()


def wait_until(condition, seconds=120):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.05)


def listens(process):
    """Whether a process has a handler for SIGTERM by now."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1


def saved_points(path):
    try:
        return ClusterTree.load(path).n_points
    except (OSError, CorruptFileError):
        return 0


def line(row, key=None):
    record = {"x": row.tolist()} | ({} if key is None else {"id": key})
    return (json.dumps(record) + "\n").encode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_stream_is_inserted_as_it_arrives_and_ends_by_sigterm(folder, X):
    process = start("fit", "-", "-o", "t.perch", "--id", "id", "--checkpoint", 0.2)
    for i in range(5):
        process.stdin.write(line(X[i], f"k{i}"))
    process.stdin.flush()
    # The stream is still open: a checkpoint does not wait for its next line.
    wait_until(lambda: saved_points("t.perch") == 5)
    for i in range(5, 9):
        process.stdin.write(line(X[i], f"k{i}"))
        process.stdin.flush()
    wait_until(lambda: saved_points("t.perch") == 9)
    for i in range(9, 12):
        process.stdin.write(line(X[i], f"k{i}"))
    process.stdin.flush()
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    process.wait(60)  # while its standard input is open
    assert "To continue" in end_of(process, 0)
    assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(X[:12]).tree_)
    assert Perch.load("t.perch").keys_.tolist() == [f"k{i}" for i in range(12)]


def test_a_fast_stream_can_be_stopped(folder):
    """What was read is inserted, however fast more would come."""
    code = "import sys\nwhile True: sys.stdout.write('{\"x\":[%d,%d]}\\n' * 50 % ((1, 2) * 50))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as producer:
        process = subprocess.Popen(
            [*PERCH, "fit", "-", "-o", "t.perch", "--checkpoint", "0.1"],
            stdin=producer.stdout, stderr=subprocess.PIPE,
        )  # fmt: skip
        wait_until(lambda: saved_points("t.perch") > 0)
        process.send_signal(signal.SIGINT)
        assert "stopped" in end_of(process, 1)
        producer.kill()
    assert saved_points("t.perch") > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("rest", [b"\n", b'\n\n"not whole\n', b""])
def test_rows_that_have_arrived_are_kept_whatever_follows_them(folder, number, rest):
    """Blank lines and the beginning of a record do not hold back what came before."""
    process = start("fit", "-", "-o", "t.perch", "--text", "t", "--checkpoint", 0.2)
    process.stdin.write(b'a,t\n1,"x\ny"\n2,z\n' + rest)
    process.stdin.flush()
    wait_until(lambda: saved_points("t.perch") == 2)
    process.send_signal(number)
    assert "2 points saved" in end_of(process, 0 if number == signal.SIGTERM else 1)
    assert Collection.open("t.perch").texts == ["x\ny", "z"]


def test_a_stream_that_never_began(folder):
    process = start("fit", "-", "-o", "t.perch")
    wait_until(lambda: listens(process))
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    assert "nothing was saved" in end_of(process, 0)
    process = subprocess.run(
        f"{sys.executable} -m perchtree fit - -o t.perch <&-", shell=True, capture_output=True
    )
    assert b"standard input: it is closed" in process.stderr


def test_the_exit_code_is_ours_wherever_the_interrupt_came(folder):
    """Python kills itself if an interrupt has left exec() of a string, even one that was caught."""
    Path("interrupted.py").write_text(
        "import sys\nfrom perchtree.cli.running import Command\n"
        "def work():\n"
        "    try: exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt: sys.exit(0)\n"
        "Command('work', callback=work)()\n"
    )
    assert subprocess.run([sys.executable, "-m", "interrupted"]).returncode == 0


def test_csv_streams_and_what_follows_them(folder, X):
    text = "a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in X.tolist())
    process = start("fit", "-", "-o", "t.perch")
    process.stdin.write(text.encode())
    assert "18 points" in end_of(process, 0)
    assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(X).tree_)
    process = start("predict", "t.perch", "-", "-o", "-")
    process.stdin.write(text.encode())
    process.stdin.close()
    process.stdin = None
    output = process.stdout.read().decode()
    end_of(process, 0)
    assert len(output.splitlines()) == 19


def test_a_bad_row_stops_a_stream_with_the_last_checkpoint_whole(folder, X):
    process = start("fit", "-", "-o", "t.perch", "--checkpoint", 0.1)
    process.stdin.write(b"".join(map(line, X[:10])))
    process.stdin.flush()
    wait_until(lambda: saved_points("t.perch") == 10)
    process.stdin.write(line(X[10]) + b'{"x": [1, 2\n' + line(X[11]))
    error = end_of(process, 1)
    assert "standard input: line 12 is not JSON, or cut short" in error
    assert "the last checkpoint, up to row 10, is whole" in error
    assert saved_points("t.perch") == 10
    process = start("add", "t.perch", "-", "--skip-bad")
    process.stdin.write(line(X[10]) + b'{"x": [1, 2\n' + line(X[11]))
    assert "1 bad row skipped" in end_of(process, 0)
    assert saved_points("t.perch") == 12


@pytest.mark.parametrize(
    ("number", "shuffle"), [(signal.SIGINT, []), (signal.SIGTERM, ["--shuffle", "5"])]
)
def test_an_interrupted_fit_is_saved_and_can_go_on(folder, number, shuffle):
    X = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    np.save("x.npy", X)
    process = start("fit", "x.npy", "-o", "t.perch", "--search", "astar", "--checkpoint", 0.1,
                    "--batch", 500, *shuffle)  # fmt: skip
    wait_until(lambda: os.path.exists("t.perch"))
    process.send_signal(number)
    error = end_of(process, 1)
    command = re.search(r"perch (add t.perch .*)", error)[1].split()
    done = saved_points("t.perch")
    assert 0 < done < 20_000
    assert f"--skip-rows {done}" in error
    assert "20,000 points" in end_of(start(*command), 0)
    order = np.random.default_rng(5).permutation(20_000) if shuffle else np.arange(20_000)
    assert np.array_equal(ClusterTree.load("t.perch").children, Perch().fit(X[order]).children_)


def test_an_interrupted_add_loses_nothing(folder):
    X = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    names = [f"text {i}" for i in range(20_000)]
    table = {"x": list(X), "id": np.arange(20_000), "t": names}
    pq.write_table(pa.table(table).slice(0, 100), "a.parquet")
    pq.write_table(pa.table(table).slice(100), "b.parquet")
    roles = ["--id", "id", "--text", "t", "--features", "x"]
    end_of(start("fit", "a.parquet", "-o", "t.perch", *roles), 0)
    process = start("add", "t.perch", "b.parquet", *roles, "--checkpoint", 0.1, "--batch", 500)
    wait_until(lambda: saved_points("t.perch") > 100)
    process.send_signal(signal.SIGINT)
    end_of(process, 1)
    done = saved_points("t.perch")
    assert 100 < done < 20_000
    collection = Collection.open("t.perch")
    assert collection.texts == names[:done]
    assert collection.keys.tolist() == list(range(done))


def test_memory_is_bounded(folder):
    """Four times the data takes hardly more memory; the benchmark has a gigabyte."""
    peaks = []
    for n_files in (2, 8):
        data = Path(f"data{n_files}")
        data.mkdir()
        for part in range(n_files):
            X = np.random.default_rng(part).normal(size=(15_000, 64)).astype(np.float32)
            lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 64)
            pq.write_table(pa.table({"x": lists}), data / f"{part}.parquet")
        code = (
            "import resource, sys; from perchtree.cli import main\n"
            f"main(['fit', '{data}', '-o', '{data}.perch', '--mode', 'bc', '--max-leaves', '200', "
            "'--beam-width', '4', '--batch', '2000', '-q'], standalone_mode=False)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        peaks.append(int(result.stdout) * 1024)
    more_data = 6 * 15_000 * 64 * 4
    assert peaks[1] - peaks[0] < more_data / 2, peaks


def test_a_closed_pipe_is_no_error(folder, X):
    np.save("x.npy", np.repeat(X, 5000, axis=0))
    end_of(start("fit", "x.npy", "-o", "t.perch"), 0)
    shell = f"{sys.executable} -m perchtree cut t.perch -q -o - | head -2"
    result = subprocess.run(["bash", "-c", f"set -o pipefail; {shell}"], capture_output=True)
    assert result.stdout.startswith(b"id,cluster,confidence\n0,0,")
    assert result.stdout.count(b"\n") == 2
    assert result.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_help_that_cannot_be_written():
    for arguments in (["--help"], ["fit", "--help"], ["--version"]):
        with open("/dev/full", "w") as full:
            process = subprocess.run([*PERCH, *arguments], stdout=full, stderr=subprocess.PIPE)
        assert process.returncode == 1
        assert process.stderr == b"perch: error: No space left on device\n"
