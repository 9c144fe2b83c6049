"""Boxes of a tree, compared with what their definition says, node by node."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapped import GappedTree
from perchtree import ClusterTree
from perchtree.html.boxes import Boxes, orders_of


def grown(rows, kind=ClusterTree):
    tree = kind(1, linkage="box", search="astar")
    tree.insert(np.array(rows, float)[:, np.newaxis])
    return tree


def order(size):
    return size.bit_length() - 1


def expected_boxes(table):
    """Chains of merges of one order: (top, level, points) of each, from the root down."""
    found, waiting = [], [(len(table.parents) - 1, 0)]
    while waiting:
        top, level = waiting.pop()
        if top < table.n_points:
            continue
        found.append((top, level, sorted(table.members(top).tolist())))
        below = [top]
        while below:
            number = below.pop()
            for child in table.children[number - table.n_points].tolist():
                if order(int(table.sizes[child])) == order(int(table.sizes[number])):
                    below.append(child)
                else:
                    waiting.append((child, level + 1))
    return found


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=40))
def test_boxes_are_chains_of_one_order(rows):
    table = grown(rows).table
    boxes = Boxes(table)
    found = {
        (int(number), int(level), tuple(sorted(boxes.order[start : start + size].tolist())))
        for number, level, start, size in zip(
            boxes.numbers, boxes.levels, boxes.starts, boxes.sizes, strict=True
        )
    }
    assert found == {(top, level, tuple(points)) for top, level, points in expected_boxes(table)}
    assert max(boxes.levels, default=0) <= max(order(len(rows)), 0)
    assert (boxes.order[boxes.positions] == np.arange(len(rows))).all()


@given(
    st.lists(st.integers(-30, 30), min_size=2, max_size=40),
    st.integers(-5, 45), st.integers(-5, 45), st.integers(1, 12),
)  # fmt: skip
def test_what_is_in_view(rows, left, right, smallest):
    boxes = Boxes(grown(rows).table)
    ends = boxes.starts + boxes.sizes
    seen = (boxes.starts < right) & (ends > left) & (boxes.sizes >= smallest) & (left < right)
    assert sorted(boxes.within(left, max(left, right), smallest)) == np.flatnonzero(seen).tolist()


@given(st.lists(st.integers(-30, 30), min_size=2, max_size=40), st.data())
def test_the_path_to_a_position(rows, data):
    boxes = Boxes(grown(rows).table)
    position = data.draw(st.integers(0, len(rows) - 1))
    holds = (boxes.starts <= position) & (position < boxes.starts + boxes.sizes)
    path = boxes.path(position)
    assert sorted(path) == np.flatnonzero(holds).tolist()
    assert boxes.levels[path].tolist() == list(range(len(path)))
    assert [boxes.parents[box] for box in path] == [-1, *path[:-1]]


@given(st.lists(st.integers(-30, 30), min_size=2, max_size=40), st.integers(1, 6))
def test_clusters_along_the_tree(rows, k):
    tree = grown(rows)
    boxes, labels = Boxes(tree.table), tree.cut(min(k, tree.n_leaves))
    runs = boxes.runs(labels)
    assert len(runs.starts) == labels.max() + 1  # a cluster of a tree is in one piece
    ends = boxes.starts + boxes.sizes
    told = runs.labels_within(boxes.starts, ends)
    for label, start, end in zip(told, boxes.starts, ends, strict=True):
        inside = set(labels[boxes.order[start:end]].tolist())
        assert inside == {label} if label >= 0 else len(inside) > 1


def test_older_points_are_on_the_left():
    boxes = Boxes(grown([5, 100, 6, 101, 7], GappedTree).table)
    firsts = boxes.firsts.tolist()
    assert firsts[0] == min(firsts)
    for box, first in enumerate(firsts):
        start, size = int(boxes.starts[box]), int(boxes.sizes[box])
        assert first == boxes.table.ids[boxes.order[start : start + size]].min()


@pytest.mark.parametrize(("size", "expected"), [(1, 0), (2, 1), (3, 1), (4, 2), (2**40, 40)])
def test_orders(size, expected):
    assert orders_of(np.array([size])).tolist() == [expected]
