"""Faults of version 0.1 that users met on the command line."""

import csv
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest
from kinds import Rows
from test_processes import PERCH, end_of, line, saved_points, start, wait_until

from perchtree import ClusterTree, Collection, Perch
from perchtree.metrics import dendrogram_purity


@pytest.mark.jit
def test_a_tree_that_is_being_made_cannot_be_added_to(tmp_path, monkeypatch):
    """`fit -` with checkpoints took no lock: what `add` saved meanwhile was lost."""
    monkeypatch.chdir(tmp_path)
    np.save("more.npy", np.ones((5, 2)))
    process = start("fit", "-", "-o", "t.perch", "--features", "x", "--checkpoint", 0.1)
    for row in np.random.default_rng(0).random((40, 2)):
        process.stdin.write(line(row))
    process.stdin.flush()
    wait_until(lambda: saved_points("t.perch") == 40)
    added = subprocess.run(
        [*PERCH, "add", "t.perch", "more.npy"], capture_output=True, text=True, check=False
    )
    assert added.returncode == 1
    assert "t.perch is being changed by another process: try again later" in added.stderr
    process.stdin.write(line(np.array([3.0, 3.0])))
    end_of(process, 0)
    assert saved_points("t.perch") == 41
    added = subprocess.run([*PERCH, "add", "t.perch", "more.npy", "-q"], check=True)
    assert saved_points("t.perch") == 46


def test_classes_stay_in_order_though_ids_are_a_permutation(perch, tmp_path):
    """Only `--shuffle` makes ids row numbers; a user's own integers may look the same."""
    rng = np.random.default_rng(1)
    X, y = rng.random((30, 2)), np.repeat([0, 1, 2], 10)
    X += 5 * y[:, np.newaxis]
    keys = rng.permutation(30)
    rows = ["id,a,b", *(f"{k},{a},{b}" for k, (a, b) in zip(keys, X, strict=True))]
    (tmp_path / "x.csv").write_text("\n".join(rows) + "\n")
    np.save(tmp_path / "y.npy", y)
    perch("fit", "x.csv", "-o", "t.perch", "--id", "id")
    scores = perch.json("score", "t.perch", "--classes", "y.npy")
    assert scores["dendrogram_purity"] == 1.0
    np.save(tmp_path / "x.npy", X)
    perch("fit", "x.npy", "-o", "s.perch", "--shuffle", 7)
    scores = perch.json("score", "s.perch", "--classes", "y.npy")
    shuffled = Collection.open("s.perch")
    own = y[shuffled.keys]
    assert scores["dendrogram_purity"] == dendrogram_purity(shuffled.tree, own) == 1.0


def test_rows_of_a_stream_can_be_skipped(perch, monkeypatch, tmp_path):
    rows = "x\n" + "".join(f"{i}\n" for i in range(50))
    code = subprocess.run(
        [*PERCH, "fit", "-", "-o", "t.perch", "--skip-rows", "20", "-q", "--batch", "7"],
        input=rows, text=True, check=False,
    ).returncode  # fmt: skip
    assert code == 0
    tree = ClusterTree.load("t.perch")
    assert tree.n_points == 30
    assert tree.nearest([[20.0]])[1] == 0
    assert tree.nearest([[19.0]])[1] == 1


def test_adding_the_same_file_again_is_no_failure(perch, tmp_path, X):
    options = Rows(X).write(tmp_path, "csv")
    perch("fit", *options, "-o", "t.perch")
    before = (tmp_path / "t.perch").read_bytes()
    assert "again: ids must be unique" in perch.fails("add", "t.perch", *options)
    result = perch("add", "t.perch", *options, "--skip-bad")
    assert "18 bad rows skipped" in result.stderr
    assert "t.perch is unchanged" in result.stderr
    assert (tmp_path / "t.perch").read_bytes() == before


@pytest.mark.jit
def test_the_hint_after_an_interruption_can_be_pasted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).random((20_000, 4))
    with open("my rows.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "what it is", "kind", "f1", "f2", "f3", "f4", "other"])
        for i, row in enumerate(rows.tolist()):
            writer.writerow([f"n{i}", f"text {i}", i % 3, *row, "x"])
    process = start(
        "fit", "my rows.csv", "-o", "t.perch", "--id", "name", "--text", "what it is", "--class",
        "kind", "--features", "f*", "--header", "--batch", 500, "--checkpoint", 0.05,
    )  # fmt: skip
    wait_until(lambda: saved_points("t.perch") > 500)
    process.send_signal(signal.SIGINT)
    error = end_of(process, 1)
    done = saved_points("t.perch")
    assert done < len(rows)
    _, _, command = error.partition("To continue: ")
    words = shlex.split(command)
    assert words[0] == "perch"
    subprocess.run([*PERCH, *words[1:], "-q"], check=True)
    collection = Collection.open("t.perch")
    assert len(collection) == len(rows)
    assert collection.texts[-1] == "text 19999"
    assert collection.classes[:4] == ["0", "1", "2", "0"]
    assert collection.keys[done] == f"n{done}"


def test_loading_and_saving_keeps_classes_and_texts(perch, tmp_path, X):
    perch("fit", *Rows(X).write(tmp_path, "parquet"), "-o", "t.perch")
    Perch.load("t.perch").save("t.perch")
    kept = Collection.open("t.perch")
    assert kept.classes == Rows(X).classes
    assert kept.texts == Rows(X).texts


@pytest.mark.jit
def test_all_is_compiled_before_the_first_row():
    """An automatic search changed its method in the middle of a run, and compiled then.

    Whatever is compiled is first looked for on disk, and that is counted: so it does not matter
    what is there already.
    """
    script = """
import numpy as np
from perchtree import ClusterTree
from perchtree._kernels.disk_cache import SourceKeyedCache
from perchtree.settings import Settings
from perchtree import warmup

looked_for = []
load = SourceKeyedCache.load_overload

def counting(cache, *signature):
    looked_for.append(cache._py_func.__qualname__)
    return load(cache, *signature)

SourceKeyedCache.load_overload = counting
warmup._mark = lambda *_settings: None  # as if it had never been done
warmup.warm_up(Settings())
assert looked_for
looked_for.clear()
rng = np.random.default_rng(0)
for search in ("astar", "scan", "auto"):
    tree = ClusterTree(40, search=search)
    tree.insert(rng.random((3000, 40)))
    tree.insert(rng.random((3, 40)))
print(looked_for)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
