"""Whether clusters are found again in another order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree
from perchtree.clusters import regrowing
from perchtree.clusters.regrowing import Regrown, draw_subtrees, mean_jaccard

pytestmark = pytest.mark.outer

clusterings = st.integers(1, 20).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=2, max_size=2)
)


@given(both=clusterings, least=st.integers(1, 8))
def test_mean_jaccard_by_its_definition(both, least):
    one, other = both
    found = []
    for point in range(len(one)):
        own, others = (
            {p for p, cluster in enumerate(clusters) if cluster == clusters[point]}
            for clusters in both
        )
        if max(len(own), len(others)) >= least:
            found.append(len(own & others) / len(own | others))
    expected = np.mean(found) if found else 1.0
    assert mean_jaccard(np.array(one), np.array(other), least) == pytest.approx(expected)


def grow(X):
    tree = ClusterTree(X.shape[1])
    tree.insert(X)
    return tree


@pytest.mark.parametrize("n_points", [1, 2, 30, 400])
def test_whole_subtrees_are_drawn(monkeypatch, n_points):
    monkeypatch.setattr(regrowing, "SAMPLE", 50)
    table = grow(np.random.default_rng(0).normal(size=(n_points, 3))).table
    drawn = draw_subtrees(table, np.random.default_rng(1))
    assert min(n_points, 50) <= len(drawn) < 100
    assert len(np.unique(drawn)) == len(drawn)
    tops = regrowing.find_all_tops(table, table.sizes <= 50)
    for top in np.unique(tops[drawn]):
        assert np.isin(table.members(int(top)), drawn).all()


def test_clusters_that_are_there_are_found_again_and_others_are_not():
    rng = np.random.default_rng(0)
    centres = 20 * rng.normal(size=(30, 40))
    noise = rng.normal(size=(600, 40))
    apart, alike = (grow(rows) for rows in (centres[np.arange(600) % 30] + noise, noise))
    agreements = [
        Regrown(tree._tree, tree.table, tree._grow_like).agreement(8) for tree in (apart, alike)
    ]
    assert agreements[0] > 0.99
    assert agreements[1] < regrowing.DISSOLVED


def test_points_that_no_tree_would_take():
    """A damaged file that is mapped into memory may hold any numbers."""
    tree = grow(np.random.default_rng(0).normal(size=(300, 5)))
    tree._tree.points[[3, 5, 7], [0, 1, 2]] = 3e38, np.nan, -np.inf
    regrown = Regrown(tree._tree, tree.table, tree._grow_like)
    assert 0 <= regrown.agreement(2) <= 1
