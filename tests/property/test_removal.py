"""Removing points: the tree is that of the slow reference, whatever was done in whatever order."""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from batching import small_batches
from perchtree import ClusterTree
from reference import ReferenceTree, clades_of
from reference_linkage import LinkageTree
from strategies import grids


def by_boxes(**rules):
    return {"linkage": "box", **rules}, lambda: ReferenceTree(**rules)


def by_beam(width, settings, make):
    return {**settings, "search": "beam", "beam_width": width}, make


def by_linkage(linkage, graft=5, **rules):
    settings = {"linkage": linkage, "graft": graft, **rules}
    return settings, lambda: LinkageTree(linkage, graft, **rules)


MODES = {
    "published": by_boxes(),
    "interval, ratio": by_boxes(masking="interval", balance="ratio"),
    "exact": by_boxes(masking="exact", balance=None),
    "greedy": by_boxes(masking=None, balance=None),
    "collapsed": by_boxes(max_leaves=5),
    "collapsed by intervals": by_boxes(masking="interval", balance="ratio", max_leaves=4),
    "average": by_linkage("average"),
    "ward without grafts": by_linkage("ward", 0),
    "average, collapsed": by_linkage("average", max_leaves=7),
    "ward, collapsed": by_linkage("ward", max_leaves=4),
    "beam": by_beam(2, {"linkage": "box"}, lambda: ReferenceTree(beam_width=2)),
    "average by beam, collapsed": by_beam(
        3, {"max_leaves": 6}, lambda: LinkageTree("average", beam_width=3, max_leaves=6)
    ),
}
FEW = 16
"""Points at most: with more, a removal would not look at all of the tree for grafts."""

few = settings(
    max_examples=max(8, settings.default.max_examples // 4),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
places = st.lists(st.integers(0, FEW), min_size=1, max_size=12)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(1, 12)),
        st.tuples(st.just("remove"), places),
        st.tuples(st.just("copies"), places),
        st.tuples(st.just("reload"), st.booleans()),
        st.tuples(st.just("refine"), st.just(1)),
    ),
    min_size=1,
    max_size=8,
)


def chosen(living, numbers):
    """Different ids among the living ones, in an order that hypothesis can simplify."""
    return list(dict.fromkeys(living[number % len(living)] for number in numbers)) if living else []


class Pair:
    """A tree and the slow reference, on which the same is done."""

    def __init__(self, mode, X):
        rules, make = mode
        self.tree, self.slow = ClusterTree(X.shape[1], **rules), make()
        self.X, self.used = X, 0
        self.points = {}

    def do(self, kind, what, folder):
        getattr(self, kind)(what, folder)
        self.tree.check()
        assert self.tree.ids.tolist() == sorted(self.points)
        assert clades_of(self.tree) == self.slow.clades()

    def insert(self, n_rows, folder):
        self._insert(self.X[self.used : self.used + n_rows])
        self.used += n_rows

    def copies(self, numbers, folder):
        ids = chosen(sorted(self.points), numbers)
        if ids:
            self._insert(np.array([self.points[i] for i in ids]))

    def _insert(self, rows):
        if len(rows) == 0:
            return
        ids = self.tree.insert(rows)
        for x, point_id in zip(rows, ids.tolist(), strict=True):
            assert point_id == self.slow.next_id
            self.slow.insert(x)
            self.points[point_id] = x

    def remove(self, numbers, folder):
        ids = chosen(sorted(self.points), numbers)
        assert self.tree.remove(np.array(ids, np.int64)).tolist() == ids
        for point_id in ids:
            self.slow.remove(point_id)
            del self.points[point_id]
        assume(not getattr(self.slow, "ambiguous", False))

    def reload(self, by_file, folder):
        if by_file:
            self.tree.save(folder / "tree.perch")
            self.tree = ClusterTree.load(folder / "tree.perch")
        else:
            self.tree = pickle.loads(pickle.dumps(self.tree))

    def refine(self, passes, folder):
        if self.tree.settings.has_linkage and self.tree.n_leaves >= 3:
            made = self.tree.refine(passes)
            expected = self.slow.refine(passes, 5)
            assume(not self.slow.ambiguous)
            assert made == expected


@pytest.mark.parametrize("mode", MODES)
@given(X=grids(min_points=2, max_points=FEW), steps=operations)
@few
def test_the_tree_is_that_of_the_reference(tmp_path, mode, X, steps):
    pair = Pair(MODES[mode], X)
    pair.insert(len(X) // 2, tmp_path)
    with small_batches(7):
        for kind, what in steps:
            pair.do(kind, what, tmp_path)


@pytest.mark.parametrize("mode", ["published", "average", "average, collapsed"])
@given(X=grids(min_points=4, max_points=FEW), data=st.data())
@few
def test_everything_can_be_removed_and_the_tree_goes_on(tmp_path, mode, X, data):
    pair = Pair(MODES[mode], X)
    for half in (X[: len(X) // 2], X[len(X) // 2 :]):
        pair._insert(half)
        for point_id in data.draw(st.permutations(sorted(pair.points))):
            pair.do("remove", [sorted(pair.points).index(point_id)], tmp_path)
        assert pair.tree.n_points == pair.tree.n_leaves == 0


@pytest.mark.parametrize("mode", ["published", "average", "average, collapsed"])
@given(X=grids(min_points=2, max_points=FEW), steps=operations)
@few
def test_every_exact_search_gives_the_same_tree(tmp_path, mode, X, steps):
    rules, make = MODES[mode]
    searches = [("astar", 1), ("scan", 1), ("scan", 2), ("auto", 2), ("astar", 2)]
    pairs = [Pair(({**rules, "search": s, "n_jobs": n}, make), X) for s, n in searches]
    with small_batches(7):
        for kind, what in [("insert", len(X) // 2), *steps]:
            for pair in pairs:
                if kind != "refine":
                    getattr(pair, kind)(what, tmp_path)
            first = pairs[0].tree
            for pair in pairs[1:]:
                assert clades_of(pair.tree) == clades_of(first)
            if first.n_points == 0:
                continue
            queries = np.concatenate([X[:5], X[:5] + 0.5])
            expected = first.nearest(queries, k=min(3, first.n_points))
            for pair in pairs[1:]:
                found = pair.tree.nearest(queries, k=min(3, first.n_points))
                assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize("search", ["astar", "scan"])
@given(X=grids(min_points=3, max_points=FEW), numbers=places)
@few
def test_neighbours_are_those_among_the_points_that_are_left(search, X, numbers):
    tree = ClusterTree(X.shape[1], search=search)
    tree.insert(X)
    removed = chosen(list(range(len(X))), numbers)[: len(X) - 1]
    tree.remove(removed)
    left = np.setdiff1d(np.arange(len(X)), removed)
    queries = np.tile(np.concatenate([X, X + 0.5]), (5, 1))  # enough rows for a scan
    squared = ((queries[:, np.newaxis] - X[left]) ** 2).sum(axis=2)
    found, _ = tree.nearest(queries, len(left))
    assert np.array_equal(found, left[np.argsort(squared, axis=1, kind="stable")])
