"""Defects of version 0.1.0 that do not belong to another attack, each by what a user would see."""

import json
import mmap
import warnings

import numpy as np
import pandas as pd
import pytest
from damage import split
from sklearn.base import clone

from crafting import crafted
from perchtree import ClusterTree, Collection, Perch, _arrays

X = np.random.default_rng(8).normal(size=(60, 3))


def test_loading_and_saving_keeps_everything(tmp_path):
    path = tmp_path / "m.perch"
    columns = {
        "keys": [f"k{i}" for i in range(60)],
        "texts": [f"text {i}" for i in range(60)],
        "classes": [i % 4 for i in range(60)],
    }
    Perch(n_clusters=3).fit(X, **columns).save(path)
    before = path.read_bytes()
    for kind, open_ in ((Perch, Perch.load), (Collection, Collection.open)):
        loaded = open_(path)
        assert isinstance(loaded, kind)
        loaded.save(path)
        assert path.read_bytes() == before
    collection = Collection.open(path)
    assert collection.keys.tolist() == columns["keys"]
    assert (collection.texts, collection.classes) == (columns["texts"], columns["classes"])


@pytest.mark.parametrize(
    ("bad", "columns", "error"),
    [
        (np.full((5, 7), np.nan), {}, "contains NaN"),
        (np.zeros((5, 7)), {"keys": [1, 1, 2, 3, 4]}, "again"),
        (np.zeros((5, 7)), {"texts": "abcde"}, "texts must be a list"),
        (np.zeros((5, 7)), {"classes": [0]}, "1 classes for 5 rows"),
    ],
)
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_refused_data_leaves_no_trace(call, bad, columns, error):
    model = Perch(n_clusters=3).fit(X)
    before = model.labels_.copy()
    with pytest.raises(ValueError, match=error if call == "fit" else "3 features"):
        getattr(model, call)(bad, **columns)
    assert model.n_features_in_ == 3
    assert np.array_equal(model.labels_, before)
    fresh = Perch()
    with pytest.raises(ValueError, match=error):
        getattr(fresh, call)(bad, **columns)
    assert not hasattr(fresh, "n_features_in_")
    assert not fresh.__sklearn_is_fitted__()


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"graft": "5"}, "graft must be a whole number"), ({"max_leaves": 2.5}, "max_leaves must be")],
)
def test_refused_settings_leave_no_trace_of_the_data(settings, error):
    """After a TypeError, the model had as many features as what it had refused."""
    model = Perch(n_clusters=3).fit(X).set_params(**settings)
    with pytest.raises(TypeError, match=error):
        model.fit(np.zeros((5, 7)))
    assert model.n_features_in_ == 3
    assert len(model.tree_) == 60


def test_a_refused_frame_leaves_no_trace():
    model = Perch(n_clusters=3).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.raises(TypeError):
        model.fit(pd.DataFrame({"p": [1.0, 2.0], "q": [{}, {}]}))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3


def test_a_file_may_have_more_or_fewer_counters(tmp_path):
    tree = ClusterTree(3)
    tree.insert(X)
    path = tmp_path / "t.perch"
    tree.save(path)
    header, body = split(path.read_bytes())
    work = header["sections"]["tree"]["meta"]["work"]
    work["of a later version"] = 7
    del work["grafts"]
    path.write_bytes(crafted(json.dumps(header, sort_keys=True).encode(), body=body))
    loaded = ClusterTree.load(path)
    assert np.array_equal(loaded.children, tree.children)
    assert loaded.stats.grafts == 0
    assert loaded.stats.interchanges == tree.stats.interchanges


@pytest.mark.parametrize(
    "insert",
    [
        lambda rows: ClusterTree(3).insert(rows),
        lambda rows: Collection().add(rows),
        lambda rows: Perch(n_clusters=1).fit(rows),
    ],
)
def test_one_warning_about_tiny_norms_that_names_the_caller(insert):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        insert(X * 1e-30)
    assert [str(warning.message)[:20] for warning in told] == ["all norms are below "]
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "value"),
    [("metric", "cosine"), ("linkage", "box"), ("max_leaves", 10), ("graft", 0)],
)
def test_settings_that_changed_after_fitting_are_refused(name, value, tmp_path):
    model = Perch(n_clusters=3).fit(X)
    before = getattr(model, name)
    model.set_params(**{name: value})
    for use in (
        lambda: model.partial_fit(X),
        lambda: model.predict(X),
        lambda: model.nearest(X),
        lambda: model.labels_,
        lambda: model.save(tmp_path / "m.perch"),
    ):
        with pytest.raises(ValueError, match=f"{name} was .* when the tree was made"):
            use()
    assert len(model.set_params(**{name: before}).partial_fit(X).all_labels_) == 120


def test_parameters_are_those_of_scikit_learn():
    model = Perch(n_clusters=3, graft=2, n_jobs=2).fit(X)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not twin.__sklearn_is_fitted__()
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        model.set_params(nonsense=1)
    with pytest.raises(TypeError, match="there is no setting 'linkag': did you mean 'linkage'"):
        Perch(linkag="box")
    refused = clone(Perch(linkage="nonsense"))  # values are checked by fit
    with pytest.raises(ValueError, match="linkage must be one of"):
        refused.fit(X)
    assert not refused.__sklearn_is_fitted__()


@pytest.mark.skipif(not hasattr(mmap, "MAP_ANONYMOUS"), reason="needs anonymous maps")
def test_large_arrays_grow_where_they_are(monkeypatch):
    """Nothing is copied: a single row must not wait until 150 MB were."""
    monkeypatch.setattr(_arrays, "_SHORT", 256)
    tree = ClusterTree(3)
    tree.insert(X)
    tree.insert(X[:1] + 1)  # moves from ordinary memory into maps, once
    maps = {name: growing._map for name, growing in tree._storage._growing.items()}
    assert [name for name, memory in maps.items() if memory is None] == ["lists"]  # it has no rows
    capacity = len(tree._tree.points)
    for row in np.random.default_rng(9).normal(size=(400, 3)):
        tree.insert(row[np.newaxis])
        tree.cut(2)  # what was made from the arrays does not keep them in place
    assert len(tree._tree.points) >= 3 * capacity
    assert all(growing._map is maps[name] for name, growing in tree._storage._growing.items())
    tree.check()


@pytest.mark.jit
@pytest.mark.parametrize("search", ["auto", "scan"])
def test_ordered_numbers_take_few_distances(search):
    """A scan that met the farthest points first computed every distance: 4,000 per row."""
    ordered = np.sort(np.random.default_rng(0).normal(size=(8_000, 1)), axis=0)
    inward = np.argsort(np.minimum(np.arange(8_000), np.arange(8_000)[::-1]), kind="stable")
    orders = [ordered, ordered[::-1], ordered[inward], ordered[inward[::-1]]]
    for rows in orders:
        tree, astar = ClusterTree(1, search=search), ClusterTree(1, search="astar")
        tree.insert(rows)
        astar.insert(rows)
        assert np.array_equal(tree.children, astar.children)
        assert tree.stats.distances < 2 * astar.stats.distances < 100 * len(rows)
        assert tree.stats.products <= len(rows) ** 2 // 2
