"""The tree file of the authors' program (xcluster): `node<TAB>parent<TAB>label`, one line a node.

A root's parent is None, and so is the label of a node that is no point. Their evaluator scores such
files; `dendrogram_purity` takes what `read_authors` returns.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..table import NodeTable

_NOTHING = ("none", "null")


class AuthorsTree(NamedTuple):
    """A tree from such a file, points in the order of the file."""

    parents: NDArray[np.int64]
    """The parent of each node, points first; -1 at the root."""
    labels: list[str]
    """The label of each point."""
    names: list[str]
    """What each point is called in the file."""


def authors_lines(
    table: NodeTable, labels: Sequence[object], names: Sequence[object]
) -> Iterator[str]:
    """The lines of a file. Points that share a leaf are children of that leaf."""
    n_points = table.n_points
    for what, values in (("labels", labels), ("names", names)):
        if len(values) != n_points:
            raise ValueError(f"{len(values)} {what} for a tree of {n_points} points")
    nodes = [_field(str(names[i])) for i in range(n_points)]
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
        label = _field(str(labels[number])) if number < n_points else "None"
        yield f"{nodes[number]}\t{parent}\t{label}\n"


def _field(text: str) -> str:
    if text.lower() in (*_NOTHING, "") or any(c in text for c in "\t\r\n"):
        raise ValueError(f"{text!r} cannot be in such a file: no tabs, no line ends, not 'None'")
    return text


def read_authors(path: str | Path) -> AuthorsTree:
    """Read a tree file, of the authors' program or of ours."""
    rows: dict[str, tuple[str, str, int]] = {}
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) != 3:
                raise ValueError(f"{path}, line {number}: expected node, parent and label")
            if fields[0] in rows:
                raise ValueError(f"{path}, line {number}: node {fields[0]!r} comes twice")
            rows[fields[0]] = fields[1], fields[2], number
    inner = {parent for parent, _, _ in rows.values() if parent.lower() not in _NOTHING}
    points = [name for name in rows if name not in inner]
    places = {name: i for i, name in enumerate([*points, *(n for n in rows if n in inner)])}
    parents = np.full(len(rows), -1, np.int64)
    for name, (parent, label, number) in rows.items():
        if parent.lower() not in _NOTHING:
            if parent not in places:
                raise ValueError(f"{path}, line {number}: there is no node {parent!r}")
            parents[places[name]] = places[parent]
        if name not in inner and label.lower() in _NOTHING:
            raise ValueError(f"{path}, line {number}: leaf {name!r} has no label")
    if (parents < 0).sum() != 1:
        raise ValueError(f"{path} has {(parents < 0).sum()} roots instead of one")
    return AuthorsTree(parents, [rows[name][1] for name in points], points)
