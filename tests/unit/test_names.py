"""Keywords of clusters: frequent there, and not everywhere."""

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import Collection, Perch
from perchtree.clusters.names import Keywords, Terms, name_groups, name_nodes, words_of
from perchtree.exports.truncated import truncated

pytestmark = pytest.mark.outer

LISTS = st.lists(
    st.lists(st.sampled_from("abcdef"), max_size=5).map(" ".join), min_size=2, max_size=12
)


def slow_keywords(texts, group, n_words):
    """The formula, word by word."""
    scores, inside = {}, {}
    for text in texts:
        for word in text.split():
            c = inside[word] = sum(word in texts[i].split() for i in group)
            everywhere = sum(word in other.split() for other in texts)
            share = c / len(group)
            outside = (everywhere - c + 1) / (len(texts) - len(group) + 2)
            if len(group) == len(texts):
                scores[word] = share
            elif c:
                scores[word] = share * math.log(share / outside) * math.log(len(texts) / everywhere)
    if len(group) > 1:
        scores = {word: score for word, score in scores.items() if inside[word] > 1}
    rounded = {word: round(score, 9) for word, score in scores.items()}
    good = [word for word in rounded if rounded[word] > 0]
    return sorted(good, key=lambda word: -rounded[word])[:n_words]  # of equals, the first met


@given(LISTS, st.integers(1, 11), st.integers(1, 4))
def test_keywords_are_those_of_the_formula(texts, size, n_words):
    size = min(size, len(texts))
    groups = (np.arange(len(texts)) >= size).astype(np.int64)
    found = name_groups(Terms(texts), np.arange(len(texts)), groups, 2, n_words)
    assert found[0] == slow_keywords(texts, range(size), n_words)
    if size < len(texts):
        assert found[1] == slow_keywords(texts, range(size, len(texts)), n_words)


@given(LISTS, st.data())
def test_texts_of_a_group_need_not_be_among_those_that_it_is_compared_with(texts, data):
    terms = Terms(texts)
    places = st.integers(0, len(texts) - 1)
    group = data.draw(st.sets(places, min_size=1))
    background = data.draw(st.sets(places))

    def counted(some):
        some = np.array(sorted(some), np.int64)
        return terms.counted(some, np.zeros_like(some), 1)[0]

    found = Keywords(terms.words, counted(background), 3)
    told = found.of(counted(group), counted(group - background))
    assert told == Keywords(terms.words, counted(group | background), 3).of(counted(group))


@given(LISTS, st.integers(1, 4), st.integers(1, 9), st.integers(1, 4))
def test_counts_add_up_along_a_tree(texts, n_words, few, least):
    """Nodes are named as if each were counted by itself, whichever are added up."""
    X = np.array([len(text) for text in texts], float)[:, np.newaxis]
    collection = Collection(search="astar")
    collection.add(X, texts=texts)
    table = collection.tree.table
    top = truncated(table, 5)
    with mock.patch("perchtree.clusters.names._FEW", few):
        found = name_nodes(Terms(texts), top.children, top.members, least, n_words)
    for place, words in enumerate(found):
        own = top.members(place).tolist()
        assert words == (slow_keywords(texts, own, n_words) if len(own) >= least else [])


def test_neither_common_words_nor_one_rare_word_wins():
    tea = ["the green tea", "the tea bag", "the black tea", "the tea xyzzy"]
    socks = ["the wool socks", "the red socks", "the socks"]
    texts = tea + socks
    groups = np.array([0] * 4 + [1] * 3)
    first, second = name_groups(Terms(texts), np.arange(7), groups, 2, 5)
    assert first[0] == "tea"
    assert second[0] == "socks"
    assert "the" not in first + second
    assert "xyzzy" not in first


def test_texts_come_and_go():
    terms = Terms(["a b", "b c", "b"])
    terms.extend(["d", None])
    assert len(terms) == 5
    (counted,) = terms.counted(np.arange(5), np.zeros(5, int), 1)
    assert counted.words.tolist() == [0, 1, 2, 3]
    assert counted.counts.tolist() == [1, 3, 1, 1]
    terms.replace(1, "a")
    terms.shorten(3)
    (counted,) = terms.counted(np.arange(3), np.zeros(3, int), 1)
    assert dict(zip(counted.words.tolist(), counted.counts.tolist(), strict=True)) == {0: 2, 1: 2}


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


def test_texts_are_read_once(monkeypatch):
    """Names follow what is added, removed and replaced, and only new texts are looked at."""
    collection = Collection()
    X = np.array([0, 1, 2, 50, 51, 52.0])[:, np.newaxis]
    collection.add(X, keys=list("abcdef"), texts=TEXTS)
    labels = collection.tree.cut(2)
    read = []
    monkeypatch.setattr("perchtree.clusters.names.words_of", lambda t: read.append(t) or t.split())
    assert [name.words[0] for name in collection.names(labels)] == ["tea", "socks"]
    assert read == TEXTS
    read.clear()
    assert collection.names(labels) == collection.names(labels)
    assert read == []
    collection.add([[53.0], [54.0], [55.0], [56.0]], keys=list("ghij"), texts=["gloves"] * 4)
    assert collection.names(collection.tree.cut(2))[1].words[0] == "gloves"
    assert read == ["gloves"] * 4
    collection.remove(list("ghij"))
    collection.update(["a", "b"], texts=["coffee", "coffee"])
    read.clear()
    first, second = collection.names(collection.tree.cut(2))
    assert (first.words[0], second.words[0]) == ("coffee", "socks")
    assert read == []
