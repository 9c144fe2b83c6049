"""How firmly points sit in their clusters: against silhouettes from all pairs of points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree, Collection, Perch
from strategies import grids


def slow_confidence(tree, labels):
    """Silhouettes in cophenetic distances, node by node of each cluster."""
    table, n = tree.table, tree.n_points
    found = []
    for point in range(n):
        members = lambda number: set(labels[table.members(number)])  # noqa: E731
        path = table.path(point)
        own = [number for number in path if members(number) == {labels[point]}][-1]
        others = [other for other in table.members(own) if other != point]
        inside = [
            table.heights[next(a for a in path if other in table.members(a))] for other in others
        ]
        a = float(np.mean(inside)) if inside else 0.0
        above = table.parents[own]
        b = table.heights[own if above < 0 else above]
        found.append(max(0.0, 1 - a / b) if b > 0 else float(above < 0))
    return np.array(found)


@given(grids(max_points=14, max_features=2), st.data())
@pytest.mark.parametrize("linkage", ["average", "box"])
def test_confidence_is_the_silhouette_along_the_tree(linkage, X, data):
    tree = ClusterTree(X.shape[1], linkage=linkage, search="astar")
    tree.insert(X)
    if data.draw(st.booleans()):
        labels = tree.cut(data.draw(st.integers(1, tree.n_leaves)))
    else:  # whatever corrections may lead to
        labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    found = tree.confidence(labels)
    np.testing.assert_allclose(found, slow_confidence(tree, labels), atol=1e-9)
    assert ((found >= 0) & (found <= 1)).all()


def test_confidence_of_a_collapsed_tree_with_gaps():
    rng = np.random.default_rng(0)
    tree = ClusterTree(2, search="astar", max_leaves=8)
    tree.insert(rng.integers(0, 9, (40, 2)))
    tree.remove([3, 7, 20])
    labels = tree.cut(4)
    np.testing.assert_allclose(tree.confidence(labels), slow_confidence(tree, labels), atol=1e-9)


def test_labels_of_another_kind_are_refused():
    tree = ClusterTree(1)
    tree.insert([[0], [1], [5]])
    for wrong in ([0, 1], [0.5, 1, 2], [[0, 1, 2]]):
        with pytest.raises(ValueError, match="expected 3 whole numbers"):
            tree.confidence(wrong)


def test_points_between_clusters_have_little_confidence():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (50, 2)), rng.normal(12, 1, (50, 2)), [[6.0, 4.0]]])
    model = Perch(n_clusters=2).fit(X)
    assert model.confidence_.argmin() == 100
    assert model.confidence_.shape == model.all_labels_.shape


def test_describe():
    pd = pytest.importorskip("pandas")
    X = np.array([0, 1, 2, 50, 51, 90.0])[:, np.newaxis]
    texts = ["green tea", "tea bag", "black tea", "red socks", "wool socks", None]
    keys = ["a", "b", "c", "d", "e", "f"]
    model = Perch(n_clusters=3).fit(X, keys=keys, texts=texts)
    frame = model.describe()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["size"].tolist() == [3, 2, 1]
    assert frame["exemplar"].tolist() == ["b", "d", "f"]
    assert frame["text"].tolist()[:2] == ["tea bag", "red socks"]
    assert frame["text"].isna().tolist() == [False, False, True]
    assert frame["keywords"].tolist() == ["tea", "socks", ""]
    confidence = model.confidence_
    assert frame["cohesion"].tolist() == [
        round(float(confidence[model.all_labels_ == label].mean()), 3) for label in range(3)
    ]
    plain = Collection()
    plain.add(X)
    assert list(plain.describe(plain.tree.cut(3)).columns) == ["size", "cohesion", "exemplar"]
    assert plain.describe(7 * plain.tree.cut(3)).index.tolist() == [0, 7, 14]
