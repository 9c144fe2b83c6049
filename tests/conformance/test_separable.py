"""Well-separated clusters come out pure, whatever the order (section 3)."""

import numpy as np
import pytest

from perchtree import ClusterTree
from perchtree.metrics import dendrogram_purity


def separated(rng, n_clusters, per_cluster, n_features):
    """Clusters within unit cubes on a grid so wide that every box is far from every other."""
    y = np.repeat(np.arange(n_clusters), per_cluster)
    centres = np.zeros((n_clusters, n_features))
    centres[:, 0] = 20 * n_features * np.arange(n_clusters)
    return centres[y] + rng.random((len(y), n_features)), y


@pytest.mark.parametrize("order", ["random", "sorted", "round robin"])
@pytest.mark.parametrize("seed", range(5))
def test_purity_is_one(order, seed):
    rng = np.random.default_rng(seed)
    X, y = separated(rng, n_clusters=6, per_cluster=8, n_features=3)
    arrival = {
        "random": rng.permutation(len(y)),
        "sorted": np.arange(len(y)),
        "round robin": np.argsort(np.tile(np.arange(8), 6), kind="stable"),
    }[order]
    tree = ClusterTree(3, linkage="box")
    tree.insert(X[arrival])
    assert dendrogram_purity(tree, y[arrival]) == 1.0
