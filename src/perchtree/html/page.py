"""The page as one file: the explorer with its content, and a policy that lets nothing else run."""

import base64
import hashlib
import html
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .._arguments import as_count
from .._renamed import renamed
from ..cutting import CuttableTree
from ..exports.aligned import per_point
from ..files.replacing import replacing
from ..inert import one_line
from .assets import PAGE, STYLE, joined_modules, read_asset
from .boxes import Boxes
from .content import Content
from .offered import Cut, Numbered, Said, offer
from .packing import Columns, packed


@renamed(labels="classes", max_leaves="branches")
def to_html(
    self: CuttableTree,
    path: str | Path,
    texts: Sequence[object] | None = None,
    classes: ArrayLike | None = None,
    *,
    keys: Sequence[object] | None = None,
    corrections: Sequence[Said] = (),
    title: str = "Cluster tree",
    branches: int = 60_000,
    megabytes: float = 16,
    cuts: Iterable[Cut] = (),
    numbered: Numbered | None = None,
) -> None:
    """Write a page on which a person can see the tree and its clusters, with only a browser.

    The page loads nothing and sends nothing; its content security policy forbids both. Titles,
    keys, texts and classes are only ever shown as text. docs/explorer.md shows it.

    Parameters
    ----------
    path : path
    texts : sequence of n_points, optional
        What each point is, to read and to search, in the order of their ids.
    classes : array-like of n_points, optional
        The true classes, in the same order: boxes can be coloured by them.
    keys : sequence of n_points, optional
        What points are called; without, by their ids.
    corrections : sequence of (kind, a, b)
        What was said about pairs of ids, "together" or "apart", as in `Collection.pairs`. Clusters
        follow it, the tree does not.
    title : str
    branches : int
        How many boxes are shown, the largest; all if there are fewer.
    megabytes : float
        How large the page may be. If not all records fit, it has exemplars of the largest parts and
        others, evenly spread, and its search says how many.
    cuts : iterable of Cut
        Clusterings that the page offers first, beside those that it always does.
    numbered : callable, optional
        Gives the clusters of a cut, by its options and labels (0, 1, 2, ...), other numbers.

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
    if not megabytes > 0:
        raise ValueError(f"expected a size above 0 megabytes, got {megabytes}")
    table, branches = self.table, as_count("branches", branches)
    known: dict[str, Any] = {"keys": keys, "texts": texts}
    known = {
        name: None if given is None else per_point(name, given, table)
        for name, given in known.items()
    }
    said = list(corrections)
    with self.reading() as arrays:
        content = Content(arrays, Boxes(table), known | {"classes": classes}, said, branches)
    for offered in offer(self, said, cuts, numbered or (lambda _, labels: labels)):
        content.add_clustering(offered)
    with replacing(Path(path)) as file:
        file.write(_fitting(one_line(title), content, table.n_points, int(megabytes * 1e6)))


def _fitting(title: str, content: Content, n_points: int, most: int) -> bytes:
    """The page with as many records as it may have bytes for."""
    n_records = n_points
    while True:
        page = _filled(title, *content.with_records(n_records))
        if len(page) <= most or n_records <= 1:
            return page
        n_records = max(1, int(n_records * min(0.9, 0.95 * most / len(page))))


def _filled(title: str, values: dict[str, Any], columns: Columns) -> bytes:
    """The template with its parts, filled in one pass: no part is searched for the others.

    The content is compressed, so that nothing in it can be taken for a part of the page.
    """
    style, script = read_asset(STYLE), joined_modules("main.js")
    data = base64.b64encode(zlib.compress(packed(values | {"title": title}, columns), 6))
    policy = html.escape(_policy(style, script))
    return filled_page(
        title=html.escape(title),
        policy=f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        style=f"<style>{style}</style>",
        data=f'<script type="text/plain" id="data">{data.decode()}</script>\n',
        script=f'<script type="module">{script}</script>',
    ).encode()


def filled_page(**parts: str) -> str:
    """The explorer's page with its parts."""
    return re.sub(r"\{\{(\w+)\}\}", lambda gap: parts[gap[1]], read_asset(PAGE))


def _policy(style: str, script: str) -> str:
    """A content security policy: this style, this script, and nothing else from anywhere."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
