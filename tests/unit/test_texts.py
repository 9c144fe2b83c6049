"""Collections whose vectors are made of texts: before and after saving, and what they refuse."""

import pickle

import numpy as np
import pytest
import scipy.sparse

from perchtree import ClusterTree, Collection, CorruptFileError, Perch
from perchtree.encode import Chars, Words
from perchtree.encode.interface import name_of
from perchtree.files.container import Reader, Section, write

pytestmark = pytest.mark.outer

TEXTS = ["Ann Miller, London", "Anne Miller, London", "ann miler", "Bob Stone", "Rob Stone, Leeds",
         "", None, "Bob Stone", "Zoë Ångström", "Zoe\u0308 A\u030angstro\u0308m"]  # fmt: skip
MORE = ["Anne Millar", "Bob Ston", "Cora", ""]


@pytest.fixture(autouse=True)
def short_vectors(monkeypatch):
    """Named encoders have few dimensions: kernels as plain Python take their time."""
    monkeypatch.setattr("perchtree.encode.making.DIMENSIONS", 32)


def shape(collection):
    return collection.tree.children.tolist(), collection.texts, collection.ids.tolist()


@pytest.mark.parametrize("encoder", ["chars", "words:64", "auto"])
def test_texts_go_in_and_neighbours_come_out(encoder):
    people = Collection(encoder=encoder)
    people.add(texts=TEXTS, keys=[f"k{i}" for i in range(10)])
    assert people.texts == TEXTS
    assert people.encoder.n_texts == 10
    assert people.tree.n_leaves == 7  # empty and missing texts, copies and normal forms are one
    keys, distances = people.nearest(texts=["zoë ångström", "bob stone", None])
    assert keys[:, 0].tolist() == ["k8", "k3", "k5"]
    assert distances.max() == 0
    assert people.encode(MORE).shape == (4, people.tree.n_features)


def test_the_first_texts_are_learned_from_and_no_others():
    people = Collection(encoder="chars")
    people.add(texts=TEXTS)
    people.add(texts=MORE)
    learned = Chars(32).learned(["" if text is None else text for text in TEXTS])
    at_once = Collection(encoder=learned)
    at_once.add(texts=TEXTS + MORE)
    assert people.encoder.n_texts == at_once.encoder.n_texts == len(TEXTS)
    assert shape(people) == shape(at_once)


def test_saved_and_loaded_it_goes_on(tmp_path):
    people = Collection(encoder="words", metric="cosine")
    people.add(texts=TEXTS)
    people.save(tmp_path / "a.perch")
    people.add(texts=MORE)
    people.save(tmp_path / "b.perch")
    with Collection.open(tmp_path / "a.perch", write=True) as twin:
        twin.add(texts=MORE)
        twin.save(tmp_path / "a.perch")
    assert shape(twin) == shape(people)
    assert (tmp_path / "a.perch").read_bytes() == (tmp_path / "b.perch").read_bytes()
    assert Collection.open(tmp_path / "a.perch", encoder="words").encoder.n_texts == len(TEXTS)
    with pytest.raises(ValueError, match="made by the encoder words, not by chars: leave it out"):
        Collection.open(tmp_path / "a.perch", encoder="chars")


def test_batches_make_the_same_file(tmp_path):
    for parts in (1, 3):
        people = Collection(encoder=Words(32).learned(MORE), n_jobs=None)
        for part in np.array_split(np.array(TEXTS, object), parts):
            people.add(texts=part)
        people.save(tmp_path / f"{parts}.perch")
    assert (tmp_path / "1.perch").read_bytes() == (tmp_path / "3.perch").read_bytes()


def test_copies_and_pickles_keep_the_encoder():
    people = Collection(encoder="chars")
    people.add(texts=TEXTS)
    for twin in (people.copy(), pickle.loads(pickle.dumps(people))):
        twin.add(texts=MORE)
        assert len(people) == len(TEXTS)
        assert np.array_equal(twin.encode(MORE), people.encode(MORE))


class Lengths:
    def encode(self, texts):
        return np.array([[len(text), text.count("a")] for text in texts], float)


def test_an_encoder_of_ones_own(tmp_path):
    people = Collection(encoder=Lengths())
    people.add(texts=TEXTS)
    people.save(tmp_path / "a.perch")
    twin = Collection.open(tmp_path / "a.perch")
    assert name_of(twin.encoder) == f"{__name__}:Lengths"
    for ask in (lambda: twin.add(texts=MORE), lambda: twin.nearest(texts=MORE)):
        with pytest.raises(ValueError, match="give it again"):
            ask()
    twin.save(tmp_path / "b.perch")  # without it, nothing is lost
    twin = Collection.open(tmp_path / "b.perch", encoder=Lengths())
    twin.add(texts=MORE)
    people.add(texts=MORE)
    assert shape(twin) == shape(people)


def test_vectors_and_texts_are_not_mixed():
    by_text, by_vector = Collection(encoder="chars"), Collection()
    by_text.add(texts=TEXTS)
    by_vector.add([[1, 2], [3, 4]], texts=["a", "b"])
    own = "made by its encoder, chars: give texts, and no X"
    for wrong in ({"X": [[1, 2]]}, {"X": [[1, 2]], "texts": ["a"]}, {"keys": [1]}):
        with pytest.raises(ValueError, match=own):
            by_text.add(**wrong)
    with pytest.raises(ValueError, match=r"records need vectors: give X, .*encoder='words'"):
        by_vector.add(texts=["c"])
    with pytest.raises(ValueError, match="has no encoder"):
        by_vector.encode(["c"])
    with pytest.raises(ValueError, match="vectors of their own"):
        by_vector.use_encoder("chars")
    for wrong in ({}, {"X": np.zeros((1, 32))}, {"X": [[1]], "texts": ["a"]}):
        with pytest.raises(ValueError, match="give texts, and nothing else"):
            by_text.nearest(**wrong)
    with pytest.raises(ValueError, match="give X, and nothing else"):
        by_vector.nearest()
    with pytest.raises(TypeError, match="must be a list"):
        by_text.add(texts="one text")
    assert (len(by_text), len(by_vector)) == (len(TEXTS), 2)


def test_nothing_is_learned_from_texts_that_are_refused():
    people = Collection(encoder="chars")
    with pytest.raises(ValueError, match="again"):
        people.add(texts=["a", "b"], keys=["k", "k"])
    assert people.encoder.n_texts == 0
    people.add(texts=["a", "b", "c"], keys=["k", "l", "m"])
    assert people.encoder.n_texts == 3


def test_a_damaged_encoder_is_refused(tmp_path):
    people = Collection(encoder="chars")
    people.add(texts=TEXTS)
    people.save(tmp_path / "a.perch")
    reader = Reader(tmp_path / "a.perch", ("tree", "records", "encoder"))
    sections = {
        name: Section(
            reader.meta(name),
            {array: reader.read(name, array) for array in reader.names(name)},
            reader.is_optional(name),
        )
        for name in reader.sections()
    }
    assert sections["encoder"].optional
    for meta in ({"name": "chars"}, {}, sections["encoder"].meta | {"version": 9}):
        write(tmp_path / "b.perch", sections | {"encoder": sections["encoder"]._replace(meta=meta)})
        with pytest.raises(CorruptFileError, match="an encoder"):
            Collection.open(tmp_path / "b.perch")


# The estimator


@pytest.mark.parametrize("texts", [["a", "b"], ("a",), np.array(["a", "b"])])
def test_the_estimator_says_how_to_cluster_texts(texts):
    for ask in (Perch().fit, Perch().partial_fit, Perch().fit([[1], [2]]).predict):
        with pytest.raises(ValueError, match=r"X holds texts, not vectors: Collection\(encoder="):
            ask(texts)
        with pytest.raises(ValueError, match=r"X has a column of texts, .*: Collection\(encoder="):
            ask(np.array(texts, object)[:, np.newaxis])
    for ask in (ClusterTree(1).insert, Collection().add):
        with pytest.raises(ValueError, match=r"expected numbers, got .* Collection\(encoder="):
            ask(texts)


@pytest.mark.parametrize("add", [lambda X: Perch().fit(X), lambda X: Collection().add(X)])
def test_sparse_rows_are_refused_with_a_hint(add):
    with pytest.raises(ValueError, match=r"sparse .*perchtree\.encode\.project\(X\)"):
        add(scipy.sparse.eye(3).tocsr())


def test_the_estimator_keeps_the_encoder(tmp_path):
    people = Collection(encoder="chars")
    people.add(texts=TEXTS)
    people.save(tmp_path / "a.perch")
    model = Perch.load(tmp_path / "a.perch")
    assert len(model.set_params(n_clusters=2).all_labels_) == len(TEXTS)
    with pytest.raises(ValueError, match="give texts, and no X"):
        model.partial_fit(np.zeros((1, 32)))
    assert model.predict(model.collection_.encode(["bob stone"])) == model.all_labels_[3]
    model.save(tmp_path / "b.perch")
    assert Collection.open(tmp_path / "b.perch").encoder.n_texts == len(TEXTS)
