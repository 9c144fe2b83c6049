"""Search in cells as it is used: one tree, whatever batches, threads and files it went through."""

import numpy as np
import pytest

from perchtree import ClusterTree

pytestmark = pytest.mark.jit

N_ROWS, N_FEATURES = 9_000, 12


def operations():
    """Rows to insert, and ids to remove then; copies among the rows, and of removed ones."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(N_ROWS // 6, N_FEATURES))
    X = centres[rng.integers(0, len(centres), N_ROWS)]
    X = (X + 0.2 * rng.normal(size=X.shape)).astype(np.float32)
    X[rng.integers(0, N_ROWS, 300)] = X[rng.integers(0, N_ROWS, 300)]
    for first, stop in ((0, 4_500), (4_500, 6_100), (6_100, N_ROWS)):
        yield X[first:stop], np.arange(first // 3, stop, 7)
    yield X[:200], np.arange(40)


def built(size, n_jobs, again=lambda tree: tree):
    tree = ClusterTree(N_FEATURES, search="cells", n_jobs=n_jobs)
    for rows, gone in operations():
        for first in range(0, len(rows), size):
            tree.insert(rows[first : first + size])
            if first % (8 * size) == 0:
                tree = again(tree)
        tree.remove(np.intersect1d(gone, tree.ids))
    tree.check()
    return tree


@pytest.fixture(scope="module")
def whole():
    return built(N_ROWS, 1)


@pytest.mark.parametrize(
    ("size", "n_jobs", "is_saved"),
    [(N_ROWS, 2, False), (4_096, 2, True), (1_000, 1, True), (7, 2, False), (1, 1, False)],
)
def test_one_tree(whole, size, n_jobs, is_saved, tmp_path):
    def saved(tree):
        tree.save(tmp_path / "tree.perch")
        return ClusterTree.load(tmp_path / "tree.perch")

    tree = built(size, n_jobs, saved if is_saved else lambda tree: tree)
    assert whole.stats.renewals > 3
    assert np.array_equal(tree.children, whole.children)
    assert np.array_equal(tree.ids, whole.ids)
    for count in ("renewals", "cells_checked", "cells_found", "linkages", "grafts"):
        assert getattr(tree.stats, count) == getattr(whole.stats, count), count
    one, other = kept(tree), kept(whole)
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def kept(tree):
    with tree.stored() as stored:
        return dict(stored.search_index)
