"""Collection: records and their tree stay together, in memory and in files."""

import pickle
import threading
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from gapped import late_ids, skip_ids
from in_threads import join, start
from perchtree import ClusterTree, Collection, FileInUseError, Perch
from perchtree.collection import collection as module
from perchtree.collection.records import Records
from perchtree.files.container import Reader, Section, write
from perchtree.files.contents import Contents

pytestmark = pytest.mark.outer

X = np.random.default_rng(0).integers(0, 30, (24, 2)).astype(float)
KEYS = [f"k{i}" for i in range(24)]
TEXTS = ["", None, "zwölf"] * 8
CLASSES = [0, None, 2, 1] * 6


def part(start, stop):
    own = slice(start, stop)
    return {"X": X[own], "keys": KEYS[own], "texts": TEXTS[own], "classes": CLASSES[own]}


def made(**settings):
    collection = Collection(**settings)
    collection.add(**part(0, 10))
    collection.add(**part(10, 24))
    return collection


def known(collection):
    """Everything that is known of the records, and their tree."""
    return {
        "ids": collection.ids.tolist(),
        "keys": collection.keys.tolist(),
        "texts": collection.texts,
        "classes": collection.classes,
        "names": collection.feature_names,
        "notes": collection.notes,
        "settings": collection.settings,
        "children": collection.tree.children.tolist(),
        "next": collection.tree.next_id,
    }


@pytest.fixture
def gapped():
    """A collection whose records have the ids 4 to 13 and 16 to 29."""
    collection = Collection()
    with late_ids(4):
        collection.add(**part(0, 10))
    skip_ids(collection.tree, 2)
    collection.add(**part(10, 24))
    assert collection.ids.tolist() == [*range(4, 14), *range(16, 30)]
    return collection


def test_records_stay_together():
    collection = made(linkage="ward")
    tree = ClusterTree(2, linkage="ward")
    tree.insert(X)
    assert np.array_equal(collection.tree.children, tree.children)
    assert len(collection) == 24
    assert collection.has_keys
    assert collection.keys.tolist() == KEYS
    assert collection.texts == TEXTS
    assert collection.classes == CLASSES
    assert collection.ids_of(["k7", "k3"]).tolist() == [7, 3]
    keys, distances = collection.nearest(X[:5], k=2)
    ids, expected = tree.nearest(X[:5], k=2)
    assert keys.tolist() == np.array(KEYS, object)[ids].tolist()
    assert np.array_equal(distances, expected)


def test_without_anything_but_vectors():
    collection = Collection()
    assert collection.add(X[:5]).tolist() == [0, 1, 2, 3, 4]
    assert not collection.has_keys
    assert collection.keys.tolist() == [0, 1, 2, 3, 4]
    assert collection.texts is collection.classes is None
    assert collection.ids_of([3]).tolist() == [3]
    assert collection.nearest(X[2:3])[0].tolist() == [[2]]
    with pytest.raises(ValueError, match="no point with the key 7"):
        collection.ids_of([7])


def test_texts_and_classes_may_come_later():
    collection = Collection()
    collection.add(X[:2])
    assert collection.texts is None
    collection.add(X[2:4], texts=["a", None], classes=[1, 2])
    collection.add(X[4:5])
    assert collection.texts == [None, None, "a", None, None]
    assert collection.classes == [None, None, 1, 2, None]


def test_an_empty_collection():
    collection = Collection(max_leaves=5)
    assert len(collection) == len(collection.ids) == len(collection.keys) == 0
    assert collection.texts is collection.classes is None
    assert repr(collection) == "<Collection(max_leaves=5): 0 records>"
    for use in (
        lambda: collection.tree,
        lambda: collection.nearest(X),
        lambda: collection.save("x"),
    ):
        with pytest.raises(ValueError, match="the collection is empty: add records first"):
            use()
    assert len(pickle.loads(pickle.dumps(collection))) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X": None}, "records need vectors: give X"),
        ({"X": X[:2] * np.nan}, "row 0 contains NaN"),
        ({"X": X[:2, :1]}, "expected 2 features, got rows of 1"),
        ({"keys": None}, "earlier points have keys: give keys"),
        ({"keys": ["new", "k3"]}, "row 1 has 'k3' again"),
        ({"keys": ["new"]}, "1 keys for 2 rows"),
        ({"texts": ["one"]}, "1 texts for 2 rows"),
        ({"classes": "ab"}, "classes must be a list or an array"),
    ],
)
def test_errors_change_nothing(wrong, message):
    collection = made()
    before = known(collection)
    rows = {"X": X[:2], "keys": ["n1", "n2"], "texts": ["t", "u"], "classes": [1, 2]}
    with pytest.raises(ValueError, match=message):
        collection.add(**rows | wrong)
    assert known(collection) == before
    collection.add(**rows)
    assert collection.keys[-2:].tolist() == ["n1", "n2"]
    assert collection.texts[-2:] == ["t", "u"]
    # The same to begin with.
    if message.startswith(("row 0", "1 ", "classes", "records")):
        empty = Collection()
        with pytest.raises(ValueError, match=message):
            empty.add(**rows | wrong)
        assert len(empty) == 0
        empty.add(X[:3])
        assert not empty.has_keys


@pytest.mark.parametrize("inserted", [0, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("before", [0, 10])
def test_after_an_interruption_the_rest_can_be_added(before, error, inserted):
    collection = Collection()
    if before:
        collection.add(**part(0, before))
    insert_part = ClusterTree._insert_part

    def interrupted(tree, arrays, rows):
        if inserted:
            insert_part(tree, arrays, rows._replace(rows=rows.rows[:inserted]))
        raise error

    with (
        mock.patch.object(ClusterTree, "_insert_part", interrupted),
        pytest.raises(error, match=f"{inserted} of {24 - before} rows were inserted"),
    ):
        collection.add(**part(before, 24))
    there = before + inserted
    assert len(collection) == there
    assert collection.keys.tolist() == KEYS[:there]
    if there:
        with pytest.raises(ValueError, match="no point with the key 'k20'"):
            collection.ids_of(["k20"])
        past = pickle.loads(pickle.dumps(collection))
        past.tree.insert([[0.5, 0.5]])
        with pytest.raises(ValueError, match="some points have no keys"):
            _ = past.keys
    collection.add(**part(there, 24))
    assert known(collection) == known(made())


def test_points_inserted_past_the_collection_at_the_same_time():
    """Keys go to the records they were given for, whoever inserts into the tree meanwhile."""
    collection = made()
    stage, others = Records.stage, []

    def stage_and_let_others_try(records, *arguments):
        stage(records, *arguments)
        other = threading.Thread(target=collection.tree.insert, args=[[[40.0, 40.0]]])
        others.append(other)
        other.start()
        other.join(0.2)  # it must wait for its turn

    with mock.patch.object(Records, "stage", stage_and_let_others_try):
        ids = collection.add([[50.0, 50.0]], keys=["new"])
    others[0].join()
    assert collection.ids_of(["new"]).tolist() == ids.tolist() == [24]
    assert collection.nearest([[50.0, 50.0]])[0].tolist() == [["new"]]


def test_nothing_stays_of_records_of_which_none_is_in():
    """Interrupted before the first row: the next records may have other columns and features."""
    collection = Collection()
    with (
        mock.patch.object(ClusterTree, "_insert_part", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        collection.add(**part(0, 10))
    assert len(collection) == 0
    assert not collection.has_keys
    collection.add([[1.0], [2.0]])
    assert collection.keys.tolist() == [0, 1]
    assert collection.texts is None


def test_files(tmp_path):
    collection = made(metric="cosine", n_jobs=2)
    collection.feature_names, collection.notes = ["a", "b"], {"source": "here", "rows": [1, 2]}
    path = tmp_path / "records.perch"
    collection.save(path)
    for mmap in (False, True):
        opened = Collection.open(path, mmap=mmap)
        assert known(opened) == known(collection)
        opened.add(X[:1] + 0.5, keys=["new"])
        assert opened.keys[-1] == "new"
        assert opened.texts == [*TEXTS, None]
    assert known(pickle.loads(pickle.dumps(collection))) == known(collection)
    assert ClusterTree.load(path).n_points == 24


def test_a_file_has_one_state_of_the_tree(tmp_path):
    """While it is written, others can read the tree, but have to wait before they change it."""
    collection, path = made(), tmp_path / "records.perch"
    before, save_tree, writers = known(collection), module.save_tree, []

    def save_slowly(*arguments, **settings):
        writers.extend(start(lambda: collection.tree.insert([[40.0, 40.0]])))
        writers[0].join(0.2)
        join(start(lambda: collection.nearest(X)))
        save_tree(*arguments, **settings)

    with mock.patch.object(module, "save_tree", save_slowly):
        collection.save(path)
    join(writers)
    assert known(Collection.open(path)) == before
    assert len(collection) == 25


def test_gaps_between_ids(gapped, tmp_path):
    dense = made()
    assert gapped.keys.tolist() == KEYS
    assert gapped.texts == TEXTS
    assert gapped.classes == CLASSES
    assert gapped.ids_of(["k0", "k10"]).tolist() == [4, 16]
    assert gapped.nearest(X, k=3)[0].tolist() == dense.nearest(X, k=3)[0].tolist()
    gapped.save(tmp_path / "records.perch")
    opened = Collection.open(tmp_path / "records.perch")
    assert known(opened) == known(gapped) == known(pickle.loads(pickle.dumps(gapped)))
    for each in (gapped, opened):
        with pytest.raises(ValueError, match="row 0 has 'k3' again"):
            each.add(X[:1], keys=["k3"])
        assert each.add(X[:1] + 0.5, keys=["new"]).tolist() == [30]
        assert each.ids_of(["k23", "new"]).tolist() == [29, 30]


def test_ids_without_points_are_no_keys(gapped):
    bare = Collection()
    with late_ids(4):
        bare.add(X)
    assert bare.keys.tolist() == list(range(4, 28))
    for collection, wrong in ((bare, 2), (gapped, "k99"), (gapped, None)):
        with pytest.raises(ValueError, match="there is no point with the key"):
            collection.ids_of([wrong])


def test_points_inserted_past_the_collection(tmp_path):
    """They have no keys: that is said, and no file is made that could not be opened."""
    collection, path = made(), tmp_path / "records.perch"
    collection.save(path)
    collection.tree.insert([[0.5, 0.5]])
    for use in (lambda: collection.keys, lambda: collection.save(path)):
        with pytest.raises(ValueError, match="some points have no keys"):
            use()
    assert len(Collection.open(path)) == 24
    bare = Collection()
    bare.add(X[:3], texts=["a", "b", "c"])
    bare.tree.insert([[0.5, 0.5]])
    bare.save(path)
    assert Collection.open(path).texts == ["a", "b", "c", None]


def test_sections_of_others_survive(tmp_path):
    path = tmp_path / "records.perch"
    collection = made()
    columns = {"points": np.arange(3), "events": ["x"]}
    collection.sections["estimator"] = Contents({"mine": 1}, columns, optional=True)
    collection.save(path)
    for _ in range(2):
        opened = Collection.open(path)
        kept = opened.sections["estimator"]
        assert kept.meta == {"mine": 1}
        assert kept.columns["points"].tolist() == [0, 1, 2]
        assert kept.columns["events"] == ["x"]
        assert kept.optional
        assert Reader(path).is_optional("estimator")
        assert not Reader(path).is_optional("records")
        opened.save(path)


def test_sections_of_later_versions(tmp_path):
    """One that is optional does not matter; any other refuses the file."""
    path = tmp_path / "records.perch"
    made().save(path)
    reader = Reader(path)
    sections = {
        name: Section(reader.meta(name), {array: reader.read(name, array)
                                          for array in reader.names(name)})
        for name in reader.sections()
    }  # fmt: skip
    write(path, sections | {"index": Section({}, {"a": np.arange(2)}, optional=True)})
    assert known(Collection.open(path)) == known(made())
    write(path, sections | {"index": Section({}, {"a": np.arange(2)})})
    with pytest.raises(ValueError, match="newer version of perchtree, which keeps 'index'"):
        Collection.open(path)


def test_an_estimator_keeps_what_it_does_not_use(tmp_path):
    path = tmp_path / "records.perch"
    collection = made()
    collection.notes = {"source": "here"}
    collection.save(path)
    before = known(Collection.open(path))
    Perch.load(path).save(path)
    assert known(Collection.open(path)) == before
    model = Perch.load(path).set_params(n_clusters=3)
    labels = model.labels_
    assert len(labels) == 24
    model.save(path)
    Collection.open(path).save(path)  # labels and parameters are not lost by this
    assert known(Collection.open(path)) == before
    again = Perch.load(path)
    assert again.n_clusters == 3
    assert np.array_equal(again.labels_, labels)
    assert again.collection_.classes == CLASSES


def test_names_of_features(tmp_path):
    path = tmp_path / "model.perch"
    Perch().fit(pd.DataFrame(X, columns=["a", "b"]), texts=TEXTS).save(path)
    assert Collection.open(path).feature_names == ["a", "b"]
    assert Perch.load(path).feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        Perch.load(path).partial_fit(pd.DataFrame(X, columns=["a", "c"]))


def test_a_file_is_held_until_it_is_closed(tmp_path):
    path = tmp_path / "records.perch"
    made().save(path)
    with Collection.open(path, write=True) as held:
        with pytest.raises(FileInUseError):
            Collection.open(path, write=True)
        with pytest.raises(FileInUseError):
            made().save(path)
        assert len(Collection.open(path)) == 24  # reading is always possible
        held.add(X[:1] + 0.5, keys=["new"])
        held.save(path)
    with Collection.open(path, write=True) as again:
        assert len(again) == 25


def test_threads_for_searching_can_be_changed():
    collection = Collection()
    collection.n_jobs = 2
    collection.add(X)
    assert collection.n_jobs == collection.tree.n_jobs == 2
    collection.n_jobs = None
    assert collection.tree.n_jobs is None
