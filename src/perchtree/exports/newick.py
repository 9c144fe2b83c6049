"""The tree as Newick text, which programs that draw trees read."""

from collections.abc import Sequence

from ..table import NodeTable

_SPECIAL = set(" \t\r\n()[]':;,_")


def as_newick(table: NodeTable, names: Sequence[object]) -> str:
    """`(a:1,b:1):2;` and so on: a branch is as long as heights differ."""
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
