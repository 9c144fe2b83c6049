"""`perch fit --search cells`."""

from unittest import mock

import numpy as np
import pytest

from perchtree import ClusterTree
from perchtree.cli import growing

pytestmark = [pytest.mark.outer, pytest.mark.jit]


@pytest.fixture
def vectors(tmp_path):
    X = np.random.default_rng(0).normal(size=(5_000, 24)).astype(np.float32)
    X[:, :4] *= 10
    np.save(tmp_path / "x.npy", X)
    return X


def test_it_goes_on_as_if_it_had_not_been_saved(perch, vectors, tmp_path):
    np.save(tmp_path / "first.npy", vectors[:4_500])
    np.save(tmp_path / "last.npy", vectors[4_500:])
    perch("fit", "first.npy", "-o", "x.perch", "--search", "cells", "--recall", 0.9)
    perch("add", "x.perch", "last.npy")
    tree = ClusterTree(24, search="cells", recall=0.9)
    tree.insert(vectors)
    other = ClusterTree.load(tmp_path / "x.perch")
    assert other.settings == tree.settings
    assert np.array_equal(other.children, tree.children)
    assert other.stats.cells_found == tree.stats.cells_found > 0


def test_only_with_features_and_only_where_it_means_something(perch, vectors):
    error = perch.fails("fit", "x.npy", "-o", "x.perch", "--search", "cells", "--max-leaves", 9)
    assert "needs the features of all points" in error
    assert "--recall needs --search cells" in perch.fails(
        "fit", "x.npy", "-o", "x.perch", "--recall", 0.9, code=2
    )


def test_of_many_points_it_is_recommended_but_never_chosen(perch, vectors):
    told = "perch fit --search cells"
    assert told not in perch("fit", "x.npy", "-o", "x.perch").stderr
    with mock.patch.object(growing, "MANY", 5_000):
        assert told in perch("fit", "x.npy", "-o", "y.perch").stderr
        assert told not in perch("fit", "x.npy", "-o", "z.perch", "--search", "cells").stderr
    assert ClusterTree.load("y.perch").settings.search == "auto"
