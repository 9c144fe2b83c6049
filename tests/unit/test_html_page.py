"""The page as a file: its parts are where they belong, whatever the texts are."""

import base64
import hashlib
import json
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from gapped import GappedTree
from perchtree import ClusterTree

pytestmark = pytest.mark.outer

HOSTILE = [
    "x /*DATA*/ y",
    "<!--TITLE--> {{data}} {{title}} {{policy}}",
    "</title></script><script>alert(1)</script><style>*{}</style>",
    "\"'><meta http-equiv=refresh content=0> <!-- ]]> \\u003c \\1 \\g<0>",
]


class Page(HTMLParser):
    """The texts of elements by tag, and attributes of `meta` elements."""

    def __init__(self, path):
        super().__init__()
        self.texts, self.meta, self._open = {}, {}, None
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        self._open = tag
        self.texts.setdefault(tag, []).append("")
        if tag == "meta":
            attributes = dict(attrs)
            self.meta[attributes.get("http-equiv")] = attributes.get("content")

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open:
            self.texts[self._open][-1] += data

    @property
    def content(self):
        return json.loads(zlib.decompress(base64.b64decode(self.texts["script"][0])))


@pytest.fixture
def write(tmp_path):
    def write(n_points=6, kind=ClusterTree, **options):
        tree = kind(1, linkage="box")
        tree.insert(np.arange(n_points)[:, np.newaxis] ** 2)
        tree.to_html(tmp_path / "tree.html", **options)
        return Page(tmp_path / "tree.html")

    return write


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_a_part_of_the_page(write, text):
    page, plain = write(texts=[text] * 6, classes=[text] * 6, title=text), write()
    assert page.texts["title"] == [text]
    assert page.content["title"] == text
    assert set(page.content["texts"]) == {"", text}
    assert page.content["classes"] == [text[:60] if len(text) <= 60 else text[:59] + "…"]
    assert {tag: len(texts) for tag, texts in page.texts.items()} == {
        tag: len(texts) for tag, texts in plain.texts.items()
    }
    assert page.texts["script"][1] == plain.texts["script"][1]


def test_characters_that_act_on_their_surroundings(write):
    text = "a\u202eb\u2066c\ud800\x00"
    page = write(texts=[text] * 6, classes=[text] * 6, title=text)
    assert page.texts["title"] == ["abc"]
    assert page.content["title"] == "abc"
    assert set(page.content["texts"]) == {"", "abc"}
    assert page.content["classes"] == ["abc"]


def test_policy(write):
    page = write()
    policy = dict(rule.split(" ", 1) for rule in page.meta["Content-Security-Policy"].split("; "))
    hashes = {
        tag: "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for tag, text in (("style", page.texts["style"][0]), ("script", page.texts["script"][1]))
    }
    assert policy == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "style-src": hashes["style"],
        "script-src": hashes["script"],
    }


def test_ids(write):
    """Of each branch the smallest id, also where ids have gaps."""
    for kind, ids in ((ClusterTree, [0, 1, 2]), (GappedTree, [7, 10, 13])):
        content = write(3, kind).content
        branches = [i for i in range(5) if i not in content["pairs"]]
        assert sorted(content["ids"][i] for i in branches) == ids
    whole = write(3, GappedTree, branches=1).content
    assert (whole["sizes"], whole["ids"]) == ([3], [7])


@pytest.mark.jit
def test_long_texts_are_shortened_until_the_page_is_small(write, tmp_path):
    rng = np.random.default_rng(0)
    letters = np.array([chr(code) for code in range(0x4E00, 0x9000)])
    texts = ["".join(rng.choice(letters, 190)) for _ in range(6000)]
    page = write(6000, texts=texts)
    assert (tmp_path / "tree.html").stat().st_size < 2_000_000
    longest = max(len(text) for text in page.content["texts"])
    assert 10 <= longest < 190
    assert all(len(text) in (0, longest) for text in page.content["texts"])


def test_what_is_wrong_is_said(write, tmp_path):
    for options, line in (
        ({"texts": ["a"]}, "1 texts for a tree of 6 points"),
        ({"classes": [0, 1]}, "2 classes for a tree of 6 points"),
        ({"branches": 0}, "branches must be at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=line):
            write(**options)
    assert list(tmp_path.iterdir()) == []


def test_keywords_and_corrections(write):
    texts = [f"{i} tea" for i in range(10)] + [f"{i} hat" for i in range(10)]
    assert "said" not in write(20, texts=texts).content
    said = [("together", 7, 3 * 19 + 7), ("apart", 10, 13)]
    content = write(20, GappedTree, texts=texts, corrections=said).content
    assert content["n_said"] == 2
    assert [entry[2:] for entry in content["said"]] == [
        [1, "0 tea", "9 hat"],
        [0, "1 tea", "2 tea"],
    ]
    for (one, other, *_), (_, a, b) in zip(content["said"], said, strict=True):
        assert [content["ids"][one], content["ids"][other]] == [a, b]
    branches = set(range(39)) - set(content["pairs"])
    named = {i: words for i, words in enumerate(content["words"]) if words}
    assert {*named.values()} >= {"tea", "hat"}
    assert all(content["sizes"][i] >= 4 and i > 0 and i not in branches for i in named)
