"""Corrections of a flat clustering, compared with what they promise by slow, obvious means."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapped import insert_with_gaps
from perchtree import ClusterTree
from perchtree.clusters.correcting import correct
from perchtree.collection.corrections import Corrections
from strategies import grids

MODES = [{"linkage": "box"}, {"linkage": "average"}, {"linkage": "average", "max_leaves": 4}]


def clusters_of(ids, labels):
    """A clustering as sets of ids."""
    clusters = {}
    for point_id, label in zip(ids.tolist(), labels.tolist(), strict=True):
        clusters.setdefault(label, set()).add(point_id)
    return {frozenset(cluster) for cluster in clusters.values()}


def joined(sets, pairs):
    """Sets, of which those that a pair connects have become one."""
    sets = {frozenset(each) for each in sets}
    for pair in pairs:
        touched = {each for each in sets if each & set(pair)}
        sets = (sets - touched) | {frozenset().union(*touched)}
    return sets


class Said:
    """What was said about points, and what follows from it."""

    def __init__(self, ids):
        self.together, self.apart = [], []
        self.groups = {frozenset([point_id]) for point_id in ids.tolist()}

    def group(self, point_id):
        return next(group for group in self.groups if point_id in group)

    def are_apart(self, one, other):
        """Whether something keeps two groups apart."""
        return any((a in one and b in other) or (b in one and a in other) for a, b in self.apart)

    def say(self, kind, a, b):
        """Say it, unless it contradicts what was said before."""
        one, other = self.group(a), self.group(b)
        if kind == "apart" and one != other:
            self.apart.append((a, b))
        if kind == "together" and not self.are_apart(one, other):
            self.together.append((a, b))
            self.groups = joined(self.groups, [(a, b)])

    def correct(self, table, labels):
        return correct(table, labels, as_pairs(self.together), as_pairs(self.apart))


def as_pairs(pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


@st.composite
def cases(draw, max_points=20):
    """All that `make` makes a tree, labels of its points and statements about them of."""
    X = draw(grids(max_points=max_points, max_features=2))
    gaps = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    n_points = len(X)
    labels = st.lists(st.integers(0, 3), min_size=n_points, max_size=n_points)
    labels = draw(st.one_of(st.integers(1, 4), labels))
    point = st.integers(0, n_points - 1)
    kinds = st.sampled_from(["together", "apart"])
    statements = draw(st.lists(st.tuples(kinds, point, point), max_size=12))
    return draw(st.sampled_from(MODES)), X, gaps, labels, statements


def make(case):
    """A tree, labels of its points (of a cut, or any), and what was said about them."""
    mode, X, gaps, labels, statements = case
    tree = ClusterTree(X.shape[1], **mode)
    ids = insert_with_gaps(tree, X, gaps, 5)
    if isinstance(labels, int):
        labels = tree.cut(min(labels, tree.n_leaves))
    said = Said(ids)
    for kind, a, b in statements:
        said.say(kind, int(ids[a]), int(ids[b]))
    return tree, np.array(labels), said


@given(case=cases())
def test_what_was_said_holds(case):
    tree, labels, said = make(case)
    after = said.correct(tree.table, labels)
    before, found = clusters_of(tree.ids, labels), clusters_of(tree.ids, after.labels)
    assert after.n_before == len(before)
    assert after.n_after == len(found)
    assert [min(c) for c in sorted(found, key=min)] == [
        tree.ids[after.labels == label].min() for label in range(len(found))
    ]
    cluster = {point_id: c for c in found for point_id in c}
    for a, b in said.together:
        assert cluster[a] == cluster[b]
    for a, b in said.apart:
        assert cluster[a] != cluster[b]


@given(case=cases())
def test_nothing_changes_without_a_reason(case):
    tree, labels, said = make(case)
    found = clusters_of(tree.ids, said.correct(tree.table, labels).labels)
    old = clusters_of(tree.ids, labels)
    for cluster in joined(old, said.together):
        own = [group for group in said.groups if group <= cluster]
        clashing = [g for g in own if any(said.are_apart(g, other) for other in own)]
        parts = [part for part in found if part & cluster]
        assert frozenset().union(*parts) == cluster
        # Every part holds a group, and some of one old cluster are in two only if they must.
        groups = [[g for g in clashing if g <= part] for part in parts]
        assert all(groups) or len(parts) == 1
        for these, those in itertools.combinations(groups, 2):
            if any(g & c and h & c for g in these for h in those for c in old):
                assert any(said.are_apart(g, h) for g in these for h in those)


@given(case=cases(), data=st.data())
def test_only_what_was_said_matters(case, data):
    """Not its order, not which of two comes first, not how clusters are called, not how often."""
    tree, labels, said = make(case)
    expected = said.correct(tree.table, labels)
    other = Said(tree.ids)
    for kind in ("together", "apart"):
        pairs = data.draw(st.permutations(getattr(said, kind)))
        swap = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
        turned = [pair[::-1] if turn else pair for pair, turn in zip(pairs, swap, strict=True)]
        setattr(other, kind, turned + turned[:2])
    again = other.correct(tree.table, 7 - labels)
    assert np.array_equal(again.labels, expected.labels)
    # Corrected once, nothing is left to do; pairs with points that are gone say nothing.
    other.together.append((int(tree.ids[0]), tree.next_id))
    other.apart.append((tree.next_id + 5, int(tree.ids[-1])))
    twice = other.correct(tree.table, expected.labels)
    assert np.array_equal(twice.labels, expected.labels)
    assert twice.n_before == twice.n_after == expected.n_after


def count_cuts(table, part_of):
    """The least number of branches between different parts: points without one may have any.

    A branch leads to each child of a node, and from each leaf to each of its points.
    """
    options = sorted(set(part_of.values())) or [0]
    costs = {}

    def below(children):
        return [
            sum(min(costs[child][j] + (i != j) for j in range(len(options))) for child in children)
            for i in range(len(options))
        ]

    for number, point_id in enumerate(table.ids.tolist()):
        own = part_of.get(point_id)
        costs[number] = [0 if own in (None, option) else np.inf for option in options]
    members = {}
    for point, leaf in enumerate(table.leaves.tolist()):
        members.setdefault(leaf, []).append(point)
    costs.update({leaf: below(points) for leaf, points in members.items() if len(points) > 1})
    for merge, children in enumerate(table.children.tolist()):
        if not table.inner[merge]:
            costs[table.n_points + merge] = below(children)
    return min(costs[len(table.parents) - 1])


@given(case=cases())
def test_as_few_branches_as_possible_are_cut(case):
    tree, labels, said = make(case)
    after = said.correct(tree.table, labels).labels
    part = dict(zip(tree.ids.tolist(), after.tolist(), strict=True))
    for cluster in joined(clusters_of(tree.ids, labels), said.together):
        own = [group for group in said.groups if group <= cluster]
        clashing = [g for g in own if any(said.are_apart(g, other) for other in own)]
        if not clashing:
            continue
        fixed = set().union(*clashing, *(g for g in own if len(g) > 1))
        least = count_cuts(tree.table, {point_id: part[point_id] for point_id in fixed})
        assert count_cuts(tree.table, {i: part[i] for i in cluster}) == least


# The statements themselves


few_ids = st.integers(0, 7)
steps = st.one_of(
    st.tuples(st.sampled_from(["together", "apart", "take back"]), few_ids, few_ids),
    st.tuples(st.just("drop"), st.sets(few_ids, max_size=3), few_ids),
    st.tuples(st.just("move"), few_ids, few_ids),
)


def contradicts(said, kind, a, b):
    """Whether a statement is against what follows from a set of them."""
    together = [pair for other, *pair in said if other == "together"]
    apart = [pair for other, *pair in said if other == "apart"]
    groups = joined([[point_id] for point_id in range(100)], [*together, [a, b]])
    own = next(group for group in groups if a in group)
    if kind == "together":
        return any(set(pair) <= own for pair in apart)
    groups = joined([[point_id] for point_id in range(100)], together)
    return any({a, b} <= group for group in groups)


def same_everywhere(corrections, said, changes):
    """Compare with the set of what is expected, also after a round trip."""
    assert {tuple(correction) for correction in corrections} == said
    assert len(corrections) == len(said)
    assert corrections.changes == changes
    living = np.arange(100)
    twin = Corrections.restored(corrections.columns(living), changes + 100, living)
    for other in (corrections.copy(), twin):
        assert list(other) == list(corrections)
    for kind in ("together", "apart"):
        pairs = sorted((a, b) for other, a, b in said if other == kind)
        assert list(map(tuple, corrections.pairs(kind).tolist())) == pairs


@given(sequence=st.lists(steps, max_size=25))
def test_statements(sequence):
    corrections, said, new_id, changes = Corrections(), set(), 50, 0
    for kind, a, b in sequence:
        before = set(said)
        if kind in ("together", "apart"):
            pair = kind, min(a, b), max(a, b)
            if contradicts(said, kind, a, b):
                with pytest.raises(ValueError, match=r"cannot be (together|apart)"):
                    corrections.say(kind, a, b)
            else:
                corrections.say(kind, a, b)
                said |= {pair} if a != b else set()
        elif kind == "take back":
            said = {(k, x, y) for k, x, y in said if {x, y} != {a, b}}
            if said == before:
                with pytest.raises(ValueError, match="nothing was said"):
                    corrections.take_back(a, b)
            else:
                corrections.take_back(a, b)
        elif kind == "drop":
            said = {(k, x, y) for k, x, y in said if not {x, y} & a}
            corrections.drop(a)
        else:
            new_id += 1
            said = {(k, *sorted(new_id if i == a else i for i in pair)) for k, *pair in said}
            corrections.moved(a, new_id)
        changes += said != before
        same_everywhere(corrections, said, changes)
