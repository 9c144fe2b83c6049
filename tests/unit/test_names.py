"""Keywords of clusters: frequent there, and not everywhere."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import Perch
from perchtree.clusters.names import Terms, keywords, words_of

pytestmark = pytest.mark.outer

LISTS = st.lists(
    st.lists(st.sampled_from("abcdef"), max_size=5).map(" ".join), min_size=2, max_size=12
)


def made(texts):
    terms = Terms()
    terms.extend(texts)
    return terms


def slow_keywords(texts, group, n_words):
    """The formula, word by word."""
    scores = {}
    for text in texts:
        for word in text.split():
            c = sum(word in texts[i].split() for i in group)
            everywhere = sum(word in other.split() for other in texts)
            share = c / len(group)
            if len(group) == len(texts):
                scores[word] = share
            elif c:
                scores[word] = (
                    share
                    * math.log(share / (everywhere / len(texts)))
                    * math.log(len(texts) / everywhere)
                )
    rounded = {word: round(score, 9) for word, score in scores.items()}
    good = [word for word in rounded if rounded[word] > 0]
    return sorted(good, key=lambda word: -rounded[word])[:n_words]  # of equals, the first met


@given(LISTS, st.integers(1, 11), st.integers(1, 4))
def test_keywords_are_those_of_the_formula(texts, size, n_words):
    group = np.arange(min(size, len(texts)))
    (found,) = keywords(made(texts), np.arange(len(texts)), [group], n_words)
    assert found == slow_keywords(texts, group.tolist(), n_words)


def test_neither_common_words_nor_one_rare_word_wins():
    tea = ["the green tea", "the tea bag", "the black tea", "the tea xyzzy"]
    socks = ["the wool socks", "the red socks", "the socks"]
    texts = tea + socks
    groups = [np.arange(4), np.arange(4, 7)]
    first, second = keywords(made(texts), np.arange(7), groups, 5)
    assert first[0] == "tea"
    assert second[0] == "socks"
    assert "the" not in first + second
    assert first.index("xyzzy") > 0


def test_counts_add_up():
    terms = made(["a b", "b c", "b"])
    whole = terms.counts(np.arange(3))
    assert (terms.counts(np.array([0])) + terms.counts(np.array([1, 2])) == whole).all()
    terms.extend(["d", None])
    assert len(terms) == 5
    assert terms.counts(np.arange(5)).tolist() == [1, 3, 1, 1]


def test_words():
    assert words_of("Don't! don't STOP 中文 é e\u0301 x_1") == ["don't", "stop", "中文", "é", "x_1"]
    assert words_of("...") == []


TEXTS = ["green tea", "tea bag", "black tea", "red socks", "wool socks", "old socks"]


def test_the_estimator_names_its_clusters(tmp_path):
    X = np.array([0, 1, 2, 50, 51, 52.0])[:, np.newaxis]
    model = Perch(n_clusters=2).fit(X, texts=TEXTS)
    assert [name.words[0] for name in model.names_] == ["tea", "socks"]
    assert [name.exemplar for name in model.names_] == ["tea bag", "wool socks"]
    assert str(model.names_[0]).startswith("tea")
    model.partial_fit([[53.0], [54.0], [55.0], [56.0]], texts=["gloves"] * 4)
    assert model.names_[1].words[0] == "gloves"
    model.save(tmp_path / "m.perch")
    assert Perch.load(tmp_path / "m.perch").names_ == model.names_
    again = Perch(n_clusters=2).fit(X[:2], texts=["ann", "bob"])
    assert [name.words for name in again.fit(X[:2], texts=["cora", "dave"]).names_] == [
        ("cora",),
        ("dave",),
    ]


def test_without_texts_there_are_no_names():
    model = Perch(n_clusters=2).fit([[0], [1], [5]])
    with pytest.raises(AttributeError, match=r"names are made of texts: fit\(X, texts=\.\.\.\)"):
        _ = model.names_
