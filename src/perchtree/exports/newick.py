"""The tree as Newick text, which programs that draw trees read."""

from collections.abc import Sequence

from ..reading import ReadableTree
from ..table import NodeTable
from .aligned import names_or_ids

_SPECIAL = set(" \t\r\n()[]':;,_")


def to_newick(self: ReadableTree, names: Sequence[object] | None = None) -> str:
    """The tree in Newick format.

    The length of a branch is the height of its upper end minus that of its lower end.

    Parameters
    ----------
    names : sequence of n_points, optional
        What to call the points, in the order of their ids; otherwise their ids.

    Examples
    --------
    >>> from perchtree import ClusterTree
    >>> tree = ClusterTree(n_features=1, linkage="box")
    >>> _ = tree.insert([[0], [1], [5]])
    >>> tree.to_newick(["a", "b", "c d"])
    "('c d':5,(a:1,b:1):4);"
    """
    table = self.table
    names = names_or_ids(names, table)
    pieces: list[str] = []
    root = len(table.parents) - 1
    waiting: list[int | str] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif item < table.n_points:
            pieces.append(_quoted(str(names[item])) + _branch(table, item))
        else:
            left, right = table.children[item - table.n_points].tolist()
            waiting += [")" + _branch(table, item), right, ",", left, "("]
    return "".join(pieces) + ";"


def _branch(table: NodeTable, number: int) -> str:
    above = int(table.parents[number])
    return f":{table.heights[above] - table.heights[number]:.9g}" if above >= 0 else ""


def _quoted(name: str) -> str:
    if name and not _SPECIAL & set(name):
        return name
    return "'" + name.replace("'", "''") + "'"
