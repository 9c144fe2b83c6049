"""How trees grow: what is seen is what the tree says, and it can be drawn."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from experiments.growth import plot_growth, watch_growth

from perchtree import ClusterTree

mpl.use("agg")


@pytest.mark.parametrize("linkage", ["box", "ward"])
def test_growth(linkage):
    X = np.random.default_rng(0).random((60, 2))
    tree, whole = ClusterTree(2, linkage=linkage), ClusterTree(2, linkage=linkage)
    growth = watch_growth(tree, X, steps=6)
    whole.insert(X)
    assert np.array_equal(tree.children, whole.children)
    assert growth.points.tolist() == [10, 20, 30, 40, 50, 60]
    assert (growth.depth[-1], growth.mean_depth[-1]) == tree.depth
    assert (growth.microseconds > 0).all()
    stats = tree.stats
    moves = stats.masking_rotations + stats.balance_rotations + stats.interchanges + stats.grafts
    assert growth.rotations.sum() * 10 == pytest.approx(moves)
    axes = plot_growth(growth)
    axes[0].figure.canvas.draw()
    assert [len(ax.lines) for ax in axes] == [1, 3, 1]
    plt.close(axes[0].figure)
