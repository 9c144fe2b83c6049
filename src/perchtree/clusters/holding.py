"""The part of a tree that contains some clusters: which they are, and how they are connected."""

import numpy as np
from numpy.typing import NDArray

from .._kernels.pieces import list_ids
from .._kernels.schema import LEAF, LEFT, NONE, PARENT, RIGHT, SIZE, Tree
from ..table import NodeTable, Skeleton, measure_some, number_nodes

Numbers = NDArray[np.int64]


def find_tops(tree: Tree, ids: Numbers, distance: float) -> Numbers:
    """The largest node of at most a height above each of some points: the cluster it is in."""
    nodes: Numbers = tree.ids[ids, LEAF].astype(np.int64)
    climbing = np.arange(len(nodes))
    while len(climbing):
        parents = tree.nodes[nodes[climbing], PARENT].astype(np.int64)
        climbing, parents = climbing[parents != NONE], parents[parents != NONE]
        low = measure_some(tree, parents).heights <= distance
        climbing = climbing[low]
        nodes[climbing] = parents[low]
    return nodes


def ids_below(tree: Tree, node: int) -> Numbers:
    """The ids below a node, in the order of its leaves."""
    ids = np.empty(int(tree.nodes[node, SIZE]), np.int64)
    list_ids(tree, node, ids)
    return ids


def holding(tree: Tree, tops: Numbers) -> NodeTable:
    """Number all nodes below some nodes, and those above where two of these meet."""
    below = [tops]
    while len(below[-1]):
        children = tree.nodes[below[-1]][:, [LEFT, RIGHT]].ravel().astype(np.int64)
        below.append(children[children != NONE])
    nodes = np.concatenate(below)
    internal = nodes[tree.nodes[nodes, LEFT] != NONE]
    meeting, branches = _meetings(tree, tops.tolist())
    ids = np.sort(np.concatenate([ids_below(tree, top) for top in tops.tolist()]))
    own = tree.nodes[internal][:, [LEFT, RIGHT]].astype(np.int64)
    return number_nodes(
        tree,
        Skeleton(
            ids,
            np.concatenate([internal, np.array(meeting, np.int64)]),
            np.concatenate([own, np.array(branches, np.int64).reshape(-1, 2)]),
        ),
    )


def _meetings(tree: Tree, tops: list[int]) -> tuple[list[int], list[list[int]]]:
    """Nodes at which two branches with some of the tops meet, and what hangs on each."""
    branches: dict[int, list[int]] = {}
    for top in tops:
        node, parent = top, int(tree.nodes[top, PARENT])
        while parent != NONE:
            known = parent in branches
            branches.setdefault(parent, []).append(node)
            if known:
                break
            node, parent = parent, int(tree.nodes[parent, PARENT])
    meeting = [node for node, parts in branches.items() if len(parts) == 2]
    ends = {*tops, *meeting}

    def descend(node: int) -> int:
        while node not in ends:
            (node,) = branches[node]
        return node

    return meeting, [list(map(descend, branches[node])) for node in meeting]
