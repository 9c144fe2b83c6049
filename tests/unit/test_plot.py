"""Pictures: what is drawn is what is in the tree, from one point to many."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from perchtree import ClusterTree

mpl.use("agg")
plot = pytest.importorskip("perchtree.plot")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def made(n_points, **mode):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n_points, 1)) * 10 + rng.random((n_points, 2))
    tree = ClusterTree(2, **mode)
    tree.insert(X)
    return tree, (X[:, 0] // 10).astype(int)


def shown(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("mode", [{}, {"linkage": "average"}, {"max_leaves": 12}])
@pytest.mark.parametrize("n_points", [1, 2, 60])
def test_dendrogram(mode, n_points):
    tree, y = made(n_points, **mode)
    texts = [f"text {i} $x_{i}$" for i in range(n_points)]
    ax = plot.plot_dendrogram(tree, max_leaves=10, labels=y, texts=texts)
    ax.figure.canvas.draw()
    ends = min(10, tree.n_leaves)
    assert len(shown(ax)) == ends
    assert ax.get_title(loc="left") == f"{n_points:,} points, {ends} branches"
    sizes = [int(text.split()[0]) if text[0] != "t" else 1 for text in shown(ax)]
    assert sum(sizes) == n_points
    for text in shown(ax):
        assert "text " in text


def test_dendrogram_without_extras():
    tree, _ = made(40)
    _, ax = plt.subplots()
    assert plot.plot_dendrogram(tree, 5, ax=ax) is ax
    assert sum(int(text) for text in shown(ax)) == 40


def test_many_classes_share_a_colour():
    tree, _ = made(60)
    ax = plot.plot_dendrogram(tree, labels=np.arange(60) % 13)
    assert ax.get_legend().get_texts()[-1].get_text() == "4 others"


def test_profile():
    tree, y = made(60)
    for labels in (None, y):
        ax = plot.plot_profile(tree, labels)
        ax.figure.canvas.draw()
        assert "3" in shown(ax)  # suggested
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    numbers = ax.lines[0].get_xdata().tolist()
    assert lines["purity of clusters"][numbers.index(3)] == 1
    assert lines["pairwise F1"][numbers.index(3)] == 1
    assert lines["purity of clusters"][0] == pytest.approx(np.bincount(y).max() / 60)


@pytest.mark.parametrize("mode", [{}, {"linkage": "ward"}])
def test_growth(mode):
    tree = ClusterTree(2, **mode)
    growth = plot.watch_growth(tree, np.random.default_rng(0).random((60, 2)), steps=6)
    assert growth.points.tolist() == [10, 20, 30, 40, 50, 60]
    assert growth.depth[-1] == tree.depth.max
    assert (growth.microseconds > 0).all()
    assert (growth.rotations > 0).any()
    axes = plot.plot_growth(growth)
    assert len(axes) == 3
    axes[0].figure.canvas.draw()


def test_what_is_wrong_is_said(monkeypatch):
    tree, _ = made(10)
    with pytest.raises(ValueError, match="3 labels for a tree of 10 points"):
        plot.plot_dendrogram(tree, labels=[1, 2, 3])
    with pytest.raises(ValueError, match="3 texts for a tree of 10 points"):
        plot.plot_dendrogram(tree, texts=["a", "b", "c"])
    with pytest.raises(ValueError, match="max_leaves"):
        plot.plot_dendrogram(tree, max_leaves=0)
    monkeypatch.delitem(sys.modules, "perchtree.plot")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'perchtree\[plot\]'"):
        import perchtree.plot  # noqa: F401
