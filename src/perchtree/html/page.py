"""The page itself: the template with its content, and a policy that allows nothing else to run."""

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .._arguments import as_count
from .._renamed import renamed
from ..exports.aligned import per_point
from ..exports.truncated import truncated
from ..files.replacing import replacing
from ..inert import one_line
from ..reading import ReadableTree
from .content import Content, Said

_MOST_BYTES = 1_950_000
_LONGEST_TEXT = 200
_SHORTEST_TEXT = 10


@renamed(labels="classes", max_leaves="branches")
def to_html(
    self: ReadableTree,
    path: str | Path,
    texts: Sequence[object] | None = None,
    classes: ArrayLike | None = None,
    *,
    corrections: Sequence[Said] = (),
    title: str = "Cluster tree",
    branches: int = 25_000,
) -> None:
    """Write a page on which a person can walk through the tree, with nothing but a browser.

    The page loads nothing and sends nothing; its content security policy forbids both. Titles,
    texts and classes are only ever shown as text.

    Parameters
    ----------
    path : path
    texts : sequence of n_points, optional
        What each point is, to read and to search, in the order of their ids.
    classes : array-like of n_points, optional
        The true classes, in the same order: boxes are coloured by them.
    corrections : sequence of (kind, a, b)
        What was said about pairs of ids, "together" or "apart", as in `Collection.pairs`: points
        are marked, and their boxes list it. It does not change the tree.
    title : str
    branches : int
        How many nodes without children are shown. Texts are shortened until the page takes
        less than 2 MB.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perchtree import ClusterTree
    >>> tree = ClusterTree(n_features=1, linkage="box")
    >>> _ = tree.insert([[0], [1], [5]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tree.html"
    ...     tree.to_html(path, ["a", "b", "c"], title="Three points")
    ...     "<title>Three points</title>" in path.read_text()
    True
    """
    top = truncated(self.table, as_count("branches", branches))
    texts = None if texts is None else per_point("texts", texts, top.table)
    content = Content(top, texts, classes, list(corrections))
    longest = _LONGEST_TEXT
    page = _filled(one_line(title), content.shortened(longest))
    while len(page) > _MOST_BYTES and texts is not None and longest >= _SHORTEST_TEXT:
        longest = longest * 2 // 3
        page = _filled(one_line(title), content.shortened(longest))
    with replacing(Path(path)) as file:
        file.write(page)


def _filled(title: str, content: dict[str, Any]) -> bytes:
    """The template with its parts, filled in one pass: no part is searched for the others.

    The content is compressed, so that nothing in it can be taken for a part of the page.
    """
    data = json.dumps({"title": title} | content, ensure_ascii=False, separators=(",", ":"))
    style, script = _read("page.css"), _read("page.js")
    parts = {
        "title": html.escape(title),
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "data": base64.b64encode(zlib.compress(data.encode(), 9)).decode(),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda gap: parts[gap[1]], _read("page.html")).encode()


def _policy(style: str, script: str) -> str:
    """A content security policy: this style, this script, and nothing else from anywhere."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
