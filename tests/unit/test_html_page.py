"""The page as a file: its parts are where they belong, whatever the texts are."""

import base64
import hashlib
import json
import re
import struct
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from gapped import GappedTree
from perchtree import ClusterTree
from perchtree.html import assets

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
        """The small values; columns are below them."""
        packed = zlib.decompress(base64.b64decode(self.texts["script"][0]))
        (length,) = struct.unpack("<I", packed[:4])
        values = json.loads(packed[4 : 4 + length])
        values["columns"] = {
            name: np.frombuffer(packed, f"<{kind}", n, 4 + length + place)
            for name, kind, place, n in values["columns"]
        }
        return values


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
    page = write(texts=[text] * 6, classes=[text] * 6, keys=[text] * 6, title=text)
    plain = write()
    assert page.texts["title"] == [text]
    assert page.content["title"] == text
    assert page.content["texts"] == page.content["keys"] == [text] * 6
    assert page.content["classes"] == [text[:60] if len(text) <= 60 else text[:59] + "…"]
    assert {tag: len(texts) for tag, texts in page.texts.items()} == {
        tag: len(texts) for tag, texts in plain.texts.items()
    }
    assert page.texts["script"][1] == plain.texts["script"][1]


def test_characters_that_act_on_their_surroundings(write):
    """Texts are kept as they are, for search and copies; the page makes inert what it shows."""
    text = "a\u202eb\u2066c\ud800\x00"
    page = write(texts=[text] * 6, classes=[text] * 6, title=text)
    assert page.texts["title"] == ["abc"]
    assert page.content["title"] == "abc"
    assert page.content["texts"] == ["a\u202eb\u2066c?\x00"] * 6
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
    """Also where ids have gaps."""
    for kind, ids in ((ClusterTree, [0, 1, 2]), (GappedTree, [7, 10, 13])):
        assert sorted(write(3, kind).content["columns"]["ids"].tolist()) == ids


def test_only_the_largest_boxes_are_shown(write):
    sizes = write(64).content["columns"]["box_size"]
    few = write(64, branches=5).content["columns"]["box_size"]
    assert len(few) <= 5 < len(sizes)
    assert sorted(few) == sorted(sizes)[len(sizes) - len(few) :]


@pytest.mark.jit
def test_as_many_records_as_fit(write, tmp_path):
    rng = np.random.default_rng(0)
    letters = np.array([chr(code) for code in range(0x4E00, 0x9000)])
    texts = ["".join(rng.choice(letters, 190)) for _ in range(2000)]
    page = write(2000, texts=texts, megabytes=0.6)
    assert (tmp_path / "tree.html").stat().st_size <= 600_000
    content = page.content
    assert 200 < content["records"] < 2000
    assert set(content["texts"]) <= set(texts)
    assert len(content["columns"]["positions"]) == content["records"]
    with pytest.raises(ValueError, match="above 0 megabytes"):
        write(6, megabytes=0)


def test_modules_of_one_name_cannot_be_joined(monkeypatch):
    files = {
        "a.js": 'import { x } from "./b.js";\nconst y = x, z = 1;\n',
        "b.js": "export const x = 1;\nfunction z() {}\n",
    }
    monkeypatch.setattr(assets, "read_asset", files.__getitem__)
    with pytest.raises(ValueError, match="'z'"):
        assets.joined_modules("a.js")
    files["b.js"] = "export const x = 1;\n"
    assert assets.joined_modules("a.js") == "const x = 1;\n\nconst y = x, z = 1;\n"


def test_the_script_imports_nothing():
    assert not re.search(r"^\s*(import|export)\b", assets.joined_modules("main.js"), re.MULTILINE)
