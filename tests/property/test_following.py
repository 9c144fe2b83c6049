"""A clustering that follows its tree, beside the whole one matched with the one before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config

from perchtree import ClusterTree
from perchtree._kernels import pieces
from perchtree.clusters.correcting import correct
from perchtree.clusters.following import NOTHING, Following
from perchtree.clusters.tracking import Tracker
from perchtree.collection.corrections import APART, TOGETHER, Corrections
from strategies import grids

MODES = [
    {"linkage": "average", "max_leaves": 8},
    *(
        pytest.param(mode, marks=pytest.mark.jit)  # as plain Python, one mode must do
        for mode in (
            {"linkage": "average"},
            {"linkage": "ward", "graft": 0},
            {"linkage": "box"},
            {"linkage": "box", "max_leaves": 8},
        )
    ),
]
NOBODY = np.empty(0, np.int64)


class Whole:
    """The slow version: everything is cut anew, and matched by the tracker."""

    def __init__(self, tree, distance, said=NOTHING):
        self.tree, self.distance, self.tracker = tree, distance, Tracker()
        self.said = said
        self.read()

    def read(self):
        tree, tracker = self.tree, self.tracker
        tracker.events = []
        clusters = tree.cut(distance=self.distance) if tree.n_points else NOBODY
        if tree.n_points:
            clusters = correct(tree.table, clusters, *self.said[:2]).labels
        tracker.number(tree.ids, clusters)


def compared(following, whole, followed):
    """All that the two must agree in."""
    tree, tracker = whole.tree, whole.tracker
    assert np.array_equal(following.labels[tree.ids], tracker.labels)
    assert following.next_number == tracker.next_id
    there = np.flatnonzero(following.sizes)
    assert dict(zip(there.tolist(), following.sizes[there].tolist(), strict=True)) == tracker.sizes
    assert following.n_points == tree.n_points
    told = [(c.kind, c.before, c.after, c.points) for c in followed.changes]
    events = [(e.kind, e.before, e.after, e.points) for e in tracker.events]
    plain = [c for c in told if c[0] not in ("join", "move", "leave")]
    assert sorted(plain) == sorted(events)
    moves = {
        (point, change.before[0], change.after[0])
        for change in followed.changes
        if change.kind == "move"
        for point in change.ids.tolist()
    }
    assert moves == set(zip(*(column.tolist() for column in tracker.moves), strict=True))
    with tree.reading() as arrays:
        for number, anchor in following.anchors.items():
            assert following.labels[anchor] == number
        assert set(following.anchors) == set(tracker.sizes)
        twin = Following(following.distance, following.next_number)
        assert twin.restore(arrays, following.anchors, whole.said)
        assert np.array_equal(twin.labels[tree.ids], tracker.labels)
        assert np.array_equal(twin.sizes, following.sizes[: len(twin.sizes)])


def check_arrivals(before, after, followed):
    """Every point that came in is told once, and every one that went out is counted."""
    arrived = [
        point for c in followed.changes if c.kind in ("birth", "join") for point in c.ids.tolist()
    ]
    assert sorted(arrived) == np.setdiff1d(after, before).tolist()


@pytest.mark.parametrize("mode", MODES, ids=str)
@given(X=grids(min_points=2, max_points=30), data=st.data())
@settings(max_examples=max(20, settings.default.max_examples // 2))
def test_agrees_with_the_whole(mode, X, data):
    tree = ClusterTree(X.shape[1], search="astar", **mode)
    start = data.draw(st.integers(1, len(X)))
    tree.insert(X[:start])
    heights = tree.heights.tolist()
    distance = data.draw(st.sampled_from(heights)) * data.draw(st.sampled_from([0.7, 1.0, 1.3]))
    following = Following(distance)
    with tree.reading() as arrays:
        followed = following.begin(arrays)
    whole = Whole(tree, distance)
    compared(following, whole, followed)
    rest = X[start:]
    for _ in range(data.draw(st.integers(1, 5))):
        before, gone = tree.ids, NOBODY
        step = data.draw(st.sampled_from(["add", "remove", "refine", "replace"]))
        n = data.draw(st.integers(1, 6))
        if step in ("add", "replace") and len(rest):
            tree.insert(rest[:n])
            rest = rest[n:]
        if step in ("remove", "replace") and len(before):
            gone = np.array(
                data.draw(st.lists(st.sampled_from(before.tolist()), max_size=n, unique=True)),
                np.int64,
            )
            tree.remove(gone)
        if step == "refine" and tree.settings.has_linkage and tree.n_points:
            tree.refine()
        tree.check()
        with tree.reading() as arrays:
            assert np.array_equal(np.sort(following.missed(arrays)), np.sort(gone))
            followed = following.follow(arrays, gone)
        whole.read()
        compared(following, whole, followed)
        check_arrivals(before, tree.ids, followed)


@pytest.mark.parametrize("mode", MODES, ids=str)
@given(data=st.data(), seed=st.integers(0, 10**6))
@settings(max_examples=max(15, settings.default.max_examples // 5))
def test_agrees_with_the_whole_and_its_corrections(mode, data, seed):
    """The same with corrections, which come, go, and go with their points."""
    random = np.random.default_rng(seed)
    centres = 6 * random.normal(size=(int(random.integers(1, 8)), 2))
    X = random.normal(size=(60, 2)) + centres[random.integers(0, len(centres), 60)]
    tree = ClusterTree(2, search="astar", **mode)
    tree.insert(X[:20])
    distance = float(random.choice(tree.heights))
    following, pairs = Following(distance), Corrections()
    with tree.reading() as arrays:
        followed = following.begin(arrays, pairs.said)
    whole = Whole(tree, distance, pairs.said)
    compared(following, whole, followed)
    at = 20
    for _ in range(data.draw(st.integers(1, 8))):
        gone = NOBODY
        step = data.draw(st.sampled_from(["say", "say", "say", "take back", "add", "remove"]))
        living = tree.ids.tolist()
        if step == "say" and len(living) > 1:
            for _ in range(int(random.integers(1, 4))):
                a, b = random.permutation(living)[:2].tolist()
                try:
                    pairs.say(TOGETHER if random.random() < 0.5 else APART, a, b)
                except ValueError:
                    continue
        elif step == "take back" and len(pairs):
            said = list(pairs)[int(random.integers(len(pairs)))]
            pairs.take_back(said.a, said.b)
        elif step == "add":
            tree.insert(X[at : at + 4])
            at += 4
        elif step == "remove" and living:
            gone = random.permutation(living)[: int(random.integers(1, 5))]
            tree.remove(gone)
            pairs.drop(gone.tolist())
        with tree.reading() as arrays:
            followed = following.follow(arrays, gone, pairs.said)
        whole.said = pairs.said
        whole.read()
        compared(following, whole, followed)


@pytest.mark.skipif(not config.DISABLE_JIT, reason="looks at nodes can be counted in plain Python")
def test_following_a_change_does_not_look_at_the_whole_tree(monkeypatch):
    """Eight times as many points: nearly as many looks at nodes for each that comes or goes."""
    looks, is_touched = [0], pieces.is_touched

    def counted(*given):
        looks[0] += 1
        return is_touched(*given)

    monkeypatch.setattr(pieces, "is_touched", counted)
    X = np.random.default_rng(0).random((560, 2))
    tree, costs = ClusterTree(2, search="astar"), []
    following = Following(0.0)
    for n in (60, 480):
        tree.insert(X[tree.next_id : n])
        distance = tree.cut_level(n // 5, criterion="height")
        following = Following(distance)
        with tree.reading() as arrays:
            following.begin(arrays)
        looks[0] = 0
        for row in range(n, n + 30):
            tree.insert(X[row : row + 1])
            gone = tree.ids[row % 7 :][:1]
            tree.remove(gone)
            with tree.reading() as arrays:
                followed = following.follow(arrays, gone)
            assert followed.changes
        costs.append(looks[0])
    assert 0 < costs[1] < 2.5 * costs[0]
