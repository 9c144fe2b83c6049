"""Compiled code is kept between runs, never stale, and never the cause of an error."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import perchtree

pytestmark = pytest.mark.jit

# A tree of two leaves, made by hand: its kernel compiles quickly and calls one in another file.
DEPTH = """
import numpy as np
from perchtree._kernels.measure import measure_depths
from perchtree._kernels.schema import Tree
nodes = np.array([[1, -1, -1, 1, 0, 0], [-1, 0, 2, 2, -1, -1], [1, -1, -1, 1, 1, 1]], np.int32)
tree = Tree(nodes, np.zeros((2, 1), "f"), np.zeros((1, 2, 1), "f"), np.zeros((0, 0)),
            np.zeros((0, 2)), np.zeros((2, 2), np.int32), np.array([1, 2, 2, 1], np.int64))
depths = np.zeros(3, np.int32)
measure_depths(tree, depths)
print("depth", depths.max(), "hits", sum(measure_depths.stats.cache_hits.values()))
"""


@pytest.fixture
def run(tmp_path):
    """Run code in a process of its own, with a copy of the package and an empty cache."""
    package = tmp_path / "perchtree"
    shutil.copytree(Path(perchtree.__file__).parent, package)

    def run(code, cache=tmp_path / "cache"):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(tmp_path)}
        result = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        return result.stdout.strip()

    return run


def test_second_run_does_not_compile(run):
    assert run(DEPTH) == "depth 1 hits 0"
    assert run(DEPTH) == "depth 1 hits 1"


def test_only_the_mode_in_use_is_compiled(run):
    code = """
from perchtree import ClusterTree
from perchtree._kernels import beam, collapse, rules, scan
ClusterTree(2).insert([[0, 0], [1, 1], [2, 3]])
used = [rules.published_masked, rules.improves_size]
unused = [rules.interval_masked, rules.exactly_masked, rules.improves_ratio, beam.beam,
          collapse.collapse, scan.scan_tile]
print([len(f.signatures) for f in used], [len(f.signatures) for f in unused])
"""
    assert run(code) == "[1, 1] [0, 0, 0, 0, 0, 0]"


def test_an_edit_is_never_missed(run, tmp_path):
    assert run(DEPTH) == "depth 1 hits 0"
    walk = tmp_path / "perchtree" / "_kernels" / "walk.py"
    source = walk.read_text()
    edited = source.replace("child = tree.nodes[node, LEFT]", "return NONE")
    assert edited != source
    walk.write_text(edited)
    assert run(DEPTH) == "depth 0 hits 0"
    walk.write_text(source)
    assert run(DEPTH) == "depth 1 hits 1"


def test_a_folder_that_cannot_be_used_costs_only_speed(run, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(DEPTH, cache=blocked) == "depth 1 hits 0"
    assert run(DEPTH, cache=blocked) == "depth 1 hits 0"


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\x80\x04"])
def test_damaged_files_are_made_anew(run, tmp_path, ending, damage):
    assert run(DEPTH) == "depth 1 hits 0"
    (file,) = (tmp_path / "cache").glob(f"*/*measure_depths*.{ending}")
    file.write_bytes(damage)
    assert run(DEPTH) == "depth 1 hits 0"
    # What could not be read is replaced, at the latest by the run after.
    run(DEPTH)
    assert run(DEPTH) == "depth 1 hits 1"


def test_the_users_settings_are_left_alone(run):
    assert (
        run(
            "import numba; before = dict(vars(numba.config)); import perchtree.tree;"
            "print(before == dict(vars(numba.config)))"
        )
        == "True"
    )


def test_says_what_it_does_when_someone_is_watching(tmp_path):
    """A pseudo-terminal stands for the person; a pipe has nobody at its end."""
    import pty

    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    screen, terminal = pty.openpty()
    subprocess.run([sys.executable, "-c", DEPTH], stderr=terminal, env=environment, check=True)
    os.close(terminal)
    assert re.search(rb"compiling for this machine", os.read(screen, 10_000))
    quiet = subprocess.run(
        [sys.executable, "-c", DEPTH],
        capture_output=True,
        env={**environment, "NUMBA_CACHE_DIR": str(tmp_path / "other")},
        check=True,
    )
    assert quiet.stderr == b""
