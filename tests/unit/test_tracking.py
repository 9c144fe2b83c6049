"""Ids by overlap, and the events between two clusterings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perchtree.tracking import Event, Tracker


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
