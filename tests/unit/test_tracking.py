"""Ids by overlap, and the events between two clusterings."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree.clusters.tracking import Event, Tracker

pytestmark = pytest.mark.outer


def numbered(*clusterings):
    tracker = Tracker()
    for clusters in clusterings:
        labels = tracker.number(np.arange(len(clusters)), np.array(clusters))
    return labels.tolist(), tracker.events


def test_the_largest_overlap_inherits():
    labels, events = numbered([0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 2])
    assert labels == [0, 0, 1, 1, 1, 2]
    assert events == [Event("birth", (), (2,), 1, 6)]


def test_a_merge_keeps_the_id_of_the_larger_one():
    labels, events = numbered([0, 1, 1, 2], [0, 0, 0, 1])
    assert labels == [1, 1, 1, 2]
    assert events == [Event("merge", (0, 1), (1,), 3, 4)]


def test_a_split_gives_the_smaller_part_a_new_id():
    labels, events = numbered([0, 0, 0, 1], [0, 1, 1, 2])
    assert labels == [2, 0, 0, 1]
    assert events == [Event("split", (0,), (0, 2), 3, 4)]


def test_a_cluster_can_dissolve():
    old = [0] * 2 + [1] * 5 + [2] * 5
    new = [0, 1] + [0] * 5 + [1] * 5
    labels, events = numbered(old, new)
    assert labels == [1, 2] + [1] * 5 + [2] * 5
    assert events == [Event("end", (0,), (), 2, 12)]


def test_a_point_that_changes_sides_is_no_event():
    _, events = numbered([0] * 5 + [1] * 5, [0] * 4 + [1] * 6)
    assert events == []


@given(st.data())
def test_moves_are_what_no_event_explains(data):
    tracker, n = Tracker(), 12
    for _ in range(2):
        raw = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
        before = tracker.labels
        tracker.number(np.arange(n), np.unique(raw, return_inverse=True)[1])
    pairs = list(zip(before.tolist(), tracker.labels.tolist(), strict=True))
    expected = [
        (point, *pair)
        for point, pair in enumerate(pairs)
        if pair[0] != pair[1]
        and not any(pair[0] in e.before and pair[1] in e.after for e in tracker.events)
    ]
    assert list(zip(*(column.tolist() for column in tracker.moves), strict=True)) == expected
    assert tracker.stayed == (sum(old == new for old, new in pairs), n)
    tracker.keep(np.arange(6))
    assert tracker.moves.points.tolist() == [point for point, *_ in expected if point < 6]
    assert tracker.labels.tolist() == [new for _, new in pairs[:6]]


@given(st.data())
def test_ids_are_a_renumbering(data):
    tracker, used, n_points = Tracker(), set(), 0
    for _ in range(4):
        n_points += data.draw(st.integers(1, 8))
        raw = data.draw(st.lists(st.integers(0, 5), min_size=n_points, max_size=n_points))
        clusters = np.unique(raw, return_inverse=True)[1]
        before = set() if tracker.labels is None else set(tracker.labels.tolist())
        labels = tracker.number(np.arange(n_points), clusters)
        assert len({*zip(labels.tolist(), clusters.tolist(), strict=True)}) == clusters.max() + 1
        now = set(labels.tolist())
        assert not (now - before) & used  # an id that is gone never comes back
        used |= now
        told = {i for event in tracker.events for i in event.before}
        assert before - now <= told


@given(st.data())
def test_only_the_order_of_points_matters(data):
    """With gaps between the ids of points, clusters get the same ids and events are the same."""
    dense, gapped, n_points = Tracker(), Tracker(), 0
    ids = np.cumsum(data.draw(st.lists(st.integers(1, 5), min_size=24, max_size=24)))
    for _ in range(3):
        n_points += data.draw(st.integers(1, 8))
        raw = data.draw(st.lists(st.integers(0, 4), min_size=n_points, max_size=n_points))
        clusters = np.unique(raw, return_inverse=True)[1]
        expected = dense.number(np.arange(n_points), clusters)
        assert gapped.number(ids[:n_points], clusters).tolist() == expected.tolist()
    assert gapped.events == dense.events


@given(st.data())
def test_points_that_are_gone_are_nobody_s(data):
    """Clusters keep their ids by the points that are still there."""
    tracker = Tracker()
    clusters = np.array(data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=20)))
    clusters = np.unique(clusters, return_inverse=True)[1]
    stay = np.array(data.draw(st.lists(st.booleans(), min_size=len(clusters),
                                       max_size=len(clusters))))  # fmt: skip
    stay[0] = True
    before = tracker.number(np.arange(len(clusters)), clusters)
    left = np.unique(clusters[stay], return_inverse=True)[1]
    labels = tracker.number(np.flatnonzero(stay), left)
    assert labels.tolist() == before[stay].tolist()
    gone = set(before.tolist()) - set(labels.tolist())
    assert {event.before for event in tracker.events} == {(label,) for label in gone}
    assert {event.kind for event in tracker.events} <= {"end"}


@given(st.data())
def test_a_stored_tracker_goes_on(data):
    tracker = Tracker()
    for n_points in (5, 9):
        raw = data.draw(st.lists(st.integers(0, 3), min_size=n_points, max_size=n_points))
        tracker.number(2 * np.arange(n_points) + 3, np.unique(raw, return_inverse=True)[1])
    twin = Tracker.restored(json.loads(json.dumps(tracker.stored())), tracker.columns())
    clusters = np.arange(12) % 4
    points = 2 * np.arange(12) + 3
    assert twin.number(points, clusters).tolist() == tracker.number(points, clusters).tolist()
    assert twin.events == tracker.events
