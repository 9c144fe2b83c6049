"""The tree file of the authors' program (xcluster): `node<TAB>parent<TAB>class`, a line per node.

The parent of the root is None, and so is the class of a node that is not a point. The authors'
evaluator scores such files; `dendrogram_purity` takes what `read_authors` returns.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._renamed import renamed
from ..files.replacing import replacing
from ..reading import ReadableTree
from ..table import NodeTable
from .aligned import per_point

_NOTHING = ("none", "null")


@renamed(labels="classes")
def to_authors(
    self: ReadableTree,
    path: str | Path,
    classes: Sequence[object],
    names: Sequence[object] | None = None,
) -> None:
    """Write the tree as the authors' program does, for their evaluator.

    The file has one line per node, `node<TAB>parent<TAB>class`. Points that share a leaf are
    children of that leaf. `perchtree.exports.authors.read_authors` reads such files.

    Parameters
    ----------
    path : path
    classes : sequence of n_points
        The true class of each point, in the order of their ids.
    names : sequence of n_points, optional
        What to call the points, in the same order; otherwise `p` and the id: `p0`, `p1`, ...

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perchtree import ClusterTree
    >>> from perchtree.exports.authors import read_authors
    >>> tree = ClusterTree(n_features=1, linkage="box")
    >>> _ = tree.insert([[0], [1], [5]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tree.tsv"
    ...     tree.to_authors(path, ["a", "a", "b"])
    ...     read_authors(path).names
    ['p2', 'p1', 'p0']
    """
    table = self.table
    if names is None:
        names = [f"p{point}" for point in table.ids.tolist()]
    lines = _lines(table, per_point("classes", classes, table), per_point("names", names, table))
    with replacing(Path(path)) as file:
        file.writelines(line.encode() for line in lines)


def _lines(table: NodeTable, classes: list[object], names: list[object]) -> Iterator[str]:
    """The root first, each node before those below it."""
    n_points = table.n_points
    nodes = [_field(str(name)) for name in names]
    nodes += [f"node{number}" for number in range(n_points, len(table.parents))]
    if len(set(nodes)) < len(nodes):
        raise ValueError("names must be unique, and none may look like 'node17'")
    skipped = np.zeros(len(table.parents), bool)
    skipped[n_points:] = table.inner
    skipped[table.leaves] = False
    for number in range(len(table.parents) - 1, -1, -1):
        if skipped[number]:
            continue
        above = int(table.parents[number])
        if number < n_points and table.leaves[number] != number:
            above = int(table.leaves[number])
        parent = "None" if above < 0 else nodes[above]
        own = _field(str(classes[number])) if number < n_points else "None"
        yield f"{nodes[number]}\t{parent}\t{own}\n"


def _field(text: str) -> str:
    if text.lower() in (*_NOTHING, "") or any(c in text for c in "\t\r\n"):
        raise ValueError(f"{text!r} cannot be in such a file: no tabs, no line ends, not 'None'")
    return text


class AuthorsTree(NamedTuple):
    """A tree read from a file, its points in the order of the file."""

    parents: NDArray[np.int64]
    """The parent of each node, points first; -1 at the root."""
    classes: list[str]
    """The true class of each point."""
    names: list[str]
    """What each point is called in the file."""


def read_authors(path: str | Path) -> AuthorsTree:
    """Read a tree file that the authors' program or `to_authors` has written."""
    rows: dict[str, tuple[str, str, int]] = {}
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) != 3:
                raise ValueError(f"{path}, line {number}: expected node, parent and class")
            if fields[0] in rows:
                raise ValueError(f"{path}, line {number}: node {fields[0]!r} comes twice")
            rows[fields[0]] = fields[1], fields[2], number
    inner = {parent for parent, _, _ in rows.values() if parent.lower() not in _NOTHING}
    points = [name for name in rows if name not in inner]
    places = {name: i for i, name in enumerate([*points, *(n for n in rows if n in inner)])}
    parents = np.full(len(rows), -1, np.int64)
    for name, (parent, own, number) in rows.items():
        if parent.lower() not in _NOTHING:
            if parent not in places:
                raise ValueError(f"{path}, line {number}: there is no node {parent!r}")
            parents[places[name]] = places[parent]
        if name not in inner and own.lower() in _NOTHING:
            raise ValueError(f"{path}, line {number}: leaf {name!r} has no class")
    if (parents < 0).sum() != 1:
        raise ValueError(f"{path} has {(parents < 0).sum()} roots instead of one")
    return AuthorsTree(parents, [rows[name][1] for name in points], points)
