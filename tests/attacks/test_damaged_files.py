"""Thousands of damaged files: each is refused with one line, or harmless."""

import json
import os
import subprocess
import sys
from pathlib import Path

import damage
import numpy as np
import pytest

import perchtree
from perchtree import ClusterTree, Collection, Perch, check_file

pytestmark = pytest.mark.jit

TESTS = Path(__file__).parents[1]
X = np.random.default_rng(2).normal(size=(60, 3)).astype(np.float32)
N_TRIES = 2_400


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with small files of every kind."""
    folder = tmp_path_factory.mktemp("damage")
    copies = np.concatenate([X, X[:9]])
    for name, settings in {
        "average": {},
        "box": {"linkage": "box"},
        "collapsed": {"max_leaves": 12},
        "collapsed-box": {"linkage": "box", "max_leaves": 12},
        "beam": {"search": "beam", "metric": "cosine"},
    }.items():
        tree = ClusterTree(3, **settings)
        tree.insert(copies)
        tree.save(folder / f"{name}.perch")
    collection = Collection()
    texts = [f"text {i}" if i % 5 else None for i in range(60)]
    collection.add(X, keys=[f"k{i}é" for i in range(60)], texts=texts, classes=range(60))
    collection.feature_names = ["a", "b", "c"]
    collection.notes["from"] = "a test"
    for i in range(0, 20, 2):
        (collection.together if i % 4 else collection.apart)(f"k{i}é", f"k{i + 1}é")
    collection.save(folder / "collection.perch")
    model = Perch(n_clusters=3).fit(X[:30], keys=range(30))
    assert len(model.labels_) == 30
    model.partial_fit(X[30:], keys=range(30, 60)).set_params(n_clusters=5)
    assert model.events_
    model.save(folder / "estimator.perch")
    for old in (TESTS / "files").glob("*.perch"):
        (folder / old.name).write_bytes(old.read_bytes())
    return folder


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_whole_files_can_be_used(files):
    """Otherwise a refusal would say nothing."""
    names = sorted(files.glob("*.perch"))
    assert len(names) >= 10
    for path in names:
        check_file(path)
        for mapped in (False, True):
            assert damage.use(path, mapped=mapped), path


@pytest.mark.parametrize("kind", damage.DAMAGES, ids=lambda kind: kind.__name__)
def test_damages_change_files(files, kind):
    number = damage.DAMAGES.index(kind)
    for path in files.glob("*.perch"):
        content = path.read_bytes()
        tries = [damage.damaged(content, number + len(damage.DAMAGES) * i) for i in range(8)]
        assert len({content, *tries}) > 4


@pytest.mark.parametrize(
    "first",
    [0, *(pytest.param(n * N_TRIES // 4, marks=pytest.mark.slow) for n in (1, 2, 3))],
)
def test_damaged_files(files, first):
    """In a process of its own, because a crash must fail this test and not end all of them."""
    path = os.pathsep.join([str(Path(perchtree.__file__).parents[1]), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", damage.__file__, str(files), str(first),
         str(first + N_TRIES // 4)],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert counts["refused"] > 600
    assert counts["opened"] > 20
