"""The paper's facts and its theorem, each checked on what it is about."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config

from kernels import callable_from_python
from perchtree import ClusterTree
from perchtree._kernels import links, rules, walk
from perchtree._kernels.schema import BOX_ROWS, PARENT, POINT_ROWS
from perchtree.metrics import dendrogram_purity

rotate, exactly_masked, improves_ratio, has_aunt, sibling_of = map(
    callable_from_python,
    (links.rotate, rules.exactly_masked, rules.improves_ratio, walk.has_aunt, walk.sibling_of),
)

ORDERS = ["random", "sorted", "round robin"]
PER_CLUSTER = 4 if config.DISABLE_JIT else 8
seeds = st.integers(0, 2**32 - 1)


def is_separable(X, y, gap=1.0):
    """Assumption 1: points of one cluster are closer than points of two, by a factor."""
    squared = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    same = y[:, np.newaxis] == y
    return gap**2 * squared[same].max() < squared[~same].min()


def separable(rng, n_clusters, per_cluster, n_features, gap=1.0):
    """Separable data, often hardly more than it has to be."""
    y = np.repeat(np.arange(n_clusters), per_cluster)
    width = 0.45 / gap / np.sqrt(n_features)
    while True:
        centres = 2 * rng.random((n_clusters, n_features)) * n_clusters ** (1 / n_features)
        X = centres[y] + width * rng.random((len(y), n_features))
        X = X.astype(np.float32).astype(float)
        if is_separable(X, y, gap):
            return X, y


def arrange(order, rng, y):
    """Indices of points in order of arrival."""
    shuffled = rng.permutation(len(y))
    if order == "random":
        return shuffled
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    if order == "sorted":
        return by_class
    return by_class.reshape(len(np.unique(y)), -1).T.ravel()


def grow(X, **mode):
    tree = ClusterTree(X.shape[1], **({"linkage": "box", "search": "astar"} | mode))
    tree.insert(X)
    return tree


def test_fact_1_greedy_is_not_enough():
    """One cluster near -1 and +1, another near 4: at most 7/8 without masking rotations."""
    jitter = np.linspace(0, 0.1, 10)
    X = np.concatenate([[-1], [1], [4], jitter - 1, jitter + 1, np.tile(jitter, 2) + 4, [4.05]])
    X = X[:, np.newaxis]
    y = (X[:, 0] > 2.5).astype(int)
    assert is_separable(X, y)
    assert (y == 0).sum() == (y == 1).sum()
    assert dendrogram_purity(grow(X, masking=None, balance=None), y) <= 7 / 8
    assert dendrogram_purity(grow(X, masking="exact", balance=None), y) == 1
    assert dendrogram_purity(grow(X), y) == 1


def random_merges(rng, n_points):
    parts, merges = [frozenset([i]) for i in range(n_points)], []
    while len(parts) > 1:
        a, b = (parts.pop(rng.integers(len(parts))) for _ in range(2))
        merges.append((a, b))
        parts.append(a | b)
    return merges


def any_masked(X, merges):
    """Whether equation 1 holds for any node of a tree given as merges."""
    aunts = dict(merges) | {b: a for a, b in merges}
    for a, b in merges:
        aunt = aunts.get(a | b)
        if aunt is None:
            continue
        for node, sibling in ((a, b), (b, a)):
            for x in node:
                far = max(((X[x] - X[i]) ** 2).sum() for i in sibling)
                if far > min(((X[x] - X[i]) ** 2).sum() for i in aunt):
                    return True
    return False


@given(seeds, st.integers(2, 3), st.integers(2, 3))
def test_fact_2_no_masked_node_means_purity_1(seed, n_clusters, per_cluster):
    rng = np.random.default_rng(seed)
    X, y = separable(rng, n_clusters, per_cluster, n_features=2)
    merges = random_merges(rng, len(y))
    numbers = {frozenset([i]): i for i in range(len(y))}
    children = []
    for a, b in merges:
        numbers[a | b] = len(y) + len(children)
        children.append([numbers[a], numbers[b]])
    assert dendrogram_purity(children, y) == 1 or any_masked(X, merges)


def test_fact_2_is_not_about_nothing():
    """Some trees indeed have no masked node."""
    X, y = np.array([[0.0], [1.0], [9.0], [9.5]]), np.array([0, 0, 1, 1])
    merges = [(frozenset([0]), frozenset([1])), (frozenset([2]), frozenset([3]))]
    merges.append((frozenset([0, 1]), frozenset([2, 3])))
    assert not any_masked(X, merges)
    assert dendrogram_purity([[0, 1], [2, 3], [4, 5]], y) == 1


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("balance", ["size", "ratio", None])
@given(seed=seeds)
def test_theorem_1_exact_masking_is_pure(order, balance, seed):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 5))
    X, y = separable(rng, 4, PER_CLUSTER, n_features)
    arrival = arrange(order, rng, y)
    tree = grow(X[arrival], masking="exact", balance=balance)
    assert dendrogram_purity(tree, y[arrival]) == 1


@given(seed=seeds)
def test_fact_4_exact_balance_rotations(seed):
    """Each that applies to a pure tree keeps it pure and makes it more balanced."""
    rng = np.random.default_rng(seed)
    X, y = separable(rng, 3, PER_CLUSTER, n_features=2)
    arrival = arrange("random", rng, y)
    pure = grow(X[arrival], masking="exact", balance=None)
    arrays = pure._tree
    points = 2 * np.arange(int(arrays.state[POINT_ROWS]))
    boxes = 2 * np.arange(int(arrays.state[BOX_ROWS])) + 1
    for node in np.concatenate([points, boxes]).tolist():
        if not has_aunt(arrays, node):
            continue
        sibling, parent = sibling_of(arrays, node), arrays.nodes[node, PARENT]
        aunt = sibling_of(arrays, parent)
        if improves_ratio(arrays, node, sibling, aunt) and exactly_masked(
            arrays, node, sibling, aunt
        ):
            rotated = pure.copy()
            rotate(rotated._tree, node)
            rotated.check()
            assert rotated.mean_balance > pure.mean_balance
            assert dendrogram_purity(rotated, y[arrival]) == 1


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("masking", ["published", "interval"])
@pytest.mark.parametrize("n_features", [1, 3])
@given(seed=seeds, spare=st.integers(1, 6))
def test_fact_5_collapsing_keeps_purity(order, masking, n_features, seed, spare):
    """In one dimension, or with gaps above sqrt(d) times the diameter, and L > K."""
    rng = np.random.default_rng(seed)
    X, y = separable(rng, 4, PER_CLUSTER, n_features, gap=np.sqrt(n_features))
    arrival = arrange(order, rng, y)
    tree = grow(X[arrival], masking=masking, balance=None, max_leaves=4 + spare)
    tree.check()
    assert tree.n_leaves <= 4 + spare
    assert dendrogram_purity(tree, y[arrival]) == 1


def test_fact_5_can_fail_with_boxes():
    """Two boxes of one cluster can seem farther apart than two points of different clusters.

    Cluster 0 is the unit vectors, sqrt(2) apart. Two of them make a leaf with the box
    [0, 1]^2, whose far corner is sqrt(3) from a third: more than the 1.5 between clusters 1
    and 2, so that these are collapsed first.
    """
    X = np.array([[10, 0, 0, 0], [10, 0, 0, 0], [11.5, 0, 0, 0], *np.eye(4)])
    y = np.array([1, 1, 2, 0, 0, 0, 0])
    assert is_separable(X, y)
    assert dendrogram_purity(grow(X, balance=None), y) == 1
    collapsed = grow(X, balance=None, max_leaves=4)
    assert dendrogram_purity(collapsed, y) < 1
    assert collapsed.leaf_of(0) == collapsed.leaf_of(2)
