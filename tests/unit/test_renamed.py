"""Renamed arguments: the old name is refused, and nothing else about the function changes."""

import doctest
import inspect
import sys

import pytest

from perchtree._renamed import renamed

pytestmark = pytest.mark.outer


def draw(data, classes=None, *, branches=10):
    """Draw nothing.

    >>> draw([1], branches=3)
    ([1], None, 3)
    """
    return data, classes, branches


plain, draw = draw, renamed(labels="classes", max_leaves="branches")(draw)


def test_new_names_are_taken():
    assert draw([1], "a") == ([1], "a", 10)
    assert draw([1], classes="a", branches=2) == ([1], "a", 2)


@pytest.mark.parametrize(
    ("old", "line"),
    [
        ("labels", "draw() takes 'classes' now, not 'labels'"),
        ("max_leaves", "draw() takes 'branches' now, not 'max_leaves'"),
    ],
)
def test_old_names_are_refused(old, line):
    with pytest.raises(TypeError) as caught:
        draw([1], **{old: 1})
    assert str(caught.value) == line


def test_unknown_names_are_refused_as_ever():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        draw([1], colour="red")


def test_what_others_see():
    assert inspect.signature(draw) == inspect.signature(plain)
    assert (draw.__name__, draw.__doc__) == (plain.__name__, plain.__doc__)
    found = doctest.DocTestFinder(exclude_empty=True).find(sys.modules[__name__])
    assert f"{__name__}.draw" in [test.name for test in found if test.examples]
