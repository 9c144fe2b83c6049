"""Encoders by name, from other packages, and as files remember them."""

import sys
import types

import numpy as np
import pytest

from perchtree.encode import Chars, Words, make_encoder
from perchtree.encode.interface import encode_texts, name_of, plain_texts
from perchtree.encode.making import Remembered, restore_encoder, same_encoder, store_encoder
from perchtree.encode.models import Model

pytestmark = pytest.mark.outer


class Lengths:
    """An encoder of one's own."""

    def encode(self, texts):
        return [[len(text), 1.0] for text in texts]


LENGTHS = Lengths()


def test_encoders_by_name():
    assert isinstance(make_encoder("chars"), Chars)
    assert isinstance(make_encoder("words"), Words)
    assert make_encoder("words:512", n_jobs=2).encode(["a"]).shape == (1, 512)
    assert make_encoder(LENGTHS) is LENGTHS
    assert make_encoder(f"{__name__}:LENGTHS") is LENGTHS
    assert isinstance(make_encoder(f"{__name__}:Lengths"), Lengths)
    assert name_of(LENGTHS) == f"{__name__}:Lengths"
    assert name_of(Chars()) == "chars"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("letters", ValueError, "no encoder 'letters': there are auto, chars, words"),
        ("words:many", ValueError, "number of dimensions"),
        ("words:20", ValueError, "multiple of 16"),
        ("no_such_module:x", ImportError, "no encoder no_such_module:x: No module"),
        ("json:nothing", ImportError, "no encoder json:nothing"),
        ("json:dumps", TypeError, "dumps"),
        ("json:decoder", TypeError, "needs a method encode"),
        (3, TypeError, "3 is no encoder: give a name"),
        ("model2vec", (ImportError, ValueError), "model2vec"),
        (
            "sentence-transformers:x",
            (ImportError, OSError),
            "sentence-transformers|cannot be loaded",
        ),
    ],
)
def test_what_is_no_encoder(given, kind, message):
    with pytest.raises(kind, match=message):
        make_encoder(given)


def test_a_package_that_is_missing(monkeypatch):
    for module in ("wordllama", "model2vec", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    for name in ("wordllama", "model2vec:x", "sentence-transformers:x"):
        with pytest.raises(ImportError, match=r"is missing: pip install .*words.*need no model"):
            make_encoder(name)


@pytest.mark.parametrize(
    ("package", "attribute", "name"),
    [
        ("model2vec", "StaticModel", "model2vec"),
        ("sentence_transformers", "SentenceTransformer", "sentence-transformers"),
    ],
)
def test_models_of_other_packages(package, attribute, name, monkeypatch):
    """These packages are large, and fetch their models: what is ours is how they are asked."""

    class Loaded:
        def __init__(self, model):
            if model != "good":
                raise RuntimeError("404\nnot found")

        from_pretrained = classmethod(lambda cls, model: cls(model))

        def encode(self, texts, show_progress_bar=True):
            return np.array([[len(text), 0.0, 0.0] for text in texts])

    module = types.SimpleNamespace(**{attribute: Loaded})
    monkeypatch.setitem(sys.modules, package, module)
    encoder = make_encoder(f"{name}:good")
    assert name_of(encoder) == f"{name}:good"
    assert encoder.encode(["abc", ""]).tolist() == [[1, 0, 0], [1, 0, 0]]
    with pytest.raises(OSError, match=r"'bad' cannot be loaded \(RuntimeError\): check its name"):
        make_encoder(f"{name}:bad")
    with pytest.raises(ValueError, match=f"which model\\? {name}:NAME"):
        make_encoder(name)


def test_wordllama_without_a_network(monkeypatch):
    pytest.importorskip("wordllama")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was used"))
    encoder = make_encoder("wordllama")
    texts = ["the cat sat on the mat", "a kitten is on a rug", "quarterly tax report", "", "😀"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (5, 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert np.array_equal(vectors[:2], encoder.encode(texts[:2]))


def test_texts_of_any_kind():
    pandas = pytest.importorskip("pandas")
    assert plain_texts(["a", None, 3]) == ["a", "", "3"]
    assert plain_texts(np.array(["a", "b"])) == ["a", "b"]
    assert plain_texts(pandas.Series(["a", None, float("nan")])) == ["a", "", ""]
    for wrong in ("abc", b"abc", 3, (text for text in "abc")):
        with pytest.raises(TypeError, match="must be a list or an array of strings"):
            plain_texts(wrong)


@pytest.mark.parametrize("made", [[1, 2], [["a"], ["b"]], [[1.0]], [[1j], [2j]]])
def test_what_an_encoder_answers_is_checked(made):
    encoder = types.SimpleNamespace(name="mine", encode=lambda _texts: made)
    with pytest.raises(ValueError, match=r"the encoder mine made .* expected one row of numbers"):
        encode_texts(encoder, ["a", "b"])


# Files


def restored(encoder):
    return restore_encoder(*store_encoder(encoder))


def test_built_in_encoders_are_kept_whole():
    texts = ["one text", "another text"]
    for kind in (Chars, Words):
        encoder = kind(32).learned(texts)
        twin = restored(encoder)
        assert np.array_equal(twin.encode(texts), encoder.encode(texts))
        assert same_encoder(twin, kind.name) is twin


def test_others_are_remembered_by_name():
    twin = restored(restored(LENGTHS))
    assert name_of(twin) == name_of(LENGTHS)
    with pytest.raises(ValueError, match=f"made by the encoder {__name__}:Lengths: give it again"):
        twin.encode(["a"])
    assert same_encoder(twin, LENGTHS) is LENGTHS
    with pytest.raises(
        ValueError, match=r"made by the encoder .*Lengths, not by chars: leave it out"
    ):
        same_encoder(twin, "chars")
    with pytest.raises(ValueError, match="made by the encoder words, not by chars"):
        same_encoder(Words(), Chars())


def test_a_model_that_has_changed_is_noticed():
    twin = restored(Model("m", lambda texts: [[1.0, 2.0]] * len(texts)))
    for other in ([2.0, 1.0], [1.0, 2.0, 3.0]):
        changed = Model("m", lambda texts, other=other: [other] * len(texts))
        with pytest.raises(ValueError, match="the encoder m makes other vectors now"):
            same_encoder(twin, changed)


def test_a_model_that_is_installed_is_loaded_when_needed():
    pytest.importorskip("wordllama")
    twin = restored(make_encoder("wordllama"))
    assert isinstance(twin, Remembered)
    assert twin.encode(["a"]).shape == (1, 256)


@pytest.mark.parametrize(
    ("meta", "columns"),
    [
        ({}, {}),
        ({"name": 3}, {}),
        ({"name": "mine"}, {}),
        ({"name": "chars"}, {}),
        ({"name": "chars", "version": 1}, {"buckets": [1], "weights": [2]}),
    ],
)
def test_what_makes_no_sense_is_refused(meta, columns):
    with pytest.raises(ValueError, match="no sense"):
        restore_encoder(meta, columns)
