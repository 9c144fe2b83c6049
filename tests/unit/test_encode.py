"""Encoders without a model: hashed features, weighted and projected, compared with an oracle."""

import itertools
import threading
import unicodedata

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from kernels import callable_from_python
from perchtree._kernels import hashing
from perchtree.encode import Chars, Words, project
from perchtree.encode.characters import folded

extended, mixed = map(callable_from_python, (hashing.extended, hashing.mixed))

TEXTS = st.lists(
    st.text(st.sampled_from("aAbß é\u0301\t|-1٣א中😀\0\u200f\ufe0f"), max_size=12), max_size=6
)
SAMPLE = ["Thomas Clifford | 1630-08-01", "thomas clifort", "Ann", "ann  Ann", "", "naïve 中文 😀"]


def hash_of(codes):
    feature = 0
    for code in codes:
        feature = extended(feature, code)
    return feature


def is_separator(character):
    return unicodedata.category(character)[0] == "Z" or unicodedata.category(character) == "Cc"


def words_between_spaces(text):
    return "".join(" " if is_separator(c) else c for c in folded(text)).split()


def pieces_of(text):
    """All runs of two to four characters of each word with a space on both sides."""
    return [
        (hash_of(map(ord, padded[start : start + length])), 1)
        for word in words_between_spaces(text)
        for padded in [f" {word} "]
        for length in (2, 3, 4)
        for start in range(len(padded) - length + 1)
    ]


def words_of(text):
    """Runs of letters, digits and marks, which begin with no mark; symbols by themselves."""
    words, current = [], ""
    for character in folded(text) + " ":
        kind = unicodedata.category(character)[0]
        alone = kind == "S" or "\u4e00" <= character <= "\u9fff"
        if not alone and (kind in "LN" or (kind == "M" and current)):
            current += character
            continue
        words += [current] * bool(current) + [character] * alone
        current = ""
    hashes = [hash_of(map(ord, word)) for word in words]
    pairs = [extended(a, b) for a, b in itertools.pairwise(hashes)]
    return [(word, 1) for word in hashes] + [(pair, 4) for pair in pairs]


FEATURES = {Chars: pieces_of, Words: words_of}


def slow_vectors(kind, learned_from, texts, d):
    """The same by exhaustion: a dense matrix of signs, and counts in a dictionary."""
    features = FEATURES[kind]
    empty = (0x5BD1E995, 1)
    counts = {}
    for text in learned_from:
        for bucket in {feature % 2**18 for feature, _ in features(text) or [empty]}:
            counts[bucket] = counts.get(bucket, 0) + 1
    rows = []
    for text in texts:
        row = np.zeros(d)
        for feature, share in features(text) or [empty]:
            m = counts.get(feature % 2**18, 0)
            weight = round(1024 * (1 + np.log((1 + len(learned_from)) / (1 + m))))
            row += weight // share * signs(feature, d)
        rows.append(row / np.linalg.norm(row))
    return np.array(rows).reshape(-1, d)


def signs(feature, d):
    row, width = np.zeros(d), d // 16
    for part in range(16):
        bits = mixed(feature + (part // 2 + 1) * 0x9E3779B9) >> (16 * (part % 2))
        place = (bits % 2**15) * width // 2**15
        row[part * width + place] = -1 if bits & 2**15 else 1
    return row


@pytest.mark.parametrize("kind", [Chars, Words])
@given(learned_from=TEXTS, texts=TEXTS)
def test_vectors_are_those_of_the_oracle(kind, learned_from, texts):
    encoder = kind(32).learned(learned_from)
    assert np.allclose(
        encoder.encode(texts), slow_vectors(kind, learned_from, texts, 32), atol=1e-6
    )


def test_hashes_never_change():
    """Vectors in files would mean something else: a change needs a new version of the encoder."""
    assert [mixed(number) for number in (0, 1, 2**32 - 1)] == [0, 0x688990C0, 0x6768824A]
    expected = {
        Chars: [0.3285, -0.0395, -0.2495, 0.0742, -0.1705, 0.2419, -0.4346, -0.3112,
                -0.2939, 0.1802, 0.2149, 0.3112, -0.0568, 0.2765, -0.0048, 0.3285],
        Words: [0.0288, -0.2923, -0.0992, -0.0288, 0.0992, 0.2923, -0.4203, -0.0992,
                0.0288, 0.4203, -0.2923, -0.2923, 0.0992, 0.0288, -0.2923, 0.4203],
    }  # fmt: skip
    for kind, vector in expected.items():
        found = kind(16).learned(SAMPLE).encode(["Ann Clifford"])[0]
        assert np.allclose(found, vector, atol=6e-5)


@pytest.mark.parametrize("kind", [Chars, Words])
def test_batches_and_threads_change_nothing(kind, monkeypatch):
    from perchtree.encode import characters

    texts = SAMPLE * 3
    whole = kind(64).learned(texts)
    monkeypatch.setattr(characters, "_MOST", 2)
    monkeypatch.setattr(characters, "_PIECE", 20)
    parts = kind(64, n_jobs=3).learned(iter(texts))
    vectors = whole.encode(texts)
    assert np.array_equal(parts._weights, whole._weights)
    assert np.array_equal(parts.encode(texts), vectors)
    assert np.array_equal(np.concatenate([parts.encode([text]) for text in texts]), vectors)
    threads = []
    for _ in range(3):
        threads.append(
            threading.Thread(
                target=lambda: np.testing.assert_array_equal(whole.encode(texts), vectors)
            )
        )
        threads[-1].start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("kind", [Chars, Words])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe\u0301"),  # NFC and NFD
        ("Å", "\u212b"),
        ("STRASSE", "Straße"),
        ("a b", " a\t\n b\0"),
        ("שלם", "\u200fשלם\u200e"),  # marks of direction
        ("", " \0\n"),
        ("co\u00adop", "coop"),  # a soft hyphen
    ],
)
def test_texts_that_are_one(kind, one, other):
    vectors = kind().learned(["a b", "café"]).encode([one, other])
    assert np.array_equal(vectors[0], vectors[1])


@pytest.mark.parametrize("kind", [Chars, Words])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("😀", "😁"),
        ("中文", "文中"),
        ("", "a"),
        ("a", "b"),
        ("ab", "a b"),
        ("שלום", "מולש"),
        ("\ud800", "a"),
    ],
)
def test_texts_that_differ(kind, one, other):
    vectors = kind().learned([one, other]).encode([one, other])
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert not np.allclose(vectors[0], vectors[1])


def test_texts_without_words_are_as_empty_ones():
    vectors = Words().encode(["", "...", "?!"])
    assert (vectors == vectors[0]).all()


@pytest.mark.jit
@pytest.mark.parametrize("kind", [Chars, Words])
def test_a_text_of_ten_megabytes(kind):
    long = "Thomas Clifford, 1st baron " * 400_000
    encoder = kind(64).learned([long, "x"])
    vectors = encoder.encode([long, "x", long[:27] * 3])
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[2] > 0.98


def test_rare_features_weigh_more():
    texts = [f"the {name}" for name in ("ann", "bob", "cora", "dave")]
    plain, learned = Words().encode(texts), Words().learned(texts).encode(texts)
    assert learned[0] @ learned[1] < plain[0] @ plain[1]


def test_typing_errors_are_near_with_chars_only():
    texts = ["thomas clifford", "thimas cliford"]
    near, far = (kind().encode(texts) for kind in (Chars, Words))
    assert near[0] @ near[1] > 0.3 > far[0] @ far[1]


@pytest.mark.parametrize("kind", [Chars, Words])
def test_an_encoder_never_changes(kind):
    encoder = kind(32)
    before = encoder.encode(SAMPLE)
    learned = encoder.learned(SAMPLE)
    assert (encoder.n_texts, learned.n_texts) == (0, len(SAMPLE))
    assert np.array_equal(encoder.encode(SAMPLE), before)
    assert not np.array_equal(learned.encode(SAMPLE), before)
    assert "nothing learned" in repr(encoder)
    assert "6 texts" in repr(learned)


@pytest.mark.parametrize("kind", [Chars, Words])
@pytest.mark.parametrize("texts", [[], SAMPLE])
def test_stored_and_restored(kind, texts):
    encoder = kind(48).learned(texts)
    twin = kind.restored(*encoder.stored())
    assert (twin.n_texts, twin.dimensions) == (len(texts), 48)
    assert np.array_equal(twin.encode(SAMPLE), encoder.encode(SAMPLE))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"dimensions": 40},
        {"weight": 0},
        {"weight": 2**31},
        {"weight": "1"},
        {"n_texts": -1},
        {"buckets": [5, 5]},
        {"buckets": [-1, 5]},
        {"buckets": [5, 2**18]},
        {"buckets": [5]},
        {"weights": [0, 1]},
        {"weights": [0.5, 1]},
    ],
)
def test_a_stored_encoder_that_makes_no_sense(change):
    meta = {"name": "chars", "version": 1, "dimensions": 32, "n_texts": 3, "weight": 1024}
    columns = {"buckets": np.array([3, 5]), "weights": np.array([7, 8])}
    assert Chars.restored(meta, columns).n_texts == 3
    for name, value in change.items():
        own = columns if name in columns else meta
        own[name] = np.array(value) if name in columns else value
    with pytest.raises(ValueError):  # noqa: PT011
        Chars.restored(meta, columns)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="multiple of 16, got 20"):
        Chars(20)
    with pytest.raises(ValueError, match="dimensions"):
        Words(0)
    with pytest.raises(TypeError, match="text 1 is None: expected a string"):
        Chars().encode(["a", None])
    with pytest.raises(TypeError, match="text 0 is 3"):
        Chars().learned([3])
    assert Chars().encode([]).shape == (0, 256)


# Sparse rows


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=5, max_size=5), min_size=1, max_size=6),
    st.sampled_from([16, 48]),
)
def test_sparse_rows_are_projected(rows, d):
    X = np.array(rows, float)
    expected = X @ [signs(mixed(column + 1), d) / 4 for column in range(5)]
    for make in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
        assert np.allclose(project(make(X), d), expected)


@pytest.mark.jit
def test_angles_stay_about_what_they_were():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(60, 21_000, 0.003, "csr", rng=rng)
    X = scipy.sparse.vstack([X, X + scipy.sparse.random(60, 21_000, 0.002, "csr", rng=rng)])
    before, after = (X @ X.T).toarray(), project(X, 512) @ project(X, 512).T
    scale = np.sqrt(np.outer(before.diagonal(), before.diagonal()))
    assert np.abs((after - before) / scale).max() < 0.25


def test_only_sparse_rows_are_projected():
    with pytest.raises(TypeError, match="expected a sparse matrix"):
        project(np.eye(3))
