"""Clusters that persist: against all antichains of small trees."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import ClusterTree
from perchtree.clusters.extraction import DAMPING, extract, total_strength
from perchtree.table import NodeTable, parents_of
from strategies import grids


def grow(X, **settings):
    tree = ClusterTree(X.shape[1], **settings)
    tree.insert(X)
    return tree


class Slow:
    """From the definitions, by enumeration."""

    def __init__(self, table, least):
        self.table, self.least = table, least

    def parts(self, number):
        """The parts into which a number can be split, the larger first."""
        merge = number - self.table.n_points
        if merge < 0 or self.table.inner[merge]:
            return []
        return sorted(self.table.children[merge], key=lambda part: -self.table.sizes[part])

    def descend(self, number):
        """The numbers that a cluster consists of in turn, and the parts it splits into at last."""
        chain = [number]
        while True:
            parts = [p for p in self.parts(chain[-1]) if self.table.sizes[p] >= self.least]
            if len(parts) != 1:
                return chain, parts
            chain.append(parts[0])

    def strength(self, number, birth):
        """The lifetimes of all points, one by one, by a power of their number."""
        chain, _ = self.descend(number)
        lifetimes = []
        for point in self.table.members(number):
            last = [n for n in chain if point in self.table.members(n)][-1]
            lifetimes.append(birth - self.table.pooled[last])
        return sum(lifetimes) * len(lifetimes) ** (-DAMPING)

    def choices(self, number, birth):
        """All antichains of clusters below a number: (total strength, numbers)."""
        yield self.strength(number, birth), [number]
        chain, parts = self.descend(number)
        if parts:
            height = self.table.pooled[chain[-1]]
            below = [list(self.choices(part, height)) for part in parts]
            for one, other in itertools.product(*below):
                yield one[0] + other[0], one[1] + other[1]

    def core(self, number):
        """Where its points stay together longest; None if that is a matter of rounding."""
        chain, _ = self.descend(number)
        table = self.table
        stays = [
            (table.sizes[n] * (table.pooled[table.parents[n]] - table.pooled[n]), n)
            for n in chain
            if table.parents[n] >= 0
        ]
        if not stays:
            return number
        longest = max(stay for stay, _ in stays)
        close = [n for stay, n in stays if stay >= longest - 1e-9 * (1 + longest)]
        return close[0] if len({stay for stay, n in stays if n in close}) == 1 else None

    def groups(self, cores):
        """The clusters: cores, and the largest small groups outside of them."""
        waiting, groups = [2 * self.table.n_points - 2], []
        while waiting:
            number = waiting.pop()
            parts = self.parts(number)
            if number in cores or self.table.sizes[number] < self.least or not parts:
                groups.append(frozenset(self.table.members(number).tolist()))
            else:
                waiting += parts
        return set(groups)


def groups_of(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@pytest.mark.parametrize("settings", [{}, {"linkage": "box"}, {"max_leaves": 9}])
@given(X=grids(max_points=20), least=st.integers(1, 6))
def test_best_of_all_antichains(settings, X, least):
    tree = grow(X, **settings)
    table = tree.table
    slow = Slow(table, least)
    root = 2 * len(X) - 2
    choices = sorted(slow.choices(root, table.pooled[root]), key=lambda choice: -choice[0])
    best, numbers = choices[0]
    found = total_strength(table, table.pooled, least, DAMPING)
    assert found == pytest.approx(best, rel=1e-9, abs=1e-9)

    labels = tree.cut(min_cluster_size=least)
    assert labels[0] == 0
    clear = len(choices) == 1 or best > choices[1][0] + 1e-9 * (1 + abs(best))
    cores = [slow.core(number) for number in numbers]
    if clear and None not in cores:
        assert groups_of(labels) == slow.groups(cores)


@given(X=grids(), least=st.integers(1, 70))
def test_clusters_are_subtrees_and_large_enough(X, least):
    tree = grow(X)
    labels = tree.cut(min_cluster_size=least)
    table = tree.table
    groups = groups_of(labels)
    subtrees = {frozenset(table.members(n).tolist()) for n in range(2 * len(X) - 1)}
    assert groups <= subtrees
    assert any(len(group) >= min(least, len(X)) for group in groups)
    leaves = tree.leaf_of(tree.ids)
    assert all(len(set(labels[leaves == leaf])) == 1 for leaf in set(leaves))
    joined = extract(table, least)
    assert len(groups) == len(X) - joined[len(X) :].sum()


def test_what_is_plain_to_see():
    rng = np.random.default_rng(0)
    sizes = [40, 12, 200, 25]
    centres = [[0, 0], [30, 0], [0, 30], [40, 40]]
    scales = [1, 0.3, 3, 0.1]
    X = np.concatenate([
        centre + scale * rng.normal(size=(size, 2)).clip(-2, 2)
        for size, centre, scale in zip(sizes, centres, scales, strict=True)
    ])  # fmt: skip
    classes = np.repeat(np.arange(4), sizes)
    order = rng.permutation(len(X))
    labels = grow(X[order]).cut(min_cluster_size=10)
    groups = [group for group in groups_of(labels) if len(group) >= 10]
    assert len(groups) == 4
    for group in groups:
        assert len(set(classes[order][list(group)])) == 1


def test_a_group_far_from_all_others_is_a_cluster_of_its_own():
    X = np.array([[0.0], [1], [2], [3], [4], [100], [101], [102], [103], [-95], [-94]])
    labels = grow(X).cut(min_cluster_size=4)
    assert labels.tolist() == [0] * 5 + [1] * 4 + [2] * 2


def chain(n_points):
    """The tree in which the points join one after the other, each farther away."""
    merges = np.arange(n_points - 1)
    children = np.column_stack([merges + 1, np.append(0, n_points + merges[:-1])])
    return NodeTable(
        children=children,
        parents=parents_of(children),
        distances=np.log1p(merges + 1.0),
        heights=np.concatenate([np.zeros(n_points), np.log1p(merges + 1.0)]),
        sizes=np.concatenate([np.ones(n_points, np.int64), merges + 2]),
        leaves=np.arange(n_points),
        inner=np.zeros(n_points - 1, bool),
        nodes=np.arange(n_points - 1),
        ids=np.arange(n_points),
        changes=0,
    )


@pytest.mark.jit
@pytest.mark.parametrize("least", [1, 2, 1000, 10**7])
def test_a_chain_of_a_million_points(least):
    joined = extract(chain(1_000_000), least)
    assert joined[1_000_000:].any() == (least > 1)
    merges = np.flatnonzero(joined[1_000_000:])
    assert merges.tolist() == list(range(len(merges)))  # what is below a joined merge is joined


def test_too_small():
    tree = grow(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="min_cluster_size must be at least 1"):
        tree.cut(min_cluster_size=0)
    with pytest.raises(ValueError, match="at most one of"):
        tree.cut(2, min_cluster_size=2)
    assert tree.cut(min_cluster_size=2).tolist() == [0, 0, 0]
