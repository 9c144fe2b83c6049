"""The default tree is the authors' program's, clade for clade."""

import numpy as np
import pytest
from conftest import data_folder
from sklearn.datasets import load_digits

from perchtree import ClusterTree

pytestmark = pytest.mark.jit


def hash_clades(children, n_points):
    """A 63-bit sum of random numbers for each clade: equal sets have equal sums."""
    codes = np.zeros(2 * n_points - 1, np.uint64)
    codes[:n_points] = np.random.default_rng(0).integers(0, 2**63, n_points, dtype=np.uint64)
    for merge, (a, b) in enumerate(children):
        codes[n_points + merge] = codes[a] + codes[b]
    return set(codes[n_points:].tolist())


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("glass", 1.0),
        ("covtype", 1.0),
        ("aloi27", 1.0),
        ("clinc150", 1.0),
        ("omniglot", 1.0),
        ("digits", 0.97),  # 8 points have tied neighbours, which the authors' program orders
    ],
)
def test_same_clades(name, least, data):
    with np.load(data_folder() / "golden" / f"{name}-astar.npz") as golden:
        rows, children = golden["rows"], golden["children"]
    X = load_digits().data if name == "digits" else data(name)[0]
    tree = ClusterTree(X.shape[1])
    tree.insert(X[rows])
    tree.check()
    theirs = hash_clades(children, len(rows))
    ours = hash_clades(tree.children, len(rows))
    assert len(theirs & ours) / len(theirs) >= least


def test_every_golden_tree_is_tested():
    names = {path.name.removesuffix("-astar.npz") for path in (data_folder() / "golden").iterdir()}
    assert names == {"glass", "covtype", "aloi27", "clinc150", "omniglot", "digits"}
