"""Signs of life while something takes long, and none while it does not."""

import inspect
import json
import os
import pkgutil
import pty
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from perchtree import warmup
from perchtree.cli import patience as patience_module
from perchtree.settings import Settings

SCRIPT = """
import time
from perchtree.cli.patience import patience

with patience("counting sheep"):
    time.sleep({seconds})
"""


def waiting(seconds, **more):
    env = {name: value for name, value in os.environ.items() if name != "PERCHTREE_QUIET"}
    code = SCRIPT.format(seconds=seconds)
    return subprocess.Popen([sys.executable, "-c", code], env=env, **more)


def test_a_pipe_gets_one_line_of_dots():
    process = waiting(3, stderr=subprocess.PIPE, text=True)
    line = process.communicate()[1]
    assert line.startswith("perch: counting sheep ....")
    assert line.endswith(" s\n")
    assert line.count("\n") == 1


def test_a_terminal_gets_a_line_that_is_wiped():
    ours, theirs = pty.openpty()
    process = waiting(2.5, stderr=theirs)
    process.wait()
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "perch: counting sheep ... 2 s" in shown
    assert shown.endswith("\r\x1b[2K")


def test_nothing_is_said_of_what_is_quick():
    process = waiting(0.1, stderr=subprocess.PIPE, text=True)
    assert process.communicate()[1] == ""


def test_silence_counts_from_the_last_sign_of_life():
    code = """
import time
from perchtree.cli.patience import _LEAST, _SILENCE, patience

time.sleep(_SILENCE)
with patience("counting sheep"):
    time.sleep(2 * _LEAST)
with patience("counting wolves"):
    time.sleep(2 * _LEAST)
"""
    env = {name: value for name, value in os.environ.items() if name != "PERCHTREE_QUIET"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stderr.startswith("perch: counting sheep ...")
    assert "wolves" not in done.stderr


@pytest.mark.jit
def test_what_was_compiled_ahead_is_remembered(tmp_path, monkeypatch):
    built = []
    monkeypatch.setattr(warmup, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(warmup, "_inserts_compiled_aside", lambda *_settings: built_aside(built))
    monkeypatch.setattr(warmup, "_search", lambda *_settings: built.append("search"))
    monkeypatch.setattr(warmup, "_build", lambda *_settings: built.append("all"))
    warmup.warm_up(Settings(), few=True, meanwhile=lambda: built.append("meanwhile"))
    assert built == ["aside", "meanwhile", "search"]
    built.remove("meanwhile")
    warmup.warm_up(Settings(), few=True)
    assert built == ["aside", "search"]
    warmup.warm_up(Settings(), few=True, meanwhile=lambda: built.append("meanwhile"))
    assert built.pop() == "meanwhile"
    warmup.warm_up(Settings())
    warmup.warm_up(Settings(n_jobs=2))  # makes no other kernels
    assert built == ["aside", "search", "aside", "search", "all"]


class built_aside:  # noqa: N801
    def __init__(self, built):
        built.append("aside")

    def __enter__(self):
        pass

    def __exit__(self, *_exception):
        pass


@pytest.mark.jit
def test_one_insert_needs_no_search(monkeypatch):
    """So another process can compile it while this one compiles searches."""
    monkeypatch.setattr("perchtree.search.products.scan", pytest.fail)
    monkeypatch.setattr("perchtree.search.ahead.scan", pytest.fail)
    monkeypatch.setattr("sys.argv", ["-c", json.dumps([Settings(search="scan").as_dict()])])
    exec(warmup._INSERT, {})


@pytest.mark.jit
def test_few_rows_are_recognised_in_every_kind_of_file(perch, tmp_path):
    from perchtree.cli.growing import _has_few_rows
    from perchtree.inputs.opening import open_input

    rows = np.random.default_rng(0).random((3000, 2))
    np.save("many.npy", rows)
    np.save("few.npy", rows[:2000])
    np.savetxt("many.csv", rows, delimiter=",", header="a,b", comments="")
    np.savetxt("few.csv", rows[:2000], delimiter=",", header="a,b", comments="")
    for name in ("many.npy", "few.npy", "many.csv", "few.csv"):
        assert _has_few_rows(name, open_input(name)) == name.startswith("few"), name


@pytest.mark.parametrize(
    ("where", "args", "said"),
    [
        ("perchtree.collection.Collection.remove", ["remove", "t.perch", "--id", "3"], "removing"),
        ("perchtree.collection.Collection.refine", ["refine", "t.perch"], "refining"),
        ("perchtree.metrics.dendrogram_purity", ["score", "t.perch"], "computing scores"),
        ("perchtree.tree.ClusterTree.suggest_cuts", ["info", "t.perch"], "looking for clusters"),
        ("perchtree.tree.ClusterTree.to_html", ["plot", "t.perch", "-o", "t.html"], "drawing"),
        ("perchtree.collection.Collection.open", ["info", "t.perch"], "opening the tree"),
    ],
)
def test_what_takes_long_is_said(perch, monkeypatch, where, args, said):
    perch("fit", table(), "-o", "t.perch", "--class", "c", "-q")
    monkeypatch.delenv("PERCHTREE_QUIET", raising=False)
    monkeypatch.setattr(patience_module, "_LEAST", 0.05)
    monkeypatch.setattr(patience_module, "_SILENCE", 0.05)
    slow(monkeypatch, where)
    assert f"perch: {said}" in perch(*args).stderr


def table():
    Path("t.csv").write_text("x,c\n" + "".join(f"{i},{i % 2}\n" for i in range(30)))
    return "t.csv"


def slow(monkeypatch, where):
    """Let a function or method take a while."""
    owner, name = where.rsplit(".", 1)
    holder = pkgutil.resolve_name(owner)
    real = inspect.getattr_static(holder, name)
    work = real.__func__ if isinstance(real, classmethod) else real

    def slowly(*args, **options):
        time.sleep(0.4)
        return work(*args, **options)

    monkeypatch.setattr(holder, name, classmethod(slowly) if work is not real else slowly)
