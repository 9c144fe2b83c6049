"""The top of the tree as JSON."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arguments import as_count
from .._renamed import renamed
from ..reading import ReadableTree
from .aligned import names_or_ids
from .truncated import truncated

_POINTS_LISTED = 10


@renamed(max_leaves="branches")
def to_json(self: ReadableTree, branches: int = 1000, names: Sequence[object] | None = None) -> str:
    """The top of the tree as JSON: a list of nodes, parents first.

    Each node has a number (as in `children`), its parent's number, a size and a height. Where
    the tree is cut off, up to ten points are listed.

    Parameters
    ----------
    branches : int
        How many nodes without children to show. The costliest (height x size) are opened.
    names : sequence of n_points, optional
        What to call points, in the order of their ids; otherwise their ids.

    Examples
    --------
    >>> import json
    >>> from perchtree import ClusterTree
    >>> tree = ClusterTree(n_features=1, linkage="box")
    >>> _ = tree.insert([[0], [1], [5]])
    >>> json.loads(tree.to_json(branches=1, names=["a", "b", "c"]))["nodes"]
    [{'node': 4, 'parent': None, 'size': 3, 'height': 5.0, 'points': ['a', 'b', 'c']}]
    """
    top = truncated(self.table, as_count("branches", branches))
    table, names = top.table, names_or_ids(names, top.table)
    nodes = []
    for place, number in enumerate(top.numbers.tolist()):
        node: dict[str, Any] = {
            "node": number,
            "parent": int(table.parents[number]) if place else None,
            "size": int(top.sizes[place]),
            "height": float(top.heights[place]),
        }
        if not top.children[place]:
            some = np.sort(top.members(place))[:_POINTS_LISTED]
            node["points"] = [_plain(names[point]) for point in some.tolist()]
        nodes.append(node)
    return json.dumps({"n_points": table.n_points, "nodes": nodes}, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
