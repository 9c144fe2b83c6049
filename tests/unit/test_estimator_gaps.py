"""Perch over points whose ids have gaps: everything goes by the points that are there."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapped import late_ids, skip_ids
from perchtree import Perch
from strategies import grids

pytestmark = pytest.mark.outer

few = settings(max_examples=max(8, settings.default.max_examples // 10))
gaps_of = st.lists(st.integers(0, 4), min_size=3, max_size=3)


def twins(parameters, X, gaps, keys):
    """The same estimator twice: with the ids 0, 1, 2, ..., and with gaps before each call."""
    dense, gapped = Perch(**parameters), Perch(**parameters)
    for gap, rows in zip(gaps, np.array_split(np.arange(len(X)), 3), strict=True):
        own = None if keys is None else [keys[row] for row in rows]
        dense.partial_fit(X[rows], keys=own)
        if hasattr(gapped, "collection_"):
            skip_ids(gapped.tree_, gap)
        with late_ids(gap):
            gapped.partial_fit(X[rows], keys=own)
        assert np.array_equal(gapped.labels_, dense.labels_)
        assert len(gapped.labels_) == len(rows)
        assert np.array_equal(gapped.all_labels_, dense.all_labels_)
    return dense, gapped


def assert_same_answers(dense, gapped, key_of):
    """Answers are the same; keys that are ids are translated by `key_of`."""
    assert gapped.events_ == dense.events_
    assert gapped.cluster_ids_.tolist() == dense.cluster_ids_.tolist()
    assert gapped.cluster_sizes_.tolist() == dense.cluster_sizes_.tolist()
    assert gapped.keys_.tolist() == [key_of[key] for key in dense.keys_.tolist()]
    assert gapped.exemplars_.tolist() == [key_of[key] for key in dense.exemplars_.tolist()]
    for cluster in dense.cluster_ids_:
        expected = [key_of[key] for key in dense.members(cluster).tolist()]
        assert gapped.members(cluster).tolist() == expected
    some = dense.keys_[::-2].tolist()
    labels = gapped.label_of([key_of[key] for key in some])
    assert labels.tolist() == dense.label_of(some).tolist()
    queries = np.vstack([np.zeros(dense.n_features_in_), np.full(dense.n_features_in_, 2.5)])
    assert gapped.predict(queries).tolist() == dense.predict(queries).tolist()
    k = min(3, len(dense.keys_))
    keys, distances = gapped.nearest(queries, k)
    found, expected = dense.nearest(queries, k)
    assert keys.tolist() == [[key_of[key] for key in row] for row in found.tolist()]
    assert np.array_equal(distances, expected)


@pytest.mark.parametrize("kind", [None, str, int])
@pytest.mark.parametrize("parameters", [{"n_clusters": 1}, {"distance_threshold": 3.0}])
@given(X=grids(min_points=3, max_points=20), gaps=gaps_of)
@few
def test_answers(parameters, kind, X, gaps):
    keys = None if kind is None else [kind(1000 - row) for row in range(len(X))]
    dense, gapped = twins(parameters, X, gaps, keys)
    key_of = dict(zip(range(len(X)), gapped.tree_.ids.tolist(), strict=True))
    assert_same_answers(dense, gapped, key_of if kind is None else {key: key for key in keys})


@pytest.mark.parametrize("keys", [None, [f"k{i}" for i in range(30)]])
def test_files_and_pickles(tmp_path, keys):
    X = np.random.default_rng(0).integers(0, 20, (30, 2)).astype(float)
    dense, gapped = twins({"n_clusters": 4}, X[:24], [5, 2, 3], keys and keys[:24])
    gapped.save(tmp_path / "model.perch")
    dense.partial_fit(X[24:], keys=keys and keys[24:])
    for twin in (Perch.load(tmp_path / "model.perch"), pickle.loads(pickle.dumps(gapped))):
        assert np.array_equal(twin.labels_, gapped.labels_)
        assert len(twin.labels_) == 8
        skip_ids(twin.tree_, 2)
        twin.partial_fit(X[24:], keys=keys and keys[24:])
        assert np.array_equal(twin.labels_, dense.labels_)
        ids = twin.tree_.ids.tolist()
        assert ids == [*range(5, 13), *range(15, 23), *range(26, 34), *range(36, 42)]
        key_of = dict(enumerate(ids)) if keys is None else {key: key for key in keys}
        assert_same_answers(dense, twin, key_of)


def test_ids_that_no_point_has():
    X = np.random.default_rng(0).random((12, 2))
    _, gapped = twins({"n_clusters": 2}, X, [3, 1, 0], None)
    for absent in (0, 2, 7, 99, -1):
        with pytest.raises(ValueError, match=f"no point with the key {absent}"):
            gapped.label_of([absent])
