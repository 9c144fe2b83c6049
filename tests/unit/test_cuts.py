"""Cutting a tree into clusters."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree
from strategies import grids


def slow_cut(tree, n_clusters):
    """Collapse the cheapest node whose children are leaves, again and again."""
    n_points = tree.n_points
    clusters = [
        frozenset(tree.members(leaf).tolist())
        for leaf in set(tree.leaf_of(range(n_points)).tolist())
    ]
    nodes = [n_points + i for i in np.flatnonzero(~tree.table.inner)]
    members = {node: frozenset(tree.members(node).tolist()) for node in nodes}
    while len(clusters) > n_clusters:
        ready = [n for n in nodes if sum(c < members[n] for c in clusters) == 2]
        ready = [
            n for n in ready if sum(len(c) for c in clusters if c < members[n]) == len(members[n])
        ]
        node = min(ready, key=lambda n: (tree.heights[n] * len(members[n]), min(members[n])))
        clusters = [c for c in clusters if not c < members[node]] + [members[node]]
    labels = np.empty(n_points, int)
    for label, cluster in enumerate(sorted(clusters, key=min)):
        labels[list(cluster)] = label
    return labels


@given(grids(max_points=25), st.data())
def test_is_the_greedy_heuristic(X, data):
    tree = ClusterTree(X.shape[1])
    tree.insert(X)
    n_clusters = data.draw(st.integers(1, tree.n_leaves))
    assert tree.cut(n_clusters).tolist() == slow_cut(tree, n_clusters).tolist()


def test_two_obvious_clusters():
    tree = ClusterTree(1)
    tree.insert([[0], [10], [1], [11], [0.5]])
    assert tree.cut(2).tolist() == [0, 1, 0, 1, 0]
