"""Dendrogram purity as the paper reports it, on its own data (tables 2 and 6)."""

import numpy as np
import pytest

from perchtree import ClusterTree
from perchtree.metrics import dendrogram_purity

pytestmark = [pytest.mark.slow, pytest.mark.jit]


@pytest.mark.parametrize(
    ("name", "shuffles", "published", "tolerance"),
    [
        ("glass", 10, 0.474, 0.03),
        ("spambase", 10, 0.611, 0.02),
        ("covtype", 3, 0.45, 0.012),
    ],
)
def test_purity(name, shuffles, published, tolerance, data):
    X, y = data(name)
    purities = []
    for seed in range(shuffles):
        order = np.random.default_rng(seed).permutation(len(X))
        tree = ClusterTree(X.shape[1], linkage="box")
        tree.insert(X[order])
        purities.append(dendrogram_purity(tree, y[order]))
    assert np.mean(purities) == pytest.approx(published, abs=tolerance)
