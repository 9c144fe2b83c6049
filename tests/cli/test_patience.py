"""Signs of life while something takes long, and none while it does not."""

import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest

from perchtree import warmup
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
    warmup.warm_up(Settings(), few=True)
    assert built == ["aside", "search"]
    warmup.warm_up(Settings(), few=True)
    assert built == ["aside", "search"]
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
