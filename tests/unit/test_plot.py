"""Pictures: what is drawn is what is in the tree, from one point to many."""

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Annotation

from gapped import GappedTree
from perchtree import ClusterTree

pytestmark = pytest.mark.outer

mpl.use("agg")
plot = pytest.importorskip("perchtree.plot")

FORMULA = r"$\frac{1$ 5_x^"
"""As a formula, this cannot be parsed, and drawing it would fail."""


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def made(n_points, kind=ClusterTree, **mode):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n_points, 1)) * 10 + rng.random((n_points, 2))
    tree = kind(2, **{"linkage": "box"} | mode)
    tree.insert(X)
    return tree, (X[:, 0] // 10).astype(int)


def shown(ax):
    """What is written beside each branch: its size and keywords, and an exemplar's text."""
    branches = []
    for text in ax.texts:
        if isinstance(text, Annotation) and not isinstance(text.xycoords[0], str):
            branches[-1] += "  " + text.get_text()  # right of the text before
        else:
            branches.append(text.get_text())
    return branches


def legend_entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("mode", [{}, {"linkage": "average"}, {"max_leaves": 12}])
@pytest.mark.parametrize("n_points", [1, 2, 60])
def test_dendrogram(mode, n_points):
    tree, y = made(n_points, **mode)
    texts = [f"text {i}" for i in range(n_points)]
    ax = plot.plot_dendrogram(tree, branches=10, classes=y, texts=texts)
    ax.figure.canvas.draw()
    ends = min(10, tree.n_leaves)
    assert len(shown(ax)) == ends
    assert ax.get_title(loc="left") == f"{n_points:,} points, {ends} branches"
    sizes = [int(text.split()[0]) if text[0] != "t" else 1 for text in shown(ax)]
    assert sum(sizes) == n_points
    for text in shown(ax):
        assert "text " in text


def test_branches_have_keywords_and_corrections_are_drawn():
    tree = ClusterTree(1)
    tree.insert(np.array([0, 1, 2, 3, 50, 51, 52, 99.0])[:, np.newaxis])
    texts = ["green tea", "black tea", "tea", "tea bag", "old socks", "socks", "new socks", "hat"]
    said = [("together", 0, 7), ("apart", 1, 2)]
    ax = plot.plot_dendrogram(tree, 3, texts=texts, corrections=said)
    ax.figure.canvas.draw()
    caption, *branches = shown(ax)
    assert "clusters follow them" in caption
    assert branches == ["3  socks", "hat", "4  tea  black tea"]
    (together, apart) = (line for line in ax.lines if line.get_marker() == "o")
    assert together.get_ydata().tolist() == [2, 1]
    assert apart.get_ydata().tolist() == [2, 2]
    many = plot.plot_dendrogram(tree, 3, corrections=said * 25)
    assert any("10 more are not drawn" in text.get_text() for text in many.texts)


def test_dendrogram_without_extras():
    tree, _ = made(40)
    _, ax = plt.subplots()
    assert plot.plot_dendrogram(tree, 5, ax=ax) is ax
    assert sum(int(text) for text in shown(ax)) == 40


@pytest.mark.parametrize("usetex", [False, True])
def test_text_is_no_formula(usetex):
    tree, y = made(20)
    classes = [f"{i} {FORMULA}" for i in y]
    with mpl.rc_context({"text.usetex": usetex}):
        _, ax = plt.subplots()
        ax.set_axis_off()  # ticks are not the user's text: TeX may draw them
        plot.plot_dendrogram(tree, 6, classes=classes, texts=[FORMULA] * 20, title=FORMULA, ax=ax)
        ax.figure.canvas.draw()
    assert ax.get_title(loc="left") == FORMULA
    assert all(text.endswith(FORMULA) for text in shown(ax))
    assert legend_entries(ax) == sorted(set(classes))


def test_text_acts_on_nothing_around_it():
    tree, _ = made(20)
    title = "a\u202eb\nc\x1b"
    classes = ["_hidden\u2066", *["x\x00"] * 19]
    ax = plot.plot_dendrogram(tree, 1, classes=classes, texts=["t\u202e\x07\n u"] * 20, title=title)
    ax.figure.canvas.draw()
    assert ax.get_title(loc="left") == "ab c"
    assert legend_entries(ax) == ["_hidden", "x"]
    assert shown(ax) == ["20  t, u  t u"]


def test_each_class_has_its_colour():
    tree, y = made(60)
    names = np.array(["zebra", "ape", "gnu"])[y]
    ax = plot.plot_dendrogram(tree, 3, classes=names)
    assert legend_entries(ax) == ["ape", "gnu", "zebra"]
    colour_of = dict(
        zip(
            legend_entries(ax),
            [patch.get_facecolor() for patch in ax.get_legend().get_patches()],
            strict=True,
        )
    )
    assert len(set(colour_of.values())) == 3
    sizes = [int(text) for text in shown(ax)]
    assert len(ax.patches) == 3  # three branches of one class each
    for bar, size in zip(ax.patches, sizes, strict=True):
        (name,) = [name for name in colour_of if (names == name).sum() == size]
        assert bar.get_facecolor() == colour_of[name]


def test_many_classes_share_a_colour():
    tree, _ = made(60)
    ax = plot.plot_dendrogram(tree, classes=np.arange(60) % 13)
    assert legend_entries(ax) == [*map(str, range(9)), "4 others"]


def test_texts_go_with_their_points():
    """Also where numbers are not ids: texts are in the order of the ids."""
    texts = [f"text {i}" for i in range(30)]
    drawn = [
        shown(plot.plot_dendrogram(made(30, kind)[0], 5, texts=texts))
        for kind in (ClusterTree, GappedTree)
    ]
    assert drawn[0] == drawn[1]


def test_profile():
    tree, y = made(60)
    for classes in (None, y):
        ax = plot.plot_profile(tree, classes)
        ax.figure.canvas.draw()
        assert "3" in shown(ax)  # suggested
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    numbers = ax.lines[0].get_xdata().tolist()
    assert lines["purity of clusters"][numbers.index(3)] == 1
    assert lines["pairwise F1"][numbers.index(3)] == 1
    assert lines["purity of clusters"][0] == pytest.approx(np.bincount(y).max() / 60)


def test_what_is_wrong_is_said(monkeypatch):
    tree, _ = made(10)
    with pytest.raises(ValueError, match="3 classes for a tree of 10 points"):
        plot.plot_dendrogram(tree, classes=[1, 2, 3])
    with pytest.raises(ValueError, match="3 classes for a tree of 10 points"):
        plot.plot_profile(tree, classes=[1, 2, 3])
    with pytest.raises(ValueError, match="3 texts for a tree of 10 points"):
        plot.plot_dendrogram(tree, texts=["a", "b", "c"])
    with pytest.raises(ValueError, match="branches"):
        plot.plot_dendrogram(tree, branches=0)
    for draw, old, new in (
        (plot.plot_dendrogram, "max_leaves", "branches"),
        (plot.plot_dendrogram, "labels", "classes"),
        (plot.plot_profile, "labels", "classes"),
    ):
        with pytest.raises(TypeError, match=rf"{draw.__name__}\(\) takes '{new}' now, not '{old}'"):
            draw(tree, **{old: [1]})
    monkeypatch.delitem(sys.modules, "perchtree.plot")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'perchtree\[plot\]'"):
        import perchtree.plot  # noqa: F401
