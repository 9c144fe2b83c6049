"""Perch as scikit-learn users expect it."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import config
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from perchtree import ClusterTree, Perch
from perchtree._arrays import used_rows
from strategies import grids

pytestmark = pytest.mark.outer

MODES = [
    Perch(),
    Perch(n_clusters=3, linkage="box"),
    Perch(linkage="ward", graft=0),
    Perch(linkage="box", search="beam", max_leaves=30),
]

N_ROWS = 60 if config.DISABLE_JIT else 600


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(N_ROWS, centers=6, n_features=3, cluster_std=0.4, random_state=1)


@pytest.mark.jit
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(MODES)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_fit_numbers_clusters_as_cut_does(blobs):
    X, _ = blobs
    model = Perch(n_clusters=6).fit(X)
    tree = ClusterTree(3, linkage="average")
    tree.insert(X)
    assert np.array_equal(model.labels_, tree.cut(6))
    assert np.array_equal(model.children_, tree.children)
    assert np.array_equal(model.distances_, tree.heights[N_ROWS:])
    assert model.n_leaves_ == tree.n_leaves
    assert model.events_ == []
    assert np.array_equal(model.set_params(n_clusters=4).labels_, tree.cut(4))
    model.set_params(n_clusters=None, distance_threshold=5.0)
    assert np.array_equal(model.labels_, tree.cut(distance=5.0))
    model.set_params(distance_threshold=None)
    assert len(model.cluster_ids_) == tree.suggest_cuts(1)[0].n_clusters
    model.set_params(min_cluster_size=3)
    assert np.array_equal(model.labels_, tree.cut(min_cluster_size=3))
    assert model.cluster_sizes_.sum() == N_ROWS


@pytest.mark.parametrize(
    "settings", [{}, {"linkage": "box"}, {"max_leaves": 8}, {"search": "beam"}]
)
@given(X=grids(min_points=2, max_points=30), cut=st.integers(1, 29))
@settings(max_examples=max(5, settings.default.max_examples // 20))
def test_any_split_gives_the_same_tree_and_partition(settings, X, cut):
    whole = Perch(n_clusters=2, **settings).fit(X)
    parts = Perch(n_clusters=2, **settings)
    for part in (X[:cut], X[cut:]):
        if len(part):
            parts.partial_fit(part)
    assert np.array_equal(whole.children_, parts.children_)
    if whole.n_leaves_ >= 2:
        assert np.array_equal(whole.labels_, parts.all_labels_)
        assert np.array_equal(whole.labels_, whole.all_labels_)
        last = len(X) - cut if cut < len(X) else len(X)
        assert np.array_equal(parts.labels_, parts.all_labels_[-last:])


@given(X=grids(min_points=2, max_points=30), data=st.data())
@settings(max_examples=max(5, settings.default.max_examples // 10))
def test_training_points_get_their_own_label_back(X, data):
    model = Perch().fit(X)
    k = data.draw(st.integers(1, model.n_leaves_))
    model.set_params(n_clusters=k)
    before = model.children_
    labels, distances = model.predict(X, return_distance=True)
    assert np.array_equal(labels, model.labels_)
    assert (distances == 0).all()
    queries = X + 0.25
    assert set(model.predict(queries)) <= set(model.labels_)
    assert np.array_equal(model.children_, before)
    assert model.tree_.n_points == len(X)


def test_far_points_can_be_marked(blobs):
    X, _ = blobs
    model = Perch(n_clusters=6).fit(X)
    far = X[:3] + np.array([[0, 0, 0], [100, 0, 0], [0, 0, 0]])
    assert (model.predict(far, max_distance=50) == [model.labels_[0], -1, model.labels_[2]]).all()


def test_ids_stay_while_data_arrives():
    rng = np.random.default_rng(0)
    model = Perch(n_clusters=3)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    model.partial_fit(np.repeat(centres, 10, axis=0) + rng.normal(0, 0.1, (30, 2)))
    first = model.labels_
    assert first.tolist() == [0] * 10 + [1] * 10 + [2] * 10
    model.partial_fit(centres[[2, 1, 0]] + 0.01)
    assert model.labels_.tolist() == [2, 1, 0]
    assert model.all_labels_.tolist() == [*first.tolist(), 2, 1, 0]
    assert model.events_ == []
    # A new cluster comes before others in the tree, and gets a number of its own.
    model.set_params(n_clusters=4).partial_fit(rng.normal(50, 0.1, (5, 2)))
    assert model.labels_.tolist() == [3] * 5
    assert model.events_[-1] == ("birth", (), (3,), 5, 38)
    # Two merge when fewer are asked for; the larger one's id survives.
    model.set_params(n_clusters=2)
    assert set(model.all_labels_[:33]) == {0}
    kinds = [event.kind for event in model.events_]
    assert kinds == ["birth", "merge"]
    assert model.events_[-1].before == (0, 1, 2)
    assert model.events_[-1].after == (0,)
    model.set_params(n_clusters=4)
    assert model.events_[-1].kind == "split"
    assert model.events_[-1].before == (0,)
    assert len(model.events_[-1].after) == 3
    assert 0 in model.events_[-1].after
    assert min(set(model.events_[-1].after) - {0}) > 3  # ids are never used twice
    model.fit(centres)
    assert model.set_params(n_clusters=3).labels_.tolist() == [0, 1, 2]
    assert model.events_ == []


def test_labels_are_only_made_when_read(blobs, monkeypatch):
    X, _ = blobs
    cuts = []
    cut = ClusterTree.cut
    monkeypatch.setattr(ClusterTree, "cut", lambda *args, **kw: cuts.append(1) or cut(*args, **kw))
    model = Perch(n_clusters=6)
    for part in np.array_split(X, 10):
        model.partial_fit(part)
    assert cuts == []
    assert model.all_labels_ is model.all_labels_
    assert len(model.labels_) == len(part)
    assert cuts == [1]


@pytest.mark.parametrize("kind", [str, int])
def test_keys(blobs, kind):
    X, _ = blobs
    keys = [kind(1000 + i) for i in range(N_ROWS)]
    model = Perch(n_clusters=6).partial_fit(X[:20], keys=keys[:20])
    model.partial_fit(X[20:], keys=np.array(keys[20:]))
    assert model.keys_.tolist() == keys
    assert model.label_of(keys[5:8]).tolist() == model.all_labels_[5:8].tolist()
    cluster = model.all_labels_[7]
    assert keys[7] in model.members(cluster)
    assert set(model.exemplars_) <= set(keys)
    for wrong, message in (
        (None, "earlier points have keys"),
        ([keys[0]], "row 0 has .* again"),
        ([kind(1), kind(1)], "2 keys for 1 rows"),
        ([1.5], "all strings or all whole numbers"),
        ("a", "a list or an array"),
        (np.array(5), "a list or an array"),
        (np.array(["2020-01-01"], "M8[ns]"), "not dates"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X[:1], keys=wrong)
    with pytest.raises(ValueError, match="no point with the key"):
        model.label_of([kind(1)])
    with pytest.raises(ValueError, match="no cluster 99"):
        model.members(99)
    assert model.tree_.n_points == N_ROWS
    with pytest.raises(ValueError, match="earlier points have no keys"):
        Perch().fit(X).partial_fit(X[:1], keys=["a"])
    with pytest.raises(ValueError, match="64 bits"):
        Perch().fit(X[:1], keys=[2**63])


def test_without_keys_results_come_by_id(blobs):
    X, _ = blobs
    model = Perch(n_clusters=6, max_leaves=20).fit(X)
    assert model.keys_.tolist() == list(range(N_ROWS))
    assert model.members(0)[0] == 0
    assert (model.labels_[model.exemplars_] == model.cluster_ids_).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame, blobs):
    X, _ = blobs
    columns = ["a", "b", "c"]
    data = frame(dict(zip(columns, X.T, strict=True)))
    model = Perch(n_clusters=6).fit(data)
    assert model.feature_names_in_.tolist() == columns
    assert np.array_equal(model.labels_, Perch(n_clusters=6).fit(X).labels_)
    assert np.array_equal(model.predict(data), model.labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame(dict(zip("xyz", X.T, strict=True))))


def test_cosine(blobs):
    X, _ = blobs
    model = Perch(n_clusters=4, metric="cosine").fit(X)
    assert np.array_equal(model.predict(X * np.arange(1, N_ROWS + 1)[:, np.newaxis]), model.labels_)
    with pytest.raises(ValueError, match="row 2 is all zeros"):
        model.partial_fit(X[:4] * [[1], [1], [0], [1]])
    assert model.tree_.n_points == N_ROWS


def test_pipelines_clones_and_pickles(blobs):
    X, _ = blobs
    pipeline = make_pipeline(StandardScaler(), Perch(n_clusters=6, linkage="ward"))
    labels = pipeline.fit_predict(X)
    assert np.array_equal(pipeline.predict(X), labels)
    assert clone(pipeline[-1]).get_params() == pipeline[-1].get_params()
    for twin in (pickle.loads(pickle.dumps(pipeline[-1])), pipeline[-1]):
        assert np.array_equal(twin.labels_, labels)


def test_joblib(tmp_path, blobs):
    X, _ = blobs
    model = Perch(n_clusters=6).fit(X[:-20], keys=[f"k{i}" for i in range(N_ROWS - 20)])
    joblib.dump(model, tmp_path / "model.joblib")
    twin = joblib.load(tmp_path / "model.joblib")
    for each in (model, twin):
        each.partial_fit(X[-20:], keys=[f"late{i}" for i in range(20)])
    assert np.array_equal(twin.labels_, model.labels_)
    assert np.array_equal(twin.all_labels_, model.all_labels_)
    assert twin.keys_.tolist() == model.keys_.tolist()


def test_what_is_wrong_is_said(blobs):
    X, _ = blobs
    with pytest.raises(NotFittedError):
        _ = Perch().labels_
    with pytest.raises(NotFittedError):
        Perch().predict(X)
    for parameters, message in (
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"n_clusters": 2, "distance_threshold": 1.0}, "not more than one"),
        ({"n_clusters": 2, "min_cluster_size": 2}, "not more than one"),
        ({"min_cluster_size": 0}, "at least 1"),
        ({"distance_threshold": -1.0}, "must not be negative"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"linkage": "single"}, "linkage must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            Perch(**parameters).fit(X)
    model = Perch().fit(X)
    model.set_params(linkage="ward")
    with pytest.raises(ValueError, match="linkage was 'average' when the tree was made"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="clusters asked of a tree"):
        _ = Perch(n_clusters=100).fit(X[:10]).labels_


def test_an_error_in_fit_leaves_the_model_as_it_was(blobs):
    X, _ = blobs
    model = Perch(n_clusters=6).fit(X)
    before = model.all_labels_
    with pytest.raises(ValueError, match="keys"):
        model.fit(X[:5], keys=["a"])
    assert model.all_labels_ is before
    assert np.array_equal(model.labels_, before)


@pytest.mark.parametrize("wrong", [[[1e30, 0, 0]], [[1, 2, np.nan]], [[1.0, 2.0]]])
def test_a_failed_fit_changes_nothing(blobs, wrong):
    X, _ = blobs
    model = Perch(n_clusters=6).fit(X)
    before = model.all_labels_
    with pytest.raises(ValueError, match=r"norm|NaN|keys"):
        model.fit(wrong, keys=["a", "b"])
    assert model.all_labels_ is before
    assert np.array_equal(model.predict(X), before)
    fresh = Perch()
    with pytest.raises(ValueError, match=r"norm|NaN|keys"):
        fresh.partial_fit(wrong, keys=["a", "b"])
    with pytest.raises(NotFittedError):
        _ = fresh.labels_
    assert not hasattr(fresh, "n_features_in_")


def test_errors_name_the_row(blobs):
    X = blobs[0].copy()
    X[3, 1] = np.nan
    model = Perch(n_clusters=2).fit(blobs[0])
    for use in (model.fit, model.partial_fit, model.predict):
        with pytest.raises(ValueError, match="row 3 contains NaN: drop the row"):
            use(X)
    assert model.tree_.n_points == N_ROWS


def test_the_metric_is_fixed_by_the_first_fit(blobs):
    model = Perch().fit(blobs[0]).set_params(metric="cosine")
    with pytest.raises(ValueError, match="metric was 'euclidean' when the tree was made"):
        model.partial_fit(blobs[0])


def test_cosine_of_very_large_and_small_rows():
    X = np.array([[1e200, 0], [0, 1e200], [1e-200, 1e-200], [1, 1]])
    model = Perch(n_clusters=3, metric="cosine").fit(X)
    assert model.labels_.tolist() == [0, 1, 2, 2]


def test_threads_can_be_changed_and_saved(blobs, tmp_path):
    model = Perch(n_clusters=2, n_jobs=np.int64(2)).fit(blobs[0])
    model.save(tmp_path / "model.perch")
    assert Perch.load(tmp_path / "model.perch").get_params() == model.get_params()
    with pytest.raises(ValueError, match="n_jobs"):
        model.set_params(n_jobs=0).partial_fit(blobs[0])
    model.set_params(n_jobs=1).predict(blobs[0])


def test_points_inserted_past_the_estimator(blobs, tmp_path):
    """They have no keys: that is said, not guessed, and no file is made that could not be read."""
    X, _ = blobs
    model = Perch(n_clusters=2).fit(X, keys=range(N_ROWS))
    path = tmp_path / "model.perch"
    model.save(path)
    model.tree_.insert(X[:1] + 0.5)
    cluster = model.all_labels_[-1]
    for use in (lambda: model.keys_, lambda: model.members(cluster), lambda: model.save(path)):
        with pytest.raises(ValueError, match="some points have no keys"):
            use()
    assert len(Perch.load(path).keys_) == N_ROWS


def test_keys_after_an_interruption(blobs, monkeypatch):
    X, _ = blobs
    model = Perch(n_clusters=2).fit(X[:20], keys=range(20))

    insert_part = ClusterTree._insert_part

    def interrupted(tree, arrays, part):
        insert_part(tree, arrays, part._replace(rows=part.rows[:5]))
        raise KeyboardInterrupt

    monkeypatch.setattr(ClusterTree, "_insert_part", interrupted)
    with pytest.raises(KeyboardInterrupt, match="5 of 20 rows were inserted"):
        model.partial_fit(X[20:40], keys=range(20, 40))
    monkeypatch.undo()
    assert model.keys_.tolist() == list(range(25))
    model.partial_fit(X[25:40], keys=range(25, 40))
    assert model.label_of([39]) == model.all_labels_[39] == model.labels_[-1]


def test_labels_cannot_be_written_to(blobs):
    model = Perch(n_clusters=2).fit(blobs[0])
    for each in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="read-only"):
            each.labels_[0] = 7


def test_progress_and_memory(blobs, capsys):
    Perch(verbose=1).fit(blobs[0])
    shown = capsys.readouterr().err
    assert "the tree will take about" in shown
    assert "point" in shown


@pytest.mark.parametrize("linkage", ["box", "average"])
@pytest.mark.parametrize("max_leaves", [None, 100])
def test_memory_is_estimated_well(linkage, max_leaves):
    X = np.random.default_rng(0).random((N_ROWS, 20))
    tree = ClusterTree(20, linkage=linkage, max_leaves=max_leaves)
    expected = tree.estimate_memory(N_ROWS)
    tree.insert(X)
    used = sum(array.nbytes for _, array in used_rows(tree._tree))
    assert expected == pytest.approx(used + 4 * 20 * N_ROWS, rel=0.1)  # and a batch of rows
