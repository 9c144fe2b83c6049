"""Memory runs out, or Ctrl-C comes, at every line: models stay whole and go on."""

import itertools
import pickle

import numpy as np
import pytest
from faults import FaultAt, fails_at, in_thread
from sklearn.exceptions import NotFittedError

from perchtree import ClusterTree, Collection, Perch, _arrays

pytestmark = pytest.mark.jit  # as plain Python, kernels would be interrupted as well

MODES = [
    {},
    pytest.param({"linkage": "box", "search": "scan"}, marks=pytest.mark.slow),
    pytest.param({"linkage": "box", "max_leaves": 12}, marks=pytest.mark.slow),
    pytest.param({"search": "beam", "beam_width": 4}, marks=pytest.mark.slow),
]
ERRORS = [MemoryError, KeyboardInterrupt]

rng = np.random.default_rng(5)
OLD = rng.integers(-9, 9, (40, 2)).astype(np.float64)
NEW = rng.integers(-9, 9, (50, 2)).astype(np.float64)
ALL = np.concatenate([OLD, NEW])


def columns(start, stop):
    """Keys, texts and classes of some rows."""
    numbers = range(start, stop)
    return {
        "keys": [f"k{i}" for i in numbers],
        "texts": [f"text {i}" for i in numbers],
        "classes": [i % 3 for i in numbers],
    }


@pytest.fixture(autouse=True)
def _small_maps(monkeypatch):
    """Of the small arrays here, some move into maps when they grow, and others grow in theirs."""
    monkeypatch.setattr(_arrays, "_SHORT", 700)


@pytest.fixture(params=MODES, ids=str)
def settings(request):
    return request.param


@pytest.fixture(params=ERRORS, ids=lambda error: error.__name__)
def error(request):
    return request.param


def assert_whole(collection, start=0):
    """The tree holds every invariant, and records are those of its points, seen by any thread."""
    tree = collection.tree
    in_thread(tree.check)
    stop = start + len(collection)
    assert collection.keys.tolist() == columns(start, stop)["keys"]
    assert collection.texts == columns(start, stop)["texts"]
    assert collection.classes == columns(start, stop)["classes"]
    assert in_thread(lambda: collection.nearest(ALL[:1])[0].shape) == (1, 1)


def same_tree(one, other):
    return np.array_equal(one.children, other.children) and np.array_equal(
        one.heights, other.heights
    )


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.slow), 13])
def step(request):
    """Every line takes minutes; every thirteenth one finds what is wrong in most places."""
    return request.param


def every_line(make, work, error, step=1):
    """For each line of some work: an object on which it failed there, and where that was."""
    work(make())  # compiles
    for n in itertools.count(1, step):
        subject = make()
        place = fails_at(lambda subject=subject: work(subject), error, n)
        if not place:  # it was done before it came to this line
            assert n > 50
            return
        yield subject, f"{place}, line {n}"


def test_insert(settings, error, step):
    def make():
        tree = ClusterTree(2, **settings)
        tree.insert(OLD)
        return tree

    whole = ClusterTree(2, **settings)
    whole.insert(ALL)
    for tree, place in every_line(make, lambda tree: tree.insert(NEW), error, step):
        in_thread(tree.check)
        assert len(OLD) <= tree.n_points <= len(ALL), place
        if tree.n_points < len(ALL):
            in_thread(lambda tree=tree: tree.insert(ALL[tree.n_points :]))
        assert same_tree(tree, whole), place


def test_add(settings, error, step):
    def make():
        collection = Collection(**settings)
        collection.add(OLD, **columns(0, 40))
        return collection

    whole = make()
    whole.add(NEW, **columns(40, 90))
    for collection, place in every_line(make, lambda c: c.add(NEW, **columns(40, 90)), error, step):
        assert_whole(collection)
        n = len(collection)
        assert 40 <= n <= 90, place
        if n < 90:
            in_thread(lambda c=collection, n=n: c.add(ALL[n:], **columns(n, 90)))
        assert_whole(collection)
        assert same_tree(collection.tree, whole.tree), place


def test_first_add(error, step):
    """What failed says nothing about what may come: other keys, or none."""
    work = lambda collection: collection.add(NEW, keys=range(50), texts=["t"] * 50)  # noqa: E731
    for collection, place in every_line(Collection, work, error, step):
        if len(collection) == 0:
            assert not collection.has_keys, place
            assert collection.texts is None, place
            in_thread(lambda c=collection: c.add(NEW))
            assert collection.keys.tolist() == list(range(50))
        else:
            assert collection.keys.tolist() == list(range(len(collection))), place
            assert collection.texts == ["t"] * len(collection), place


def test_partial_fit(settings, error, step):
    fitted = Perch(n_clusters=3, **settings).fit(OLD, **columns(0, 40))
    before = fitted.labels_.copy()
    whole = pickle.loads(pickle.dumps(fitted)).partial_fit(NEW, **columns(40, 90))

    def make():
        return pickle.loads(pickle.dumps(fitted))

    for model, place in every_line(
        make, lambda m: m.partial_fit(NEW, **columns(40, 90)), error, step
    ):
        n = model.tree_.n_points
        assert_whole(model.collection_)
        assert model.n_features_in_ == 2
        assert model.all_labels_.shape == (n,), place
        assert model.labels_.shape in ((40,), (50,)), place
        if n == 40:
            assert np.array_equal(model.labels_, before), place
        if n < 90:
            in_thread(lambda m=model, n=n: m.partial_fit(ALL[n:], **columns(n, 90)))
        assert same_tree(model.tree_, whole.tree_), place


def test_fit_of_a_fitted_model(settings, error, step):
    fitted = Perch(n_clusters=3, **settings).fit(OLD, **columns(0, 40))
    before = fitted.labels_.copy()
    wide = np.column_stack([NEW, NEW[:, 0]])
    anew = Perch(n_clusters=3, **settings).fit(wide, **columns(40, 90))

    def make():
        return pickle.loads(pickle.dumps(fitted))

    for model, place in every_line(make, lambda m: m.fit(wide, **columns(40, 90)), error, step):
        if model.n_features_in_ == 2:
            assert_whole(model.collection_)
            assert same_tree(model.tree_, fitted.tree_), place
            assert np.array_equal(model.labels_, before), place
            continue
        n = len(model.collection_)
        assert n == 50 or error is KeyboardInterrupt, place
        in_thread(model.tree_.check)
        assert model.keys_.tolist() == columns(40, 40 + n)["keys"], place
        assert model.labels_.shape == (n,), place
        if n < 50:
            model.partial_fit(wide[n:], **columns(40 + n, 90))
        assert same_tree(model.tree_, anew.tree_), place


def test_without_memory_for_all_rows_fit_says_what_to_do():
    model = Perch(n_clusters=3).fit(OLD)
    with (
        pytest.raises(MemoryError, match="the model is as it was: fit fewer rows"),
        FaultAt(MemoryError, 600),
    ):
        model.fit(NEW)
    assert len(model.collection_) == 40


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_fit_of_a_new_model(settings, error, call, step):
    whole = Perch(n_clusters=3, **settings).fit(ALL, **columns(0, 90))

    def work(model):
        getattr(model, call)(ALL, **columns(0, 90))

    for model, place in every_line(lambda: Perch(n_clusters=3, **settings), work, error, step):
        if not model.__sklearn_is_fitted__():
            assert not hasattr(model, "n_features_in_"), place
            with pytest.raises(NotFittedError):
                _ = model.labels_
            n = 0
        else:
            n = len(model.collection_)
            assert n > 0, place
            assert_whole(model.collection_)
            assert model.labels_.shape == (n,), place
        if n < 90:
            in_thread(lambda m=model, n=n: m.partial_fit(ALL[n:], **columns(n, 90)))
        assert same_tree(model.tree_, whole.tree_), place


def test_refine(error, step):
    def make():
        tree = ClusterTree(2)
        tree.insert(np.sort(ALL, axis=0))
        return tree

    for tree, _ in every_line(make, lambda tree: tree.refine(3), error, step):
        in_thread(tree.check)
        in_thread(lambda tree=tree: tree.refine(50))
        tree.check()
        assert tree.n_points == 90
